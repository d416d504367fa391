//! ManagedClusterSetBinding: leave for the placements of a namespace to select from a set.
//!
//! Holds its wire shape only.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;
use crate::lenient::{absent_is_default, null_is_default};
use crate::schemas;

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
