//! RolloutProfile: settings of rollouts that many add-ons and upgrades of clusters share.
//!
//! Holds its wire shape only; `model` parses it. The group is our own.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::UpgradeWindow;
use super::lenient::{absent_is_default, null_is_default};
use super::rollout_settings::RolloutSettings;
use super::v1alpha1::RolloutStrategy;
use super::{LabelSelector, schemas};

/// The settings, and whether they are the default of the hub.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "tidegate.io",
    version = "v1alpha1",
    kind = "RolloutProfile",
    plural = "rolloutprofiles",
    shortname = "rop",
    derive = "PartialEq",
    derive = "Default",
    doc = "RolloutProfile has settings of rollouts that many add-ons and cluster upgrades share. An AddOnRollout or a ManagedClustersUpgrade names it, or it is the default of the hub.",
    printcolumn(name = "Default", type_ = "boolean", json_path = ".spec.default"),
    printcolumn(name = "Strategy", type_ = "string", json_path = ".spec.rolloutStrategy.type"),
    printcolumn(name = "On-Failure", type_ = "string", json_path = ".spec.onFailure"),
    printcolumn(
        name = "Pause",
        type_ = "string",
        json_path = ".spec.pause.reason",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct RolloutProfileSpec {
    /// Whether it applies to every add-on, also to one whose AddOnRollout names another profile: for the settings that are absent there. One
    /// profile of a hub can be the default.
    pub default: Option<bool>,

    /// How a change is rolled out over a placement for which the ClusterManagementAddOn has no strategy of its own. The strategy that the
    /// definition of OCM fills in (type All and nothing else) is none of its own.
    pub rollout_strategy: Option<RolloutStrategy>,

    /// Key of a cluster label: clusters of one decision group or stage start in the order of its values. Numbers are compared as
    /// numbers, and a cluster without the label starts last.
    pub order_by: String,

    /// When changes may start on single clusters, in addition to windows. The first entry that selects a cluster applies to it.
    #[schemars(length(max = 50), extend("x-kubernetes-list-type" = "atomic"))]
    pub cluster_windows: Option<Vec<ClusterWindows>>,

    /// How many configurations that ran well are kept for an undo; 10 if absent.
    #[schemars(range(min = 0, max = 100))]
    pub revision_history_limit: Option<i64>,

    /// Settings of the rollouts.
    #[serde(flatten)]
    pub settings: RolloutSettings,
}

absent_is_default!(RolloutProfileSpec);

/// The windows of some clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterSelector", "windows"]))]
pub struct ClusterWindows {
    /// The clusters; {} selects all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::label_selector")]
    pub cluster_selector: Option<LabelSelector>,

    /// When changes may start on them; at any time if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub windows: Option<Vec<UpgradeWindow>>,
}
