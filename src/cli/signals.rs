//! The user's wish to end the program, as every binary that serves a hub hears it.
//!
//! Knows SIGINT and SIGTERM; never ends anything itself.

pub(super) use devhub::program::End;

use super::CliError;

/// Begins to listen, so that a signal during start-up is not lost.
pub(super) fn end_requested() -> Result<End, CliError> {
    devhub::program::end_requested().map_err(|source| CliError::Start {
        part: "the signal listener",
        source: Box::new(source),
    })
}
