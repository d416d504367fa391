//! What `tidegate rollout` may be asked.
//!
//! Decides only how words become values.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use kubernetes::duration::GoDuration;
use kubernetes::json_path::Template;

use crate::cli::format::{DocumentFormat, FormatParser};
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

impl RolloutArgs {
    /// Returns whether the command follows the hub until it is ended.
    pub(in crate::cli) fn follows(&self) -> bool {
        let lists = matches!(&self.command, RolloutCommand::List(args) if args.watch);
        lists || matches!(&self.command, RolloutCommand::Status(args) if args.watch)
    }
}

/// The subcommands of `tidegate rollout`.
#[derive(Clone, Debug, Subcommand)]
pub enum RolloutCommand {
    /// List the rollouts of the hub.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show rollouts: their waves, and the state of their clusters.
    #[command(visible_alias = "get")]
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
    /// Roll an add-on back to its last known good configuration, or to a revision of its history.
    #[command(mut_arg("names", |names| names.help("Names of add-ons")))]
    Undo(UndoArgs),
    /// Stop new changes for some time: on all clusters, or on some.
    Freeze(FreezeArgs),
    /// End a freeze before its time.
    Unfreeze(UnfreezeArgs),
    /// Show the history on the hub: previous and current configurations, and the last events.
    History(HistoryArgs),
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

/// Output format of rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RolloutFormat {
    /// Readable text.
    Text,
    /// Readable text that is not shortened, with more columns in a list.
    Wide,
    /// Only names.
    Name,
    /// Machine-readable (`docs/reference/output.md`).
    Json,
    /// The same as YAML.
    Yaml,
    /// What a template selects from the document.
    #[value(skip)]
    JsonPath(&'static Template),
}

impl DocumentFormat for RolloutFormat {
    fn json_path(template: &'static Template) -> Self {
        Self::JsonPath(template)
    }
}

impl RolloutFormat {
    /// Returns the format of a document for programs.
    pub(super) const fn document(self) -> OutputFormat {
        match self {
            Self::Yaml => OutputFormat::Yaml,
            Self::JsonPath(template) => OutputFormat::JsonPath(template),
            Self::Text | Self::Wide | Self::Name | Self::Json => OutputFormat::Json,
        }
    }

    /// Returns whether people read it.
    pub(super) const fn is_text(self) -> bool {
        match self {
            Self::Text | Self::Wide => true,
            Self::Name | Self::Json | Self::Yaml | Self::JsonPath(_) => false,
        }
    }
}

impl AskArgs {
    /// Returns whether nothing is shortened.
    pub(super) const fn is_whole(&self) -> bool {
        self.all || matches!(self.output, RolloutFormat::Wide)
    }
}

/// A label selector, as it was written and as it is understood.
#[derive(Clone, Debug)]
pub struct LabelQuery {
    /// The text, which an API server accepts.
    pub(super) text: String,
    pub(super) selector: kubernetes::labels::Selector,
}

impl std::str::FromStr for LabelQuery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self {
            text: text.to_owned(),
            selector: kubernetes::labels::Selector::parse(text)?,
        })
    }
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
    /// Output format, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = FormatParser::<RolloutFormat>::new())]
    pub output: RolloutFormat,
    /// Which hub.
    #[command(flatten)]
    pub hub: RolloutHubArgs,
}

/// List the rollouts of the hub.
///
/// Exit status: 0 success, 2 the rollouts cannot be read.
#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// Names of add-ons, or `mcu/[NAMESPACE/]NAME` (default: all).
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Only upgrades in this namespace; add-ons have no namespace.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Rollouts of all namespaces; the default.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Only objects with these labels, for example `team=edge,env!=dev`.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<LabelQuery>,
    /// After the list, show changes until interrupted. Labels are read once, at the start.
    #[arg(short, long, conflicts_with = "facts")]
    pub watch: bool,
    /// Source and output.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Show rollouts: their waves, and the state of their clusters.
///
/// Exit status: 0 complete, 1 failed or stopped (user action needed), 2 cannot be determined, 3 in progress, paused or waiting
/// for approval (with `--watch`: paused, waiting for approval, or the timeout has passed). Of several rollouts, the status of the worst: 2, then 1, then 3.
#[derive(Args, Clone, Debug)]
pub struct StatusArgs {
    /// Names of add-ons, or `mcu/[NAMESPACE/]NAME`.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Namespace of an upgrade that is named without one.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Watch one rollout until it completes or needs an action. If the hub does not answer for two minutes, the command ends with 2.
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
    /// Namespace of an upgrade that is named without one.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Show this revision: the content that was kept.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub revision: Option<i64>,
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
    /// Names of add-ons, or `mcu/[NAMESPACE/]NAME`.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Namespace of an upgrade that is named without one.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
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

/// Roll an add-on back to its last known good configuration, or to a revision of its history.
///
/// `tidegate rollout history` lists the revisions. An object that was edited in place or deleted gets the content of the revision
/// back. Exit status: 0 written, 1 the hub rejected the change, 2 not applicable, or the hub cannot be reached.
#[derive(Args, Clone, Debug)]
pub struct UndoArgs {
    /// Revision to return to; see `tidegate rollout history` (default: the last known good configuration).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub to_revision: Option<i64>,
    /// Options of every verb.
    #[command(flatten)]
    pub steer: SteerArgs,
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
    /// Its fields.
    #[command(flatten)]
    pub fields: FreezeFields,
    /// Send the request as a server-side dry run, including the webhook; nothing is stored.
    #[arg(long)]
    pub dry_run: bool,
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
}

/// The fields of a freeze.
#[derive(Args, Clone, Debug, Default)]
pub struct FreezeFields {
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

pub(in crate::cli) fn label(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=');
    let parts = parts.filter(|(key, value)| model::is_label_key(key) && model::is_label_value(value));
    let (key, value) = parts.ok_or_else(|| "write for instance env=prod".to_owned())?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    let length = GoDuration::parse(text).ok().and_then(GoDuration::length);
    length.ok_or_else(|| "write for instance 90s, 10m or 1h30m".to_owned())
}
