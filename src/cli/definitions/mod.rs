//! `tidegate definitions`: Tidegate's fields in the definitions of a hub that has Open Cluster Management.
//!
//! `hub` reads and patches, `run` joins them. What is added, `definitions` decides.

mod hub;
mod run;

use clap::{Args, Subcommand};

use crate::cli::{HubArgs, OutputFormat};

pub(super) use run::run;

/// Add Tidegate's fields to OCM's definitions on a hub, or remove them.
///
/// Works on the definitions of ClusterManagementAddOn, ManagedClusterAddOn, AddOnDeploymentConfig and AddOnTemplate as the hub has them.
/// Only adds fields and columns to `v1alpha1`: versions, conversion and names are never touched, and what the hub's definition says
/// already stays as it is. Tidegate works without (`docs/ocm/definitions.md`).
#[derive(Args, Clone, Debug)]
pub struct DefinitionsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DefinitionsCommand,
}

/// The subcommands of `tidegate definitions`.
#[derive(Clone, Debug, Subcommand)]
pub enum DefinitionsCommand {
    /// Show what would be added, which program would remove it again, and why `apply` would refuse. Changes nothing.
    ///
    /// Where versions are converted, the hub is asked with a ClusterManagementAddOn that is created with dryRun=All: it is not stored.
    /// Exit status: 0 `apply` has nothing to do or would do it, 1 it would refuse, 2 it cannot be told.
    Plan(DefinitionsPlanArgs),
    /// Add the missing fields, to all definitions or to none.
    ///
    /// Each is changed by a JSON patch that tests the name, the resource version and the place of the version first. What was added
    /// is recorded in the annotation tidegate.io/added-fields of the definition. It is idempotent.
    /// Exit status: 0 done or nothing to do, 1 refused or failed on the way, 2 it could not start.
    Apply(ApplyArgs),
    /// Remove the fields that `apply` added, except those that another client has changed.
    ///
    /// Values of these fields are dropped from each object at its next write.
    /// Exit status: 0 done or nothing to do, 1 something had to stay, 2 it could not start.
    Revert(RevertArgs),
}

/// Where to look.
#[derive(Args, Clone, Debug)]
pub struct DefinitionsPlanArgs {
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Output format.
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
}

/// What to change.
#[derive(Args, Clone, Debug)]
pub struct ApplyArgs {
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Send the changes as a server-side dry run; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
}

/// What to take out.
#[derive(Args, Clone, Debug)]
pub struct RevertArgs {
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Send the changes as a server-side dry run; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
}
