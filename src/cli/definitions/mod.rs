//! `tidegate definitions`: Tidegate's fields in the definitions of a hub that has Open Cluster Management.
//!
//! `hub` reads and patches, `run` joins them. What is added, `definitions` decides.

mod hub;
mod run;

use clap::{Args, Subcommand};

use crate::cli::format::FormatParser;
use crate::cli::{HubArgs, OutputFormat};

pub(super) use run::run;

/// Add Tidegate's fields to OCM's definitions on a hub, or remove them.
///
/// Works on the CRDs of ClusterManagementAddOn, ManagedClusterAddOn, AddOnDeploymentConfig and AddOnTemplate that the hub has.
/// Only adds fields and columns to `v1alpha1`: versions, conversion, names and existing fields do not change. Tidegate works
/// without these fields (`docs/ocm/definitions.md`).
#[derive(Args, Clone, Debug)]
pub struct DefinitionsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: DefinitionsCommand,
}

/// The subcommands of `tidegate definitions`.
#[derive(Clone, Debug, Subcommand)]
pub enum DefinitionsCommand {
    /// Show what `apply` would add, which program would remove it again, and why `apply` would fail. Changes nothing.
    ///
    /// If the CRD has a conversion webhook, it is tested with a ClusterManagementAddOn that is created with dryRun=All and not
    /// stored. Exit status: 0 `apply` would succeed or has nothing to do, 1 `apply` would fail, 2 cannot be determined.
    Plan(DefinitionsPlanArgs),
    /// Add Tidegate's missing fields to OCM's CRDs; if one CRD cannot be changed, change none.
    ///
    /// Uses JSON patches that first test the name and the resourceVersion of the CRD, and the position of the API version in
    /// spec.versions. Records the added fields in the annotation tidegate.io/added-fields of the CRD. Idempotent. Exit status: 0
    /// done or nothing to do, 1 rejected or failed, 2 could not start.
    Apply(ApplyArgs),
    /// Remove the fields that `apply` added, except those that another client has changed.
    ///
    /// The API server drops the values of these fields from each object at its next write. Exit status: 0 done or nothing to
    /// do, 1 some fields remain, 2 could not start.
    Revert(RevertArgs),
}

/// Options of `definitions plan`.
#[derive(Args, Clone, Debug)]
pub struct DefinitionsPlanArgs {
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Output format, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = FormatParser::<OutputFormat>::new())]
    pub output: OutputFormat,
}

/// Options of `definitions apply`.
#[derive(Args, Clone, Debug)]
pub struct ApplyArgs {
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Send the changes as a server-side dry run; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
}

/// Options of `definitions revert`.
#[derive(Args, Clone, Debug)]
pub struct RevertArgs {
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Send the changes as a server-side dry run; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
}
