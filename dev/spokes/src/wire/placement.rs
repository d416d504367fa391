//! Placement and `PlacementDecision`, as far as the simulated scheduler needs them.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};

use super::{Condition, LabelSelector, Record};

/// Which clusters a user wants.
pub type Placement = Record<PlacementSpec, PlacementStatus>;
/// Which clusters a placement got; at most a hundred in one object.
pub type PlacementDecision = Record<serde_json::Value, DecisionStatus>;

/// `spec` of a Placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementSpec {
    /// Sets to choose from; none means all that are bound to the namespace.
    pub cluster_sets: Vec<String>,
    /// How many clusters; none means all that fit.
    pub number_of_clusters: Option<i32>,
    /// A cluster fits when one of these does; none means that all fit.
    pub predicates: Vec<Predicate>,
    /// Taints that do not matter here.
    pub tolerations: Vec<Toleration>,
    /// How the chosen clusters are grouped.
    pub decision_strategy: DecisionStrategy,
}

/// One of a placement's alternatives.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Predicate {
    /// What a cluster must have.
    pub required_cluster_selector: ClusterSelector,
}

/// Selectors that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSelector {
    /// Over the cluster's labels.
    pub label_selector: LabelSelector,
    /// Over the cluster's claims.
    pub claim_selector: LabelSelector,
    /// Over the whole cluster, in CEL; the simulated scheduler refuses it.
    pub cel_selector: CelSelector,
}

/// CEL expressions of a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CelSelector {
    /// The expressions.
    pub cel_expressions: Vec<String>,
}

/// Makes a taint not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// The taint's key; empty with `Exists` means every key.
    pub key: String,
    /// `Equal` (also when empty) or `Exists`.
    pub operator: String,
    /// The taint's value, for `Equal`.
    pub value: String,
    /// The taint's effect; empty means every effect.
    pub effect: String,
    /// For how long after the taint was put on.
    pub toleration_seconds: Option<i64>,
}

/// `spec.decisionStrategy` of a Placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionStrategy {
    /// How groups are made.
    pub group_strategy: GroupStrategy,
}

/// How the chosen clusters become groups.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupStrategy {
    /// The most that one group holds.
    pub clusters_per_decision_group: Option<IntOrString>,
    /// Groups by label, before all others.
    pub decision_groups: Vec<DecisionGroup>,
}

/// A group by label.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionGroup {
    /// Its name.
    pub group_name: String,
    /// Who belongs to it.
    pub group_cluster_selector: ClusterSelector,
}

/// `status` of a Placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementStatus {
    /// How many clusters were chosen.
    pub number_of_selected_clusters: i32,
    /// The groups and where they are written down.
    pub decision_groups: Vec<DecisionGroupStatus>,
    /// Satisfied, misconfigured.
    pub conditions: Vec<Condition>,
}

/// One group in a Placement's status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DecisionGroupStatus {
    /// Its place.
    pub decision_group_index: i32,
    /// Its name, empty for the groups of the rest.
    pub decision_group_name: String,
    /// The `PlacementDecisions` that hold it.
    pub decisions: Vec<String>,
    /// How many clusters it has.
    pub cluster_count: i32,
}

/// `status` of a `PlacementDecision`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DecisionStatus {
    /// The chosen clusters; none at all before they are written for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<Decision>>,
}

/// One chosen cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Decision {
    /// Its name.
    pub cluster_name: String,
    /// Always empty; the schema wants it.
    pub reason: String,
}
