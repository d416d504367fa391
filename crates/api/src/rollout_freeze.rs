//! RolloutFreeze: for some time, no change starts on the clusters that it applies to.
//!
//! Holds its wire shape only; `model` parses the times and the selector. The group is our own.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lenient::{absent_is_default, null_is_default};
use super::{LabelSelector, schemas};

/// Why, when and where no change starts.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "tidegate.io",
    version = "v1alpha1",
    kind = "RolloutFreeze",
    plural = "rolloutfreezes",
    shortname = "rof",
    derive = "PartialEq",
    derive = "Default",
    doc = "RolloutFreeze stops new changes of add-ons and upgrades of clusters for some time. Changes that are in progress finish.",
    printcolumn(name = "From", type_ = "string", json_path = ".spec.from"),
    printcolumn(name = "Until", type_ = "string", json_path = ".spec.until"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".spec.reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
#[schemars(extend("required" = ["reason"]))]
pub struct RolloutFreezeSpec {
    /// Why changes are stopped. Shown on every cluster that waits.
    #[schemars(length(min = 1, max = 256))]
    pub reason: String,

    /// Begin, such as 2026-12-20T00:00:00Z; when the object is created if absent.
    #[schemars(extend("format" = "date-time"))]
    pub from: Option<String>,

    /// End, such as 2027-01-03T00:00:00Z; when the object is deleted if absent.
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<String>,

    /// The clusters; every cluster if absent.
    #[schemars(schema_with = "schemas::label_selector")]
    pub cluster_selector: Option<LabelSelector>,

    /// Names of the ClusterManagementAddOns; every add-on if absent, and none if empty.
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "set"))]
    pub add_ons: Option<Vec<String>>,

    /// Whether upgrades of clusters are stopped as well; true if absent.
    pub upgrades: Option<bool>,
}

absent_is_default!(RolloutFreezeSpec);
