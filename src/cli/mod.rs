//! The command line: one file a subcommand, `run` picks it.
//!
//! Joins the rooms and prints; never holds logic of its own.

mod args;
mod connect;
mod crds;
mod dev;
mod error;
mod policies;
pub mod policy;
mod reference;
mod rulebook;
mod run;
mod serve;
mod signals;

pub use args::{Cli, Command, CrdsArgs, DevArgs, GateArgs, LeasePlace, Reasons, ReferenceArgs, ServeArgs, Topic};
pub use error::CliError;
pub use policy::PolicyArgs;
pub use run::run;
