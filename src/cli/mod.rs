//! The command line: one file a subcommand, `run` picks it.
//!
//! Joins the rooms and prints; never holds logic of its own.

mod args;
mod connect;
mod crds;
mod dev;
mod error;
mod reference;
mod run;
mod serve;
mod signals;

pub use args::{Cli, Command, CrdsArgs, DevArgs, Reasons, ReferenceArgs, ServeArgs, Topic};
pub use error::CliError;
pub use run::run;
