//! AddOnPolicy: a rule of a user's own, in the words of Kubernetes' admission policies.
//!
//! The API type only; the policy crate compiles and evaluates it. What Kubernetes' ValidatingAdmissionPolicy and
//! MutatingAdmissionPolicy have is spelt as they spell it, so that a spec can be copied in both directions.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policy_match::{MatchConstraints, MatchResources};
use crate::lenient::{absent_is_default, null_is_default};
use crate::{Condition, schemas};

/// What the policy checks or adds, for which objects, and how violations are handled.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "tidegate.io",
    version = "v1alpha1",
    kind = "AddOnPolicy",
    plural = "addonpolicies",
    shortname = "aop",
    status = "AddOnPolicyStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "AddOnPolicy is an admission rule that users write, with the fields of Kubernetes' admission policies.",
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
    printcolumn(name = "Actions", type_ = "string", json_path = ".status.actions"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    )
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct AddOnPolicySpec {
    /// The objects and operations that the policy applies to.
    pub match_constraints: Option<MatchConstraints>,

    /// Expressions that must all be true for the policy to apply to an object.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub match_conditions: Vec<MatchCondition>,

    /// Kind of the objects that are read as params by a binding of Kubernetes.
    pub param_kind: Option<ParamKind>,

    /// The params, if they are not in another object.
    #[schemars(schema_with = "schemas::any_object")]
    pub params: Option<Value>,

    /// JSON schema of the params.
    #[schemars(schema_with = "schemas::any_object")]
    pub params_schema: Option<Value>,

    /// What the policy reads about the fleet: addon, cluster, configs, placements, peers, now.
    #[schemars(schema_with = "schemas::facts")]
    pub facts: Vec<String>,

    /// Named values, evaluated when they are first read: variables.name.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub variables: Vec<Variable>,

    /// Expressions that must be true.
    pub validations: Vec<Validation>,

    /// Values that must match a JSON schema, such as the variables of a configuration.
    pub schemas: Vec<SchemaCheck>,

    /// What is added to an object before it is checked.
    pub mutations: Vec<Mutation>,

    /// Annotations that are added to the audit event of a request.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub audit_annotations: Vec<AuditAnnotation>,

    /// What happens when an expression cannot be evaluated: Fail rejects the request (the default), Ignore admits it.
    #[schemars(extend("enum" = ["Fail", "Ignore"]))]
    pub failure_policy: String,

    /// Accepted for compatibility with Kubernetes; it has no effect, because the webhook evaluates mutations once.
    #[schemars(extend("enum" = ["Never", "IfNeeded"]))]
    pub reinvocation_policy: String,

    /// What happens when an expression is false: Deny (the default), Warn, Audit.
    #[schemars(schema_with = "schemas::validation_actions")]
    pub validation_actions: Vec<String>,

    /// Narrows matchConstraints, as a binding of Kubernetes does.
    pub match_resources: Option<MatchResources>,

    /// Objects that are exempt from the policy, each until a date.
    pub exceptions: Vec<PolicyException>,
}

absent_is_default!(AddOnPolicySpec);

/// An expression that decides whether the policy applies to an object.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["expression", "name"]))]
pub struct MatchCondition {
    /// Name of the condition.
    #[schemars(length(min = 1))]
    pub name: String,

    /// CEL expression that evaluates to a boolean.
    #[schemars(length(min = 1))]
    pub expression: String,
}

/// Kind of the objects that are read as params.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ParamKind {
    /// Group and version.
    pub api_version: String,

    /// Kind.
    pub kind: String,
}

/// A value with a name.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["expression", "name"]))]
pub struct Variable {
    /// Name of the variable: a word of letters, digits and underscores.
    #[schemars(length(min = 1))]
    pub name: String,

    /// CEL expression of any type.
    #[schemars(length(min = 1))]
    pub expression: String,
}

/// An expression that must be true, and the message if it is false.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["expression"]))]
pub struct Validation {
    /// Stable name of the validation; its position when absent.
    #[schemars(schema_with = "schemas::part_id")]
    pub id: String,

    /// CEL expression that evaluates to a boolean.
    #[schemars(length(min = 1))]
    pub expression: String,

    /// Message when the expression is false.
    pub message: String,

    /// CEL expression that evaluates to the message; it takes precedence over message.
    pub message_expression: String,

    /// Reason of the response; Invalid when absent.
    #[schemars(extend("enum" = ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"]))]
    pub reason: String,

    /// The field that is wrong, such as spec.configs. The message begins with it, and an existing violation in it only warns.
    pub field_path: String,

    /// How to fix a violation.
    pub suggestion: String,
}

/// A value that must fit a JSON schema.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["expression", "schema"]))]
pub struct SchemaCheck {
    /// Stable name of the check; its position when absent.
    #[schemars(schema_with = "schemas::part_id")]
    pub id: String,

    /// CEL expression of the value; nothing is checked when it is null.
    #[schemars(length(min = 1))]
    pub expression: String,

    /// Pairs reads a list of names and values as one object; Value (the default) takes the value as it is.
    #[serde(
        rename = "as",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["Value", "Pairs"]))]
    #[serde_with(skip_apply)]
    pub form: String,

    /// The JSON schema.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "schemas::any_object")]
    pub schema: Value,

    /// Path of the value in the object.
    pub field_path: String,

    /// How to fix a violation.
    pub suggestion: String,
}

/// What is added to an object.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["patchType"]))]
pub struct Mutation {
    /// JSONPatch or ApplyConfiguration.
    #[schemars(extend("enum" = ["JSONPatch", "ApplyConfiguration"]))]
    pub patch_type: String,

    /// The operations, for JSONPatch.
    pub json_patch: Option<Patched>,

    /// The fields, for ApplyConfiguration.
    pub apply_configuration: Option<Patched>,

    /// Whether fields that the author of the object wrote may change. Without it only absent fields are added.
    #[serde(
        deserialize_with = "null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub allow_overwrite: bool,
}

/// An expression that returns a patch.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Patched {
    /// CEL expression that evaluates to a list of JSONPatch objects, or to an Object.
    pub expression: String,
}

/// What is recorded with a request.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["key", "valueExpression"]))]
pub struct AuditAnnotation {
    /// Key of the annotation.
    #[schemars(length(min = 1))]
    pub key: String,

    /// CEL expression that evaluates to a string, or to null for no annotation.
    #[schemars(length(min = 1))]
    pub value_expression: String,
}

/// Objects that are exempt from the policy, each until a date.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["reason"]))]
pub struct PolicyException {
    /// Names of the objects; a star matches any characters. Every name when empty.
    pub names: Vec<String>,

    /// Namespaces of the objects; a star matches any characters. Every namespace when empty.
    pub namespaces: Vec<String>,

    /// The validations that are skipped, by id; all of them when empty.
    pub validations: Vec<String>,

    /// The last day (2027-01-31) or the end (2027-01-31T12:00:00Z); no end when absent.
    pub until: String,

    /// Reason for the exception.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// Status of the policy.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AddOnPolicyStatus {
    /// The metadata.generation that this status describes.
    pub observed_generation: Option<i64>,

    /// Compiled: this generation compiles. Ready: it is enforced.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// The generation that is enforced; an older one if the newest does not compile, absent if none is enforced.
    pub active_generation: Option<i64>,

    /// What happens when an expression is false, defaults included: Deny, Warn, Audit, or two of them.
    pub actions: String,
}
