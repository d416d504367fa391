//! ManifestWorkReplicaSet: a ManifestWork for each cluster of placements.
//!
//! Holds its wire shape only. Tidegate checks its rollout strategies; OCM's work controller creates the works.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest_work::ManifestWorkSpec;
use crate::lenient::{absent_is_default, null_is_default};
use crate::v1alpha1::RolloutStrategy;
use crate::{Condition, schemas};

/// What is applied, and on which clusters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "work.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ManifestWorkReplicaSet",
    plural = "manifestworkreplicasets",
    shortname = "mwrs",
    namespaced,
    status = "ManifestWorkReplicaSetStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManifestWorkReplicaSet creates a ManifestWork for each cluster of its placements.",
    printcolumn = r#"{"name":"Placement","type":"string","jsonPath":".status.conditions[?(@.type==\"PlacementVerified\")].reason"}"#,
    printcolumn = r#"{"name":"Found","type":"string","jsonPath":".status.conditions[?(@.type==\"PlacementVerified\")].status"}"#,
    printcolumn = r#"{"name":"ManifestWorks","type":"string","jsonPath":".status.conditions[?(@.type==\"ManifestworkApplied\")].reason"}"#,
    printcolumn = r#"{"name":"Applied","type":"string","jsonPath":".status.conditions[?(@.type==\"ManifestworkApplied\")].status"}"#
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
#[schemars(extend("required" = ["cascadeDeletionPolicy", "placementRefs"]))]
pub struct ManifestWorkReplicaSetSpec {
    /// The spec of each ManifestWork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_work_template: Option<ManifestWorkSpec>,

    /// Placements in the namespace of the set.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub placement_refs: Vec<LocalPlacementReference>,

    /// Whether the ManifestWorks are deleted before the set (Foreground) or after it (Background).
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "Background", "enum" = ["Background", "Foreground"]))]
    pub cascade_deletion_policy: String,
}

absent_is_default!(ManifestWorkReplicaSetSpec);

/// A placement, and how a change is rolled out to its clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct LocalPlacementReference {
    /// Name of the placement.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub name: String,

    /// How a change of the template is rolled out to the selected clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"all": {"progressDeadline": "None"}, "type": "All"}))]
    pub rollout_strategy: Option<RolloutStrategy>,
}

/// State of the ManifestWorks, as OCM's work controller reports it. Tidegate does not read it.
#[serde_with::apply(_ => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManifestWorkReplicaSetStatus {
    /// State of the set.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Option<Vec<Condition>>,

    /// State of the ManifestWorks of each placement.
    #[schemars(schema_with = "schemas::work_summaries")]
    pub placement_summary: Option<Value>,

    /// How many ManifestWorks are in each state.
    #[schemars(schema_with = "schemas::work_counts")]
    pub summary: Option<Value>,
}
