//! The command line: one file a subcommand, `run` picks it.
//!
//! Joins the rooms and prints; never holds logic of its own.

mod about;
mod args;
mod audit;
mod check;
mod connect;
mod crds;
mod definitions;
#[cfg(feature = "dev")]
mod dev;
mod doctor;
mod error;
mod explain;
mod format;
mod help;
mod hoist;
mod hub;
mod install;
mod live;
mod logs;
mod options;
mod plan;
mod plugin;
mod policies;
pub mod policy;
mod print;
mod reference;
mod release;
mod render;
mod rollout;
mod rulebook;
mod run;
mod serve;
mod settings;
mod shell;
mod signals;
mod snapshot;
mod terminal;
mod ui;
mod uninstall;
mod watch;
mod why;
mod words;

pub use self::{
    about::*, crds::*, explain::*, hub::*, install::*, logs::*, options::*, plan::*, settings::*,
};
pub use self::{args::Cli, args::Command, run::run, ui::UiArgs};
pub use self::{doctor::DoctorArgs, error::CliError, policy::PolicyArgs, print::OutputFormat};
pub use self::{render::*, rollout::*, shell::*, snapshot::*, terminal::*, why::*, words::*};
pub use audit::{AuditArgs, AuditTo};
pub use check::{CheckArgs, FailOn, MissingFactsArg, Output};
pub use definitions::{ApplyArgs, DefinitionsArgs, DefinitionsCommand, DefinitionsPlanArgs, RevertArgs};
#[cfg(feature = "dev")]
pub use dev::{DevArgs, DevCommand};
pub use release::{AdoptArgs, ReleaseArgs};
pub use serve::{CertificatesArg, EndpointArgs, ServeArgs, TraceArgs};
pub use uninstall::UninstallArgs;
