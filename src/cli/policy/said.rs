//! What a subcommand of `tidegate policy` has to say, and its exit status.
//!
//! Decides how the faults of policies are shown. Never does the work of a subcommand.

use admission::policy::Report;
use kubernetes::field::{Shown, one_line};

/// A policy does not compile.
pub(super) const DOES_NOT_COMPILE: u8 = 3;
/// Something cannot be read.
pub(super) const UNREADABLE: u8 = 2;
/// Something was found.
pub(super) const FOUND: u8 = 1;

/// What a subcommand has to say, and its exit status.
#[derive(Debug, Default)]
pub(super) struct CommandOutput {
    /// Standard output.
    pub(super) page: Shown,
    pub(super) status: u8,
}

/// Returns what is wrong with policies, with carets; nothing when all compile.
pub(super) fn faults(reports: &[Report]) -> Option<String> {
    let lines: Vec<String> = reports
        .iter()
        .flat_map(|report| {
            report.faults.iter().map(|fault| {
                let policy = format!("{}: {} \"{}\"", report.origin, report.kind, report.name);
                format!("{}: {fault}\n", one_line(&policy))
            })
        })
        .collect();
    (!lines.is_empty()).then(|| lines.concat())
}
