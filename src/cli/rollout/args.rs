//! What `tidegate rollout` may be asked.
//!
//! Decides only how words become values.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use kubernetes::duration::GoDuration;

use crate::cli::{BehaviourArgs, HubArgs, OutputFormat};

/// Show and control rollouts of add-ons and cluster upgrades.
///
/// Identify a rollout by the name of the add-on, or by `mcu/NAME` or `mcu/NAMESPACE/NAME` for a ManagedClustersUpgrade. The
/// output comes from the planner of the controllers, run now on the state of the hub. The verbs write the documented fields and
/// annotations, and the webhook validates them. As a kubectl plugin, the program is called `kubectl-tidegate`: `kubectl
/// tidegate rollout list`.
#[derive(Args, Clone, Debug)]
pub struct RolloutArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RolloutCommand,
}

/// The subcommands of `tidegate rollout`.
#[derive(Clone, Debug, Subcommand)]
pub enum RolloutCommand {
    /// List all rollouts of the hub.
    List(ListArgs),
    /// Show one rollout: its waves, and the state of its clusters.
    Status(StatusArgs),
    /// Pause a rollout: no further cluster starts; updates in progress continue.
    Pause(PlacementArgs),
    /// Resume a paused rollout.
    Resume(PlacementArgs),
    /// End soak times: clusters that succeeded count as completed, and the next ones may start.
    Promote(PlacementArgs),
    /// Approve a change: the decision groups, or stages of an upgrade, that are waiting for approval may start.
    Approve(ApproveArgs),
    /// Reject a change: the decision groups, or stages of an upgrade, that are waiting for approval do not start.
    Reject(ApproveArgs),
    /// Retry the failed clusters of an upgrade, or a rolled-back change to an add-on.
    Retry(SteerArgs),
    /// Roll an add-on back to its last known good configuration.
    #[command(mut_arg("name", |name| name.help("Name of the add-on")))]
    Undo(SteerArgs),
    /// Stop new changes for some time: on all clusters, or on some.
    Freeze(FreezeArgs),
    /// End a freeze before its time.
    Unfreeze(UnfreezeArgs),
    /// Show the history on the hub: previous and current configurations, and the last events.
    History(HistoryArgs),
    /// Print the JSON Schema of `-o json`.
    Schema,
}

/// The hub, and the settings of its controllers.
#[derive(Args, Clone, Debug)]
pub struct RolloutHubArgs {
    /// The hub.
    #[command(flatten)]
    pub place: HubArgs,
    /// Settings of its controllers.
    #[command(flatten)]
    pub behaviour: BehaviourArgs,
}

/// The hub or dump to read, and the output format.
#[derive(Args, Clone, Debug)]
pub struct AskArgs {
    /// Read a dump written by `tidegate snapshot` instead of the hub.
    #[arg(long, value_name = "DUMP", conflicts_with = "kubeconfig")]
    pub facts: Option<PathBuf>,
    /// Do not shorten the output on a terminal; other outputs are never shortened.
    #[arg(long)]
    pub all: bool,
    /// Output format; the JSON has the schema of `tidegate rollout schema`.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub hub: RolloutHubArgs,
}

/// List all rollouts of the hub.
///
/// Exit status: 0 success, 2 the rollouts cannot be read.
#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// Source and output.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Show one rollout: its waves, and the state of its clusters.
///
/// Exit status: 0 complete, 1 failed or stopped (user action needed), 2 cannot be determined, 3 in progress (with `--watch`:
/// the timeout has passed).
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
    /// Source and output.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Show the history of a rollout that is stored on the hub.
#[derive(Args, Clone, Debug)]
pub struct HistoryArgs {
    /// Name of the add-on, or `mcu/[NAMESPACE/]NAME`.
    pub name: String,
    /// Source and output.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Control a rollout.
///
/// Prints what it writes; each verb has its own field manager (`tidegate-rollout-…`). A field that another program, such as a
/// GitOps tool, owns is written only with --force, because that program would revert the change. Exit status: 0 written, 1 the
/// hub rejected the change, 2 not applicable, or the hub cannot be reached.
#[derive(Args, Clone, Debug)]
pub struct SteerArgs {
    /// Name of the add-on, or `mcu/[NAMESPACE/]NAME`.
    pub name: String,
    /// Reason for the change: of a pause or a decision in its `reason`, otherwise in the annotation `kubernetes.io/change-cause`.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Send the request as a server-side dry run, including the webhook; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
    /// Overwrite fields even if another field manager owns them.
    #[arg(long)]
    pub force: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: RolloutHubArgs,
}

/// Control a rollout, or the part of it that one placement selects.
#[derive(Args, Clone, Debug)]
pub struct PlacementArgs {
    /// Only this placement of an add-on, as `NAMESPACE/NAME` or NAME.
    #[arg(long, value_name = "PLACEMENT")]
    pub placement: Option<String>,
    /// Options of every verb.
    #[command(flatten)]
    pub steer: SteerArgs,
}

/// Approve or reject a change that decision groups are waiting with.
///
/// Decides about the content that is waiting now, in the groups that are waiting now, and not about later groups. The decision is
/// written to the RolloutApproval of each group; the webhook records the user. Prints what it writes, with the field manager
/// `tidegate-rollout-approve`. Exit status: 0 written, 1 the hub rejected the change, 2 not applicable, or the hub cannot be reached.
#[derive(Args, Clone, Debug)]
pub struct ApproveArgs {
    /// Only this decision group: its name, or its index if it has no name. For an upgrade, the name of the stage.
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Only the content with this hash, as `rollout status` and `why` print it; a decision about content that has been edited since then is refused.
    #[arg(long, value_name = "HASH")]
    pub content: Option<String>,
    /// Options of the verbs that may apply to one placement.
    #[command(flatten)]
    pub on: PlacementArgs,
}

/// Stop new changes for some time: on all clusters, or on some.
///
/// Creates or changes a RolloutFreeze. While it is in force, no change of an add-on and no upgrade of a cluster starts; what is in
/// progress finishes. `kubectl get rolloutfreezes` lists all freezes. Exit status: 0 written, 1 the hub rejected the change, 2 invalid, or
/// the hub cannot be reached.
#[derive(Args, Clone, Debug)]
pub struct FreezeArgs {
    /// Name of the RolloutFreeze.
    pub name: String,
    /// Why; shown on every cluster that waits.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Begin, such as 2026-12-20T00:00:00Z (default: now).
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// End, such as 2027-01-03T00:00:00Z (default: until `tidegate rollout unfreeze`).
    #[arg(long, value_name = "TIME", conflicts_with = "length")]
    pub until: Option<String>,
    /// Length from now on, such as 4h.
    #[arg(long = "for", id = "length", value_name = "DURATION", value_parser = duration, conflicts_with = "from")]
    pub length: Option<Duration>,
    /// Only clusters with this label. Repeatable; a cluster needs all of them.
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub cluster_label: Vec<(String, String)>,
    /// Only this add-on. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub addon: Vec<String>,
    /// Do not stop upgrades of clusters.
    #[arg(long)]
    pub without_upgrades: bool,
    /// Send the request as a server-side dry run, including the webhook; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
}

/// End a freeze before its time: deletes the RolloutFreeze.
#[derive(Args, Clone, Debug)]
pub struct UnfreezeArgs {
    /// Name of the RolloutFreeze.
    pub name: String,
    /// Send the request as a server-side dry run; nothing is deleted.
    #[arg(long)]
    pub dry_run: bool,
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
}

fn label(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=');
    let parts = parts.filter(|(key, value)| model::is_label_key(key) && model::is_label_value(value));
    let (key, value) = parts.ok_or_else(|| "write for instance env=prod".to_owned())?;
    Ok((key.to_owned(), value.to_owned()))
}

fn duration(text: &str) -> Result<Duration, String> {
    let length = GoDuration::parse(text).ok().and_then(GoDuration::length);
    length.ok_or_else(|| "write for instance 90s, 10m or 1h30m".to_owned())
}
