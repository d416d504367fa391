//! The command line: what may be asked, in the words of `tidegate --help`.
//!
//! Decides only how words become values. Never does what is asked; each subcommand has a file of its own.

use clap::{Parser, Subcommand};

use super::{
    CheckArgs, ColourArg, CompletionsArgs, CrdsArgs, DefinitionsArgs, DoctorArgs, ExplainArgs, ManArgs,
    PlanArgs, PolicyArgs, ReferenceArgs, RenderArgs, ServeArgs, SnapshotArgs, WhyArgs,
};

/// Guards and drives the add-ons of an Open Cluster Management hub.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, max_term_width = 100, after_long_help = format!("{TRY_IT}{EXIT_STATUS}"))]
#[command(long_about = LONG_ABOUT)]
#[command(arg_required_else_help = true)]
pub struct Cli {
    /// When pages are coloured.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColourArg::Auto)]
    pub color: ColourArg,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const LONG_ABOUT: &str = "\
Guards and drives the add-ons of an Open Cluster Management (OCM) hub.

The gate is an admission webhook: a wrong ClusterManagementAddOn or ManagedClusterAddOn is refused in the same \
second, with all its faults, each with its path, the value, what would be right, and a rule id.
The tide is a set of controllers: it installs add-ons on the clusters that placements select, works out which \
configuration each cluster gets, renders ManifestWorks, and reports how far every cluster has come.";

/// How to try it; nothing where there is no hub of its own.
#[cfg(feature = "dev")]
const TRY_IT: &str = "\
Both run in this one binary; `tidegate dev` brings a hub of its own, so nothing else is needed to try it:
  tidegate dev --clusters 5
  export KUBECONFIG=$PWD/.tidegate/kubeconfig
  kubectl get managedclusteraddons -A

";
#[cfg(not(feature = "dev"))]
const TRY_IT: &str = "";

const EXIT_STATUS: &str = "\
Exit status: 0 done, 1 it failed on the way or found something, 2 it could not start as asked (flag, port, folder, file).
Logs go to standard error; TIDEGATE_LOG=debug shows more (syntax: tracing filter directives).";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run everything on this machine: a hub, the gate (admission webhook), the tide (controllers) and simulated clusters.
    #[cfg(feature = "dev")]
    Dev(Box<super::DevArgs>),
    /// Guard and drive a hub that is already there: the gate (admission webhook) and the tide (controllers), nothing simulated.
    Serve(Box<ServeArgs>),
    /// Say what the gate would say about manifests, before they are applied.
    Check(CheckArgs),
    /// Say why an add-on is not where it should be, and where to look.
    Why(WhyArgs),
    /// Say what would happen on a hub: which clusters move in which wave.
    Plan(PlanArgs),
    /// Print the ManifestWorks of an add-on on a cluster as they would be, and where every value in them comes from.
    Render(Box<RenderArgs>),
    /// Say what is wrong with a hub for Tidegate, and what to do about it.
    Doctor(Box<DoctorArgs>),
    /// Explain a rule, a cause, a word or a field.
    Explain(ExplainArgs),
    /// Write a dump of a hub, for `check`, `plan` and `why`.
    Snapshot(SnapshotArgs),
    /// Test, look over, measure and export policies: rules that users write themselves.
    Policy(PolicyArgs),
    /// See rollouts and steer them: list, status, pause, resume, promote, approve, retry, undo, history.
    Rollout(Box<super::RolloutArgs>),
    /// Show rollouts as a page in the terminal, live, and steer them with keys.
    #[cfg(feature = "top")]
    Top(Box<super::TopArgs>),
    /// Take over from OCM's add-on manager: the bindings of its service account, copied for Tidegate's.
    Adopt(super::AdoptArgs),
    /// Hand add-ons back to OCM's add-on manager.
    Release(super::ReleaseArgs),
    /// Print the custom resource definitions (YAML) of Tidegate's own kinds.
    Crds(CrdsArgs),
    /// Add Tidegate's fields to the definitions of a hub that has Open Cluster Management, and take them out again.
    Definitions(DefinitionsArgs),
    /// Print the manifests (YAML) that install Tidegate on a hub.
    Install(super::InstallArgs),
    /// Print generated references: the rules of the gate, the command line, the webhook configurations.
    Reference(ReferenceArgs),
    /// Write the example manifests into a folder.
    Examples(super::ExamplesArgs),
    /// Print the versions of this program, the hub, its controllers and its definitions.
    Version(super::VersionArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write all pages into a folder.
    Man(ManArgs),
}
