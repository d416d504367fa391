//! Picks the subcommand of `tidegate policy`, and turns its end into an exit status.
//!
//! Never does the work of a subcommand.

use std::process::ExitCode;

use super::{PolicyCommand, bench, export, lint, new, test};
use crate::cli::print::print;
use crate::cli::{CliError, watch};

pub(in crate::cli) fn run(command: &PolicyCommand) -> Result<ExitCode, CliError> {
    let said = match command {
        PolicyCommand::Test(args) if args.watch => {
            return watch::again(&args.paths, || {
                // Asked for before the cases run: what they read is looked at even when they cannot.
                let read = test::reads(&args.paths);
                print(&test::run(args)?.page)?;
                Ok(read)
            });
        }
        PolicyCommand::Test(args) => test::run(args)?,
        PolicyCommand::New(args) => new::run(args)?,
        PolicyCommand::Lint(args) => return lint::run(args),
        PolicyCommand::Bench(args) => bench::run(args)?,
        PolicyCommand::Export(args) => export::run(args)?,
    };
    print(&said.page)?;
    Ok(ExitCode::from(said.status))
}
