//! Picks the subcommand of `tidegate policy`, and turns its end into an exit status.
//!
//! Never does the work of a subcommand.

use std::io::Write as _;
use std::process::ExitCode;

use super::{PolicyCommand, bench, export, lint, test};
use crate::cli::CliError;
use crate::policy::Report;

/// A policy does not compile.
pub(super) const DOES_NOT_COMPILE: u8 = 3;
/// Something was found.
pub(super) const FOUND: u8 = 1;

/// What a subcommand has to say, and its exit status.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Standard output.
    pub(super) text: String,
    pub(super) status: u8,
}

pub(in crate::cli) fn run(command: &PolicyCommand) -> Result<ExitCode, CliError> {
    let said = match command {
        PolicyCommand::Test(args) => test::run(args)?,
        PolicyCommand::Lint(args) => lint::run(args)?,
        PolicyCommand::Bench(args) => bench::run(args)?,
        PolicyCommand::Export(args) => export::run(args)?,
    };
    let mut out = std::io::stdout().lock();
    out.write_all(said.text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(CliError::Print)?;
    Ok(ExitCode::from(said.status))
}

/// Returns what is wrong with policies, with carets; nothing when all compile.
pub(super) fn faults(reports: &[Report]) -> Option<String> {
    let lines: Vec<String> = reports
        .iter()
        .flat_map(|report| {
            report.faults.iter().map(|fault| {
                format!(
                    "{}: {} \"{}\": {fault}\n",
                    report.origin, report.kind, report.name
                )
            })
        })
        .collect();
    (!lines.is_empty()).then(|| lines.concat())
}
