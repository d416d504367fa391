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
mod error;
mod explain;
mod hub;
mod live;
mod options;
mod plan;
mod policies;
pub mod policy;
mod print;
mod reference;
mod release;
mod rulebook;
mod run;
mod serve;
mod settings;
mod shell;
mod signals;
mod snapshot;
mod terminal;
mod why;

pub use about::{ExamplesArgs, VersionArgs};
pub use args::{Cli, Command};
pub use audit::{AuditArgs, AuditTo};
pub use check::{CheckArgs, FailOn, MissingFactsArg, Output};
pub use crds::CrdsArgs;
pub use definitions::{ApplyArgs, DefinitionsArgs, DefinitionsCommand, DefinitionsPlanArgs, RevertArgs};
#[cfg(feature = "dev")]
pub use dev::{DevArgs, DevCommand};
pub use error::CliError;
pub use explain::ExplainArgs;
pub use hub::HubArgs;
pub use options::{
    ControllersMode, GateArgs, LeasePlace, LogFormat, Manage, Only, Reasons, ReferenceArgs, RightsArgs,
    ServeArgs, StockArg, TideArgs, Topic,
};
pub use plan::PlanArgs;
pub use policy::PolicyArgs;
pub use print::OutputFormat;
pub use release::{AdoptArgs, ReleaseArgs};
pub use run::run;
pub use serve::DoorArgs;
pub use settings::{ControllerArgs, ControllerFlags, GivenWords, SettingsArgs};
pub use shell::{CompletionsArgs, ManArgs};
pub use snapshot::SnapshotArgs;
pub use terminal::ColourArg;
pub use why::WhyArgs;
