//! AddOnRollout: how an add-on stands on its whole fleet, for hubs whose ClusterManagementAddOn cannot hold it.
//!
//! Holds its wire shape only; what stands in it is decided by `plan`. The group is our own: Open Cluster Management has no such kind, and its
//! definitions stay as they are.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lenient::{absent_is_default, null_is_default};
use super::{Condition, schemas};

/// Which add-on it is about.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "tidegate.io",
    version = "v1alpha1",
    kind = "AddOnRollout",
    plural = "addonrollouts",
    shortname = "aor",
    status = "AddOnRolloutStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "AddOnRollout tells how the add-on of its name stands on all its clusters. Tidegate writes it; nobody else needs to.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.defaultVersion"),
    printcolumn(
        name = "Ready-Clusters",
        type_ = "integer",
        json_path = ".status.clusters.ready"
    ),
    printcolumn(name = "Clusters", type_ = "integer", json_path = ".status.clusters.total"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    )
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct AddOnRolloutSpec {
    /// Name of the ClusterManagementAddOn, which is also the name of this object.
    pub addon: String,
}

absent_is_default!(AddOnRolloutSpec);

/// How the add-on stands.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AddOnRolloutStatus {
    /// The generation of this object that the status is about.
    pub observed_generation: Option<i64>,

    /// The generation of the ClusterManagementAddOn that the status is about.
    pub addon_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, with the words that the ClusterManagementAddOn has where its definition holds them.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// The version that clusters get for which nothing else is said; absent when no template names one.
    pub default_version: String,

    /// The versions that templates offer, the newest last.
    pub supported_versions: Vec<String>,

    /// The clusters, counted by how they stand.
    pub clusters: Option<RolloutClusters>,

    /// The placements of the install strategy, in its order.
    pub placements: Vec<RolloutPlacement>,
}

/// Clusters, counted by how they stand: each is in one count beside the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutClusters {
    /// All clusters that have the add-on, are to get it, or are losing it.
    pub total: i64,

    /// They have what they should have, and the agent works.
    pub ready: i64,

    /// They are on the way, or get the add-on next.
    pub progressing: i64,

    /// They keep what they have until their turn comes.
    pub waiting: i64,

    /// Only a human can change what is wrong there.
    pub stalled: i64,

    /// They have what they should have, and the agent does not work.
    pub unavailable: i64,

    /// They have what they should have, and cannot be reached.
    pub unreachable: i64,

    /// The add-on is being taken away there.
    pub leaving: i64,
}

/// How one placement of the install strategy stands.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutPlacement {
    /// Namespace of the placement.
    #[serde_with(skip_apply)]
    pub namespace: String,

    /// Name of the placement.
    #[serde_with(skip_apply)]
    pub name: String,

    /// What it is about in one word: Completed, Progressing, RolloutPaused, or why nothing new starts.
    pub reason: String,

    /// The same in a sentence, with numbers.
    pub message: String,
}
