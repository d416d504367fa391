//! Picks the subcommand and turns its end into an exit status.
//!
//! Never does the work of a subcommand.

use std::process::ExitCode;

use clap::Parser;

use super::{
    Cli, CliError, Command, check, crds, dev, explain, plan, policy, reference, serve, shell, snapshot, why,
};
use crate::telemetry;

/// Runs the program with the words of the command line; returns its exit status.
///
/// Clap answers `--help`, `--version` and misuse itself (status 0, 0 and 2).
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    match start_logs().and_then(|()| perform(cli.command)) {
        Ok(status) => status,
        Err(CliError::Print(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(error.exit_status())
        }
    }
}

fn perform(command: Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Check(args) => return check::run(&args),
        Command::Why(args) => return why::run(&args),
        Command::Plan(args) => return plan::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Snapshot(args) => snapshot::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
        Command::Dev(args) => dev::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Crds(args) => crds::run(&args),
        Command::Reference(args) => reference::run(&args),
        Command::Policy(args) => return policy::run(&args.command),
    }
    .map(|()| ExitCode::SUCCESS)
}

fn start_logs() -> Result<(), CliError> {
    let filter = std::env::var("TIDEGATE_LOG").unwrap_or_else(|_| "warn".to_owned());
    telemetry::start_logs(&filter).map_err(|source| CliError::Start {
        part: "logs",
        source: Box::new(source),
    })
}

#[expect(clippy::print_stderr, reason = "a failed command says why on standard error")]
fn complain(error: &CliError) {
    eprintln!("tidegate: {}", error.one_line());
}
