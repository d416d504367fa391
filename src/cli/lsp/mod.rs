//! `tidegate lsp`: what an editor is told of manifests, over standard input and output.
//!
//! Reads messages and the files of a folder; what is answered `lsp` decides. Writes no file, reaches no network.

mod args;
mod place;
mod run;
mod server;
mod wire;

pub use args::LspArgs;

pub(super) use run::run;
