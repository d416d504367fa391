//! PlacementDecision: a page of the clusters that a placement selected.
//!
//! Holds its wire shape only. The kind has no spec: everything stands in the status.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{no_default, null_is_default};

/// Nothing: a PlacementDecision has no spec.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "PlacementDecision",
    plural = "placementdecisions",
    namespaced,
    no_spec,
    status = "PlacementDecisionStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "PlacementDecision lists clusters that a placement selected. Its labels name the placement and the group."
)]
pub struct PlacementDecisionFields {}

/// The selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["decisions"]))]
pub struct PlacementDecisionStatus {
    /// The selected clusters, at most one hundred.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub decisions: Vec<ClusterDecision>,
}

/// A selected cluster.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterName", "reason"]))]
pub struct ClusterDecision {
    /// Name of the cluster.
    pub cluster_name: String,

    /// Why it was selected; may be empty.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    #[serde_with(skip_apply)]
    pub reason: String,

    /// Score of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}
