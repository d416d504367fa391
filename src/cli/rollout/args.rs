//! What `tidegate rollout` may be asked.
//!
//! Decides only how words become values.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use kubernetes::duration::GoDuration;

use crate::cli::{BehaviourArgs, HubArgs, OutputFormat};

/// See rollouts of add-ons and upgrades of clusters, and steer them.
///
/// A rollout is named by its add-on, or as `mcu/NAME` or `mcu/NAMESPACE/NAME` for a ManagedClustersUpgrade. What is shown is what the
/// controllers' own planner decides now; what the verbs write are the documented fields and annotations, and the gate judges them.
/// As a plugin of kubectl the program is called `kubectl-tidegate`: `kubectl tidegate rollout list`.
#[derive(Args, Clone, Debug)]
pub struct RolloutArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RolloutCommand,
}

/// What can be done with rollouts.
#[derive(Clone, Debug, Subcommand)]
pub enum RolloutCommand {
    /// List all rollouts of the hub.
    List(ListArgs),
    /// Show one rollout: its waves, and the state of its clusters.
    Status(StatusArgs),
    /// Pause a rollout: no further cluster starts; updates in progress continue.
    Pause(SteerArgs),
    /// Resume a paused rollout.
    Resume(SteerArgs),
    /// End soak times: clusters that succeeded count as done, and the next ones may start.
    Promote(SteerArgs),
    /// Approve a change: the decision groups that wait for the approval may start.
    Approve(ApproveArgs),
    /// Retry the failed clusters of an upgrade, or a change of an add-on that was undone.
    Retry(SteerArgs),
    /// Roll an add-on back to its last known good configuration.
    Undo(SteerArgs),
    /// Show the history on the hub: previous and current configurations, and the last events.
    History(HistoryArgs),
    /// Print the JSON Schema of `-o json`.
    Schema,
}

/// Which hub, and how its controllers behave.
#[derive(Args, Clone, Debug)]
pub struct RolloutHubArgs {
    /// The hub.
    #[command(flatten)]
    pub place: HubArgs,
    /// How its controllers behave.
    #[command(flatten)]
    pub behaviour: BehaviourArgs,
}

/// Which hub or dump is asked, and how it is told.
#[derive(Args, Clone, Debug)]
pub struct AskArgs {
    /// Read a dump of `tidegate snapshot` instead of the hub.
    #[arg(long, value_name = "DUMP", conflicts_with = "kubeconfig")]
    pub facts: Option<PathBuf>,
    /// Show every line, name and event on a terminal, too; other outputs are never shortened.
    #[arg(long)]
    pub all: bool,
    /// Output format; the JSON has the schema of `tidegate rollout schema`.
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub hub: RolloutHubArgs,
}

/// List all rollouts of the hub.
///
/// Exit status: 0 they are listed, 2 they cannot be told.
#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// What is asked.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Show one rollout: its waves, and the state of its clusters.
///
/// Exit status: 0 it is done, 1 it has failed or stopped and a user has to act, 2 it cannot be told, 3 it is not over: with
/// `--watch`, not in time.
#[derive(Args, Clone, Debug)]
pub struct StatusArgs {
    /// Name of the add-on, or `mcu/[NAMESPACE/]NAME`.
    pub name: String,
    /// Watch until the rollout completes or needs an action.
    #[arg(short, long, conflicts_with = "facts")]
    pub watch: bool,
    /// Maximum time to watch, such as 10m (default: no limit).
    #[arg(long, value_name = "DURATION", requires = "watch", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// What is asked.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Show what the hub remembers of a rollout.
#[derive(Args, Clone, Debug)]
pub struct HistoryArgs {
    /// Name of the add-on, or `mcu/[NAMESPACE/]NAME`.
    pub name: String,
    /// What is asked.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Steer a rollout.
///
/// Says what it writes; each verb has a field manager of its own (`tidegate-rollout-…`). A field that a program such as a GitOps tool
/// owns is only written with --force, because that tool would put it back. Exit status: 0 it is written, 1 the hub refuses it, 2 it makes
/// no sense or cannot be tried.
#[derive(Args, Clone, Debug)]
pub struct SteerArgs {
    /// Name of the add-on, or `mcu/[NAMESPACE/]NAME`.
    pub name: String,
    /// Only this placement of an add-on (pause, resume, promote, approve): `NAMESPACE/NAME`, or its name alone.
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<String>,
    /// Reason for the change, stored in the annotation `kubernetes.io/change-cause`.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Send the request as a server-side dry run, including the webhook; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite the field even if another field manager owns it.
    #[arg(long)]
    pub force: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: RolloutHubArgs,
}

/// Approve a change: the decision groups that wait for the approval may start.
///
/// Approves of the content that waits now, in the groups that wait now; a group whose turn has not come is not approved in advance.
/// Says what it writes, under the field manager `tidegate-rollout-approve`. Exit status: 0 it is written, 1 the hub refuses it, 2 it makes
/// no sense or cannot be tried.
#[derive(Args, Clone, Debug)]
pub struct ApproveArgs {
    /// Only this decision group: its name, or its index where it has none.
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Only this content, by the hash that `rollout status` and `why` tell: whatever was edited since is not approved.
    #[arg(long, value_name = "HASH")]
    pub content: Option<String>,
    /// What every verb may be asked.
    #[command(flatten)]
    pub steer: SteerArgs,
}

fn duration(text: &str) -> Result<Duration, String> {
    let length = GoDuration::parse(text).ok().and_then(GoDuration::length);
    length.ok_or_else(|| "write for instance 90s, 10m or 1h30m".to_owned())
}
