//! `ManifestWorkReplicaSet`, as far as a stand-in for its controller needs it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, Record};

/// A work for every cluster of some placements.
pub type ManifestWorkReplicaSet = Record<ReplicaSetSpec, ReplicaSetStatus>;

/// `spec` of a `ManifestWorkReplicaSet`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetSpec {
    /// `spec` of every work.
    pub manifest_work_template: Value,
    /// The placements, all in the namespace of the set.
    pub placement_refs: Vec<PlacementRef>,
}

/// A placement of a replica set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementRef {
    /// Its name.
    pub name: String,
    /// How its clusters are gone through.
    pub rollout_strategy: RolloutStrategy,
}

/// How the clusters of a placement are gone through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RolloutStrategy {
    /// `All` (also when empty), or another one.
    #[serde(rename = "type")]
    pub kind: String,
}

/// `status` of a `ManifestWorkReplicaSet`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetStatus {
    /// Placements verified and rolled out, works applied.
    pub conditions: Vec<Condition>,
    /// The works counted by how they stand.
    pub summary: ReplicaSetSummary,
    /// How many works each placement has.
    pub placement_summary: Vec<PlacementSummary>,
}

/// Works counted by how they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetSummary {
    /// All of them.
    pub total: usize,
    /// Those that have been applied.
    pub applied: usize,
    /// Those whose objects exist.
    pub available: usize,
    /// Those of which a rule says that they are degraded.
    pub degraded: usize,
    /// Those of which a rule says that they progress.
    pub progressing: usize,
}

/// The works of one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementSummary {
    /// The name of the placement.
    pub name: String,
    /// How many of its groups have their works, for people.
    pub available_decision_groups: String,
    /// Its works.
    pub summary: ReplicaSetSummary,
}
