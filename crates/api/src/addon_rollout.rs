//! AddOnRollout: the settings of an add-on's rollouts, and how the add-on stands on its whole fleet.
//!
//! Holds its wire shape only; `model` parses the settings, and `plan` decides the status. The group is our own: Open Cluster Management
//! has no such kind, and its definitions stay as they are.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lenient::{absent_is_default, null_is_default};
use super::rollout_settings::{PlacementRolloutSettings, RolloutActions, RolloutSettings};
use super::{Condition, schemas};

/// The settings of the rollouts of one add-on.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
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
    doc = "AddOnRollout has the settings of the rollouts of the add-on with its name, and the status of the add-on on all clusters. Tidegate creates it and writes its status.",
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
    printcolumn(name = "Profile", type_ = "string", json_path = ".spec.profile", priority = 1),
    printcolumn(
        name = "Pause",
        type_ = "string",
        json_path = ".spec.pause.reason",
        priority = 1
    ),
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

    /// Name of a RolloutProfile. A setting that is absent here has the value of the profile.
    pub profile: String,

    /// Names of the add-ons that must be installed on a cluster, up to date and available before this one is installed or updated there.
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "set"))]
    pub depends_on: Option<Vec<String>>,

    /// How many configurations that ran well are kept for an undo; 10 if absent.
    #[schemars(range(min = 0, max = 100))]
    pub revision_history_limit: Option<i64>,

    /// Settings for all placements.
    #[serde(flatten)]
    pub settings: RolloutSettings,

    /// Actions for all placements.
    #[serde(flatten)]
    pub actions: RolloutActions,

    /// Settings for single placements, which override those for all.
    #[schemars(
        length(max = 256),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace", "name"])
    )]
    pub placements: Vec<PlacementRolloutSettings>,
}

absent_is_default!(AddOnRolloutSpec);

/// Status of the add-on.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AddOnRolloutStatus {
    /// The generation of this object that the status describes.
    pub observed_generation: Option<i64>,

    /// The generation of the ClusterManagementAddOn that the status describes.
    pub addon_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as on the ClusterManagementAddOn where its definition has these fields.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// The default RolloutProfile whose settings apply; absent when the hub has none.
    pub default_profile: String,

    /// The version of clusters for which no other is set; absent when no template has one.
    pub default_version: String,

    /// The versions that templates provide, the newest last.
    pub supported_versions: Vec<String>,

    /// Number of clusters by state.
    pub clusters: Option<RolloutClusters>,

    /// The placements of the install strategy, in its order.
    pub placements: Vec<RolloutPlacement>,
}

/// Number of clusters by state: each cluster is in one count beside the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RolloutClusters {
    /// All clusters that have the add-on, will get it, or are losing it.
    pub total: i64,

    /// Clusters that are up to date and available.
    pub ready: i64,

    /// Clusters that are updating, or are updated next.
    pub progressing: i64,

    /// Clusters that keep their current configuration until their turn.
    pub waiting: i64,

    /// Clusters that need an administrator.
    pub stalled: i64,

    /// Clusters that are up to date, but whose agent is not available.
    pub unavailable: i64,

    /// Clusters that are up to date, but cannot be reached.
    pub unreachable: i64,

    /// Clusters from which the add-on is being removed.
    pub leaving: i64,
}

/// Status of one placement of the install strategy.
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

    /// Completed, Progressing, RolloutPaused, or the reason for which no further cluster is updated.
    pub reason: String,

    /// The reason as a sentence, with numbers.
    pub message: String,
}
