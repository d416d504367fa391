//! `tidegate policy`: users' own rules, before they reach a hub.
//!
//! `files` reads folders, `test` runs cases, `new` begins one, `lint` looks over, `bench` measures, `export` writes Kubernetes' own objects.

mod args;
mod bench;
mod export;
mod files;
mod lint;
mod new;
mod test;

use std::process::ExitCode;

use crate::cli::print::print;
use crate::cli::{CliError, watch};
use kubernetes::field::Shown;

pub use args::{BenchArgs, ExportArgs, LintArgs, NewArgs, PolicyArgs, PolicyCommand, TestArgs, TestOutput};
pub(super) use export::written;
pub(super) use files::read_folder;
pub use test::run_tests;

pub(super) fn run(command: &PolicyCommand) -> Result<ExitCode, CliError> {
    let said = match command {
        PolicyCommand::Test(args) if args.watch => {
            return watch::again(&args.paths, || {
                // Requested before the cases run: the files that they read are watched even if they cannot run.
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

/// A policy does not compile.
const DOES_NOT_COMPILE: u8 = 3;
/// Something cannot be read.
const UNREADABLE: u8 = 2;
/// Something was found.
const FOUND: u8 = 1;

/// What a subcommand has to say, and its exit status.
#[derive(Debug, Default)]
struct CommandOutput {
    /// Standard output.
    page: Shown,
    status: u8,
}
