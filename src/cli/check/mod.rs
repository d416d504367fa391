//! `tidegate check`: what the gate would say about files, before they are applied.
//!
//! Reads folders, git and hubs, and writes reports; the crate `lint` decides their content.

mod args;
mod base;
mod exclude;
mod folder;
mod reports;
mod run;

pub use args::{CheckArgs, FailOn, MissingFactsArg, Output};

pub(super) use folder::{Folder, below, read};
pub(super) use reports::{one_report_on_standard_output, write};
pub(super) use run::run;
