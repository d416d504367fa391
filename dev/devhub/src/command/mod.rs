//! The command line of the `devhub` binary.
//!
//! Decides how words become a hub and how failures are told; never what a hub does.

mod args;
mod definitions;
mod run;

pub use args::Args;
pub use run::run;
