//! The words of `tidegate lsp`.
//!
//! Decides only how words become values.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{GateArgs, RightsArgs};

/// Tell an editor what the gate would say about manifests while they are written: a language server.
///
/// Speaks the Language Server Protocol over standard input and output; the editor starts it (docs/editors.md has the settings). Findings
/// are those of `tidegate check` on the folder that is open in the editor, with what it holds and has not saved. It shows what a field
/// means, and offers names, fields and values. Nothing is written, and no hub is asked.
#[derive(Args, Clone, Debug)]
pub struct LspArgs {
    /// Facts about the hub from a dump of `tidegate snapshot`; the files are laid over it.
    #[arg(long, value_name = "DUMP")]
    pub facts: Option<PathBuf>,
    /// What many editors say to every language server; it is so without it as well.
    #[arg(long)]
    pub stdio: bool,
    /// What the gate decides by.
    #[command(flatten)]
    pub gate: GateArgs,
    /// What agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
}
