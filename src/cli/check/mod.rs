//! `tidegate check`: what the gate would say about files, before anybody applies them.
//!
//! Reads folders, git and hubs, writes reports; what is said is decided by `check`.

mod args;
mod base;
mod folder;
mod run;
mod watch;

pub use args::{CheckArgs, FailOn, MissingFactsArg, Output};

pub(super) use folder::read;
pub(super) use run::run;
