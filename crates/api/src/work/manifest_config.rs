//! How single manifests of a work are applied, observed and reported back.
//!
//! Holds shapes only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{no_default, null_is_default};

/// How one manifest is applied and observed.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["resourceIdentifier"]))]
pub struct ManifestConfig {
    /// The manifest that these settings apply to.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub resource_identifier: ResourceIdentifier,

    /// Values of the object that are reported to the hub.
    pub feedback_rules: Vec<FeedbackRule>,

    /// How the object is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,

    /// Conditions that are derived from the object.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["condition"]))]
    pub condition_rules: Vec<ConditionRule>,

    /// Poll reads the object at intervals, Watch follows it.
    #[schemars(extend("default" = "Poll", "enum" = ["Poll", "Watch"]))]
    pub feedback_scrape_type: String,
}

/// One object on the managed cluster.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "resource"]))]
pub struct ResourceIdentifier {
    /// API group of the object; empty for the core group.
    pub group: String,

    /// Plural name of the object's type.
    pub resource: String,

    /// Namespace of the object; empty for a cluster-scoped one.
    pub namespace: String,

    /// Name of the object.
    pub name: String,
}

/// Something that is reported back about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct FeedbackRule {
    /// WellKnownStatus reports the defaults of the kind, JSONPaths the values of the paths.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["WellKnownStatus", "JSONPaths"]))]
    pub type_: String,

    /// Paths of type JSONPaths.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub json_paths: Vec<JsonPath>,
}

/// A named path into an object.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "path"]))]
pub struct JsonPath {
    /// Name under which the value is reported.
    pub name: String,

    /// Version of the object's API that the path is for.
    pub version: String,

    /// The path.
    pub path: String,
}

/// How an object is written on the managed cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct UpdateStrategy {
    /// Update replaces the object, CreateOnly never changes it, ServerSideApply applies it, ReadOnly only observes it.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "Update", "enum" = ["Update", "CreateOnly", "ServerSideApply", "ReadOnly"]))]
    pub type_: String,

    /// Settings of type ServerSideApply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_side_apply: Option<ServerSideApply>,
}

/// How an object is applied.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServerSideApply {
    /// Whether the agent takes over fields of other field managers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,

    /// Name of the field manager.
    #[schemars(extend("default" = "work-agent", "pattern" = "^work-agent"))]
    pub field_manager: String,

    /// Fields that the agent does not change.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["condition"]))]
    pub ignore_fields: Vec<IgnoreFields>,
}

/// Fields that are left to others.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["condition"]))]
pub struct IgnoreFields {
    /// OnSpokePresent ignores the fields if the object exists, OnSpokeChange if another client has changed them.
    #[schemars(extend("default" = "OnSpokePresent", "enum" = ["OnSpokePresent", "OnSpokeChange"]))]
    pub condition: String,

    /// The fields as JSON pointers.
    pub json_pointers: Vec<String>,

    /// The fields as JSON paths.
    pub json_paths: Vec<String>,

    /// The fields as jq expressions.
    pub jq_path_expressions: Vec<String>,
}

/// A condition that is derived from an object.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend(
    "required" = ["condition", "type"],
    "x-kubernetes-validations" = [
        {"message": "Condition is required for CEL rules", "rule": r#"self.type != 'CEL' || self.condition != """#}
    ]
))]
pub struct ConditionRule {
    /// WellKnownConditions uses the defaults of the kind, CEL evaluates the expressions.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["WellKnownConditions", "CEL"]))]
    #[serde_with(skip_apply)]
    pub type_: String,

    /// Type of the condition.
    pub condition: String,

    /// Expressions; all must be true.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub cel_expressions: Vec<String>,

    /// Message of the condition.
    pub message: String,

    /// Expression that yields the message; it takes precedence over message.
    pub message_expression: String,
}
