//! ManagedClusterSet: a group of clusters.
//!
//! Holds its wire shape only; membership is decided by the label of a cluster or by the selector.

use crate::lenient::{absent_is_default, null_is_default};
use crate::schemas::{self, DNS_LABEL};
use crate::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which clusters belong to the set.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSet",
    plural = "managedclustersets",
    shortname = "mclset",
    shortname = "mclsets",
    status = "ManagedClusterSetStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManagedClusterSet is a group of clusters that can be bound to namespaces.",
    printcolumn(
        name = "Empty",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="ClusterSetEmpty")].status"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
#[schemars(extend("default" = {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}))]
pub struct ManagedClusterSetSpec {
    /// How the clusters of the set are found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"selectorType": "ExclusiveClusterSetLabel"}))]
    pub cluster_selector: Option<ManagedClusterSelector>,

    /// Namespaces that the hub manages on the clusters of the set.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub managed_namespaces: Vec<ManagedNamespace>,
}

absent_is_default!(ManagedClusterSetSpec);

/// How the clusters of a set are found.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["selectorType"]))]
pub struct ManagedClusterSelector {
    /// ExclusiveClusterSetLabel follows the cluster's own label, LabelSelector the selector below.
    #[schemars(extend(
        "default" = "ExclusiveClusterSetLabel",
        "enum" = ["ExclusiveClusterSetLabel", "LabelSelector"]
    ))]
    pub selector_type: String,

    /// Labels of the clusters when the type is LabelSelector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::label_selector")]
    pub label_selector: Option<LabelSelector>,
}

/// A namespace that the hub manages on the clusters of a set.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct ManagedNamespace {
    /// Name of the namespace.
    #[schemars(length(max = 63), extend("pattern" = DNS_LABEL))]
    pub name: String,
}

/// What the hub observed about the set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterSetStatus {
    /// State of the set.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::loose_conditions")]
    pub conditions: Vec<Condition>,
}

/// Which set is bound.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSetBinding",
    plural = "managedclustersetbindings",
    shortname = "mclsetbinding",
    shortname = "mclsetbindings",
    namespaced,
    status = "ManagedClusterSetBindingStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManagedClusterSetBinding lets the placements of its namespace select from a set. Its name is the set's name."
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct ManagedClusterSetBindingSpec {
    /// Name of the set.
    #[schemars(length(min = 1))]
    pub cluster_set: String,
}

absent_is_default!(ManagedClusterSetBindingSpec);

/// What the hub observed about the binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterSetBindingStatus {
    /// State of the binding.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::loose_conditions")]
    pub conditions: Vec<Condition>,
}
