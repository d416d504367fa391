//! Standard output of commands that print one text.
//!
//! Decides nothing.

use std::io::Write as _;

use super::CliError;

/// Prints a text.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(CliError::Print)
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}
