//! `ManagedCluster`, `ManagedClusterSet` and `ManagedClusterSetBinding`, as far as simulated clusters need them.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Condition, LabelSelector, Record};

/// A cluster as the hub knows it.
pub type ManagedCluster = Record<ClusterSpec, ClusterStatus>;
/// A named set of clusters.
pub type ManagedClusterSet = Record<ClusterSetSpec, ClusterSetStatus>;
/// Makes a cluster set usable by the placements of one namespace.
pub type ManagedClusterSetBinding = Record<SetBindingSpec, SetBindingStatus>;

/// `spec` of a `ManagedCluster`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// Whether the hub let the cluster in.
    pub hub_accepts_client: bool,
    /// What keeps placements away.
    pub taints: Vec<Taint>,
}

/// A reason not to select a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// `NoSelect`, `PreferNoSelect` or `NoSelectIfNew`.
    pub effect: String,
    /// When it was put on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Timestamp>,
}

/// `status` of a `ManagedCluster`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// Accepted, joined, available.
    pub conditions: Vec<Condition>,
    /// What the cluster says about itself.
    pub cluster_claims: Vec<Claim>,
    /// Its Kubernetes version.
    pub version: BTreeMap<String, String>,
    /// What its nodes have.
    pub capacity: BTreeMap<String, serde_json::Value>,
    /// What of it workloads may use.
    pub allocatable: BTreeMap<String, serde_json::Value>,
}

/// One thing that a cluster says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    /// What it is about.
    pub name: String,
    /// What is said.
    pub value: String,
}

/// `spec` of a `ManagedClusterSet`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSetSpec {
    /// Who belongs to the set.
    pub cluster_selector: SetSelector,
}

/// `spec.clusterSelector` of a `ManagedClusterSet`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetSelector {
    /// How members are found.
    pub selector_type: SelectorType,
    /// Which labels members carry, where the type asks for them.
    pub label_selector: Option<LabelSelector>,
}

/// How the members of a set are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum SelectorType {
    /// By the one label that names the set: a cluster is in one such set at most.
    #[default]
    ExclusiveClusterSetLabel,
    /// By any labels.
    LabelSelector,
}

/// `status` of a `ManagedClusterSet`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterSetStatus {
    /// Whether the set is empty.
    pub conditions: Vec<Condition>,
}

/// `spec` of a `ManagedClusterSetBinding`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SetBindingSpec {
    /// The set that is bound.
    pub cluster_set: String,
}

/// `status` of a `ManagedClusterSetBinding`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetBindingStatus {
    /// Whether the set exists.
    pub conditions: Vec<Condition>,
}
