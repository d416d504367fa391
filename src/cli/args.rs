//! The command line: subcommands and flags of `tidegate --help`.
//!
//! Decides only how arguments become values; each subcommand has a file of its own.

use clap::{Parser, Subcommand};

use super::{
    CheckArgs, ColourArg, CompletionsArgs, CrdsArgs, DefinitionsArgs, DoctorArgs, ExplainArgs, ManArgs,
    PlanArgs, PolicyArgs, ReferenceArgs, RenderArgs, ServeArgs, SnapshotArgs, WhyArgs,
};

/// Validates and manages the add-ons of an Open Cluster Management hub.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, max_term_width = 100, after_long_help = format!("{TRY_IT}{EXIT_STATUS}"))]
#[command(long_about = LONG_ABOUT)]
#[command(arg_required_else_help = true)]
pub struct Cli {
    /// When to use colors in the output.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColourArg::Auto)]
    pub color: ColourArg,
    /// Print no notes and no progress, only results and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more on standard error; twice also for requests to the hub.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const LONG_ABOUT: &str = "\
Validates and manages the add-ons of an Open Cluster Management (OCM) hub.

The webhook rejects an invalid ClusterManagementAddOn or ManagedClusterAddOn at admission, with all its errors, \
each with its path, the value, what would be valid, and a rule id.
The controllers install add-ons on the clusters that placements select, determine the configuration of each \
cluster, render ManifestWorks, and report the progress of every cluster.";

/// How to try it; empty in a build without the dev hub.
#[cfg(feature = "dev")]
const TRY_IT: &str = "\
Both are in this binary. To try it, run `tidegate dev`, which starts a hub in memory:
  tidegate dev --clusters 5
  export KUBECONFIG=$PWD/.tidegate/kubeconfig
  kubectl get managedclusteraddons -A

";
#[cfg(not(feature = "dev"))]
const TRY_IT: &str = "";

const EXIT_STATUS: &str = "\
Exit status: 0 success; 1 a problem was found, or a change was rejected; 2 invalid usage, or an input or the hub cannot be read;
3 not finished (`rollout status`), or a policy does not compile (`check`, `plan`, `policy`). `tidegate help COMMAND` has the details.
The flags of `tidegate options`, such as --context, and -n may be anywhere: also before the command or its subcommand.
Logs go to standard error; -v or TIDEGATE_LOG=debug shows more (syntax: tracing filter directives).";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run everything on this machine: a hub, the webhook, the controllers and simulated clusters.
    #[cfg(feature = "dev")]
    Dev(Box<super::DevArgs>),
    /// Run the webhook and the controllers for an existing hub.
    Serve(Box<ServeArgs>),
    /// Validate manifests as the webhook would, before they are applied.
    Check(CheckArgs),
    /// Show why an add-on or a cluster upgrade is not ready, and how to fix it.
    Why(WhyArgs),
    /// Preview a change on a hub: which clusters are updated, in which wave.
    Plan(PlanArgs),
    /// Render the ManifestWorks of an add-on for a cluster, with the source of every value.
    Render(Box<RenderArgs>),
    /// Check the hub and the installation for problems, and print how to fix them.
    Doctor(Box<DoctorArgs>),
    /// Explain a rule, cause, reason, label, annotation, term or field.
    Explain(ExplainArgs),
    /// Write a dump of a hub, for `check`, `plan` and `why`.
    Snapshot(SnapshotArgs),
    /// Test, lint, benchmark and export your own policies.
    Policy(PolicyArgs),
    /// Show and control rollouts: list, status, pause, resume, promote, approve, retry, undo, freeze, history.
    Rollout(Box<super::RolloutArgs>),
    /// Show rollouts in the terminal, updated live, and control them with keys.
    #[cfg(feature = "top")]
    Top(Box<super::TopArgs>),
    /// Take over from OCM's add-on manager: copy the role bindings of its service account for Tidegate's.
    Adopt(super::AdoptArgs),
    /// Return add-ons to OCM's add-on manager.
    Release(super::ReleaseArgs),
    /// Print the custom resource definitions (YAML) of Tidegate's own kinds.
    Crds(CrdsArgs),
    /// Add Tidegate's fields to OCM's definitions on a hub, or remove them.
    Definitions(DefinitionsArgs),
    /// Print the manifests (YAML) that install Tidegate on a hub.
    Install(super::InstallArgs),
    /// Uninstall Tidegate from a hub: the webhooks first, then what `install` created.
    Uninstall(super::UninstallArgs),
    /// Print generated references: the rules, the command line, the webhook configurations.
    Reference(ReferenceArgs),
    /// Write the example manifests into a folder.
    Examples(super::ExamplesArgs),
    /// Print the flags that many commands share: connection to the hub, output, settings of the controllers.
    Options,
    /// Print the versions of this program, the hub, its controllers and its definitions.
    Version(super::VersionArgs),
    /// Print a completion script for a shell.
    #[command(visible_alias = "completions")]
    Completion(CompletionsArgs),
    /// Print the manual page, or write all pages into a folder.
    Man(ManArgs),
}
