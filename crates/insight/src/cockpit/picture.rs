//! The picture of one rollout, as programs read it: `cockpit.tidegate.io/v1alpha1`.
//!
//! Holds its shape only. A field that is added is no other version; one that means something else is.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::approval::AskedApproval;
use super::cluster::{ClusterView, Counts};
use super::eta::Eta;
use super::health::RolloutHealth;
use super::wave::Wave;

/// Version of the shape.
pub const API_VERSION: &str = "cockpit.tidegate.io/v1alpha1";

/// The picture of one rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// `cockpit.tidegate.io/v1alpha1`
    pub api_version: &'static str,
    /// `Rollout`
    pub kind: &'static str,
    /// When this was so.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// What is rolled out.
    pub target: Target,
    /// The whole in one word.
    pub phase: Phase,
    /// The same in a sentence.
    pub message: String,
    /// How well it runs: never better than `Ready`, `Reconciling` and `Stalled`.
    pub health: RolloutHealth,
    /// Its clusters, counted.
    pub counts: Counts,
    /// What pauses it; absent while nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// What a user has to approve before it goes on; empty where nothing waits for that.
    pub approvals: Vec<AskedApproval>,
    /// What changes by itself next, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// When it would be over, where that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<Eta>,
    /// Why it cannot be told when it would be over, where clusters are in the way of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta_unknown: Option<String>,
    /// What was undone because too many clusters failed, or would be and cannot be.
    pub undone: Vec<Undone>,
    /// What its clusters are to run that they did not all run before.
    pub changes: Vec<Change>,
    /// Its waves, in the order in which they go.
    pub waves: Vec<Wave>,
    /// Its clusters, in the order in which people count.
    pub clusters: Vec<ClusterView>,
    /// What holds the add-on or the upgrade as a whole.
    pub notices: Vec<String>,
}

impl Picture {
    /// Returns how far it is, without its clusters: a list tells no more.
    #[must_use]
    pub fn without_clusters(&self) -> Self {
        Self {
            api_version: self.api_version,
            kind: self.kind,
            at: self.at,
            target: self.target.clone(),
            phase: self.phase,
            message: self.message.clone(),
            health: self.health.clone(),
            counts: self.counts,
            paused: self.paused.clone(),
            approvals: self.approvals.clone(),
            next: self.next.clone(),
            eta: self.eta.clone(),
            eta_unknown: self.eta_unknown.clone(),
            undone: self.undone.clone(),
            changes: self.changes.clone(),
            waves: self.waves.clone(),
            clusters: Vec::new(),
            notices: self.notices.clone(),
        }
    }
}

/// What is rolled out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The kind of the object.
    pub kind: TargetKind,
    /// Its namespace, "" for an add-on.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What can be rolled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum TargetKind {
    /// An add-on.
    ClusterManagementAddOn,
    /// An upgrade of clusters.
    ManagedClustersUpgrade,
}

impl Target {
    /// Returns an add-on.
    pub fn addon(name: impl Into<String>) -> Self {
        Self {
            kind: TargetKind::ClusterManagementAddOn,
            namespace: String::new(),
            name: name.into(),
        }
    }

    /// Returns an upgrade of clusters.
    pub fn upgrade(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            kind: TargetKind::ManagedClustersUpgrade,
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns what it is called on a command line: `helloworld`, `mcu/default/to-4-12`.
    pub fn told(&self) -> String {
        match self.kind {
            TargetKind::ClusterManagementAddOn => self.name.clone(),
            TargetKind::ManagedClustersUpgrade => format!("mcu/{}/{}", self.namespace, self.name),
        }
    }
}

/// A rollout in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Phase {
    /// Every cluster has what it should have.
    Done,
    /// Clusters are on their way.
    Progressing,
    /// No cluster is on the way; what is waited for comes by itself.
    Waiting,
    /// A user has paused it, and clusters wait for the end of that.
    Paused,
    /// No cluster is on the way, and clusters wait until a user approves of the change.
    Unapproved,
    /// More clusters failed than may: nothing new starts.
    Stopped,
    /// Every cluster has had a turn, and some have failed; or only a user can change what is.
    Failed,
    /// It is being deleted.
    Deleting,
    /// No cluster has it, and none is to have it.
    Empty,
    /// Another manager has it.
    NotManaged,
}

impl Phase {
    /// Returns its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "Done",
            Self::Progressing => "Progressing",
            Self::Waiting => "Waiting",
            Self::Paused => "Paused",
            Self::Unapproved => "Unapproved",
            Self::Stopped => "Stopped",
            Self::Failed => "Failed",
            Self::Deleting => "Deleting",
            Self::Empty => "Empty",
            Self::NotManaged => "NotManaged",
        }
    }

    /// Returns whether its end is still to come: a command that waits for the end goes on waiting.
    pub const fn goes_on(self) -> bool {
        match self {
            Self::Progressing | Self::Waiting | Self::Paused | Self::Unapproved | Self::Deleting => true,
            Self::Done | Self::Stopped | Self::Failed | Self::Empty | Self::NotManaged => false,
        }
    }

    /// Returns the exit status of `rollout status`: 0 done, 1 failed or stopped, 3 not over.
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Stopped | Self::Failed | Self::Empty | Self::NotManaged => 1,
            Self::Progressing | Self::Waiting | Self::Paused | Self::Unapproved | Self::Deleting => 3,
        }
    }

    /// Returns whether a human has to act.
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Stopped | Self::Failed => true,
            Self::Done
            | Self::Progressing
            | Self::Waiting
            | Self::Paused
            | Self::Unapproved
            | Self::Deleting
            | Self::Empty
            | Self::NotManaged => false,
        }
    }
}

/// What changes by itself next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Next {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// What.
    pub what: String,
}

/// The rollout over a placement that was undone, or that would be and cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// The placement, as `namespace/name`.
    pub placement: String,
    /// In one word: `RollingBack`, `RolledBack` or `UndoImpossible`.
    pub reason: &'static str,
    /// Who failed with what, and what ends it.
    pub message: String,
    /// Since when it is undone; absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
}

/// A configuration or version that clusters are to run, and what they ran before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The placement whose clusters it reaches, as `namespace/name`; "" where all are reached.
    pub placement: String,
    /// What changes: the type of a configuration as `resource.group`, or `OpenShift`.
    pub what: String,
    /// What all were last seen to run well; absent when there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Content>,
    /// What they are to run.
    pub to: Content,
}

/// One content of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The object, as `namespace/name` or `name`.
    pub object: String,
    /// Hash of its spec, "" when it is unknown.
    pub hash: String,
    /// The version that it stands for, "" when it is none.
    pub version: String,
}

/// Returns the JSON Schema of a picture.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Picture).to_value();
    if let Some(fields) = schema.as_object_mut() {
        let id = format!(
            "https://tidegate.io/schemas/{}.json",
            API_VERSION.replace('/', "-")
        );
        fields.insert("$id".to_owned(), id.into());
    }
    schema
}
