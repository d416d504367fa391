//! What became of a work on its cluster, as the agent there reports it.
//!
//! Holds shapes only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;
use crate::lenient::{no_default, null_is_default};
use crate::schemas;

/// What the agent reports about the work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManifestWorkStatus {
    /// State of the work as a whole.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// State of every manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_status: Option<ManifestResourceStatus>,
}

/// State of every manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManifestResourceStatus {
    /// One entry per manifest.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<ManifestCondition>,
}

/// State of one manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["conditions", "resourceMeta"]))]
pub struct ManifestCondition {
    /// The object that the manifest became.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub resource_meta: ManifestResourceMeta,

    /// What was asked to be reported back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_feedback: Option<StatusFeedback>,

    /// State of the object.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default", schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

/// The object that a manifest became.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["ordinal"]))]
pub struct ManifestResourceMeta {
    /// Place of the manifest in the work, from zero.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub ordinal: i32,

    /// API group of the object; empty for the core group.
    pub group: String,

    /// Version of the object's API.
    pub version: String,

    /// Kind of the object.
    pub kind: String,

    /// Plural name of the object's type.
    pub resource: String,

    /// Name of the object.
    pub name: String,

    /// Namespace of the object; empty for a cluster-scoped one.
    pub namespace: String,
}

/// Values that were reported back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct StatusFeedback {
    /// The values by name.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub values: Vec<FeedbackValue>,
}

/// A named value that was reported back.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["fieldValue", "name"]))]
pub struct FeedbackValue {
    /// Name of the value.
    pub name: String,

    /// The value.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub field_value: FieldValue,
}

/// A value of one of several types.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct FieldValue {
    /// Which of the other fields holds the value.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["Integer", "String", "Boolean", "JsonRaw"]))]
    pub type_: String,

    /// Value of type Integer.
    pub integer: Option<i64>,

    /// Value of type String.
    pub string: Option<String>,

    /// Value of type Boolean.
    pub boolean: Option<bool>,

    /// Value of type JsonRaw.
    #[schemars(length(max = 1024))]
    pub json_raw: Option<String>,
}
