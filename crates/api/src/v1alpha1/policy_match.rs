//! Which objects a policy is about, in the words of Kubernetes' admission policies.
//!
//! The API types only; the policy crate decides what matches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::null_is_default;
use crate::{LabelSelector, schemas};

/// The objects and operations that a policy applies to.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MatchConstraints {
    /// Labels of the namespace; objects without namespace always match.
    #[schemars(schema_with = "schemas::label_selector")]
    pub namespace_selector: Option<LabelSelector>,

    /// Labels of the object before or after the change.
    #[schemars(schema_with = "schemas::label_selector")]
    pub object_selector: Option<LabelSelector>,

    /// Resources and operations, one of which must match.
    pub resource_rules: Vec<ResourceRule>,

    /// Resources and operations, none of which may match.
    pub exclude_resource_rules: Vec<ResourceRule>,

    /// Exact matches the requested version, Equivalent (the default) every version of the resource.
    #[schemars(extend("enum" = ["Exact", "Equivalent"]))]
    pub match_policy: String,
}

/// Narrows the objects of a policy: the same shape, with every part optional.
pub type MatchResources = MatchConstraints;

/// Resources and operations.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceRule {
    /// API groups; a star for all.
    pub api_groups: Vec<String>,

    /// API versions; a star for all.
    pub api_versions: Vec<String>,

    /// CREATE, UPDATE, DELETE, CONNECT, or a star for all.
    #[schemars(schema_with = "schemas::operations")]
    pub operations: Vec<String>,

    /// Plural names of resources; a star for all.
    pub resources: Vec<String>,

    /// Names of objects; every name when empty.
    pub resource_names: Vec<String>,

    /// Cluster, Namespaced, or a star for both.
    #[schemars(extend("enum" = ["Cluster", "Namespaced", "*"]))]
    pub scope: String,
}
