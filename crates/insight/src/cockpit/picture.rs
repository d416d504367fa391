//! The picture of one rollout, as programs read it: `output.tidegate.io/v1alpha1`.
//!
//! Only the types. A new field does not change the version; a field with another meaning does.

use api::output::OutputDocument;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::approval::AskedApproval;
use super::attention::Attention;
use super::cluster::{ClusterView, Counts};
use super::eta::Eta;
use super::health::RolloutHealth;
pub use super::phase::Phase;
use super::wave::Wave;

/// Version of the format.
pub const API_VERSION: &str = api::names::OUTPUT_VERSION;

/// The picture of one rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Rollout")]
pub struct Picture {
    /// `output.tidegate.io/v1alpha1`
    pub api_version: &'static str,
    /// `Rollout`
    pub kind: &'static str,
    /// Time of the picture.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The object that is rolled out.
    pub target: Target,
    /// The phase of the rollout.
    pub phase: Phase,
    /// Description of the state.
    pub message: String,
    /// Health: never better than the conditions `Ready`, `Reconciling` and `Stalled`.
    pub health: RolloutHealth,
    /// How soon it needs an administrator: `tidegate top` and the web page list rollouts in this order.
    pub attention: Attention,
    /// Numbers of clusters by state.
    pub counts: Counts,
    /// What pauses the rollout; absent if it is not paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// Pauses of an add-on: that of all placements, or those of single ones.
    pub pauses: Vec<Pause>,
    /// Approvals that the rollout is waiting for.
    pub approvals: Vec<AskedApproval>,
    /// The next event that needs no action, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// Estimated end, if it can be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<Eta>,
    /// Why the end cannot be estimated: clusters block the rollout, or no update has completed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta_unknown: Option<String>,
    /// Rollbacks because too many clusters failed, including those that are not possible.
    pub undone: Vec<Undone>,
    /// Changes of configurations and versions.
    pub changes: Vec<Change>,
    /// Waves, in rollout order.
    pub waves: Vec<Wave>,
    /// Clusters, in natural order of their names.
    pub clusters: Vec<ClusterView>,
    /// Problems of the add-on or the upgrade as a whole.
    pub notices: Vec<String>,
}

impl Picture {
    /// Returns the progress, without the clusters.
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
            attention: self.attention,
            counts: self.counts,
            paused: self.paused.clone(),
            pauses: self.pauses.clone(),
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

/// The object that is rolled out.
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

/// Kind of an object that is rolled out.
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

    /// Returns its name on a command line: `helloworld`, `mcu/default/to-4-12`.
    pub fn told(&self) -> String {
        match self.kind {
            TargetKind::ClusterManagementAddOn => self.name.clone(),
            TargetKind::ManagedClustersUpgrade => format!("mcu/{}/{}", self.namespace, self.name),
        }
    }
}

/// The next event that needs no action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Next {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// What.
    pub what: String,
}

/// A pause of the rollout of an add-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// The placement, as `namespace/name`; "" for all placements.
    pub placement: String,
    /// The reason, or "".
    pub reason: String,
    /// The RolloutProfile that has the pause; absent if the AddOnRollout has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The user who set it, if the webhook recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The field manager that set it, if the hub records it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// When it was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
}

/// A rollout of a placement that was rolled back, or cannot be rolled back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// The placement, as `namespace/name`.
    pub placement: String,
    /// State: `RollingBack`, `RolledBack` or `UndoImpossible`.
    pub reason: &'static str,
    /// The failed clusters and configuration, and how the state ends.
    pub message: String,
    /// Time of the rollback; absent if it was not rolled back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
}

/// A change of a configuration or version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The placement to whose clusters it is rolled out, as `namespace/name`; "" for all clusters.
    pub placement: String,
    /// Type of the configuration as `resource.group`, or `OpenShift`.
    pub what: String,
    /// The last known good content; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Content>,
    /// The desired content.
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
    /// Its version, "" if it has none.
    pub version: String,
}

impl OutputDocument for Picture {
    const KIND: &'static str = "Rollout";
}

/// Rollouts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutList {
    /// The rollouts.
    pub items: Vec<Picture>,
    /// What the web page leaves out because the user may not read it; absent if that is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

impl OutputDocument for RolloutList {
    const KIND: &'static str = "RolloutList";
}

impl RolloutList {
    /// Returns it with its version and kind.
    pub fn document(&self) -> serde_json::Value {
        api::output::document(self).unwrap_or_default()
    }
}

/// What a user may not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Number of rollouts.
    pub rollouts: usize,
    /// The permissions that the user does not have.
    pub rights: Vec<String>,
}
