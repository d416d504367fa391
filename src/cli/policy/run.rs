//! Picks the subcommand of `tidegate policy`, and turns its end into an exit status.
//!
//! Never does the work of a subcommand.

use std::process::ExitCode;

use super::{PolicyCommand, bench, export, lint, test};
use crate::cli::CliError;
use crate::cli::print::print;

pub(in crate::cli) fn run(command: &PolicyCommand) -> Result<ExitCode, CliError> {
    let said = match command {
        PolicyCommand::Test(args) => test::run(args)?,
        PolicyCommand::Lint(args) => lint::run(args)?,
        PolicyCommand::Bench(args) => bench::run(args)?,
        PolicyCommand::Export(args) => export::run(args)?,
    };
    print(&said.page)?;
    Ok(ExitCode::from(said.status))
}
