//! Policies and bindings as they are written.
//!
//! Decides what an absent field means; which writes they mean is decided by the engine.

use cel_engine::admission_policy::{FailurePolicy, MatchResources};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PolicySpec {
    pub(super) failure_policy: Option<FailurePolicy>,
    pub(super) param_kind: Option<ParamKind>,
    pub(super) match_constraints: Option<MatchResources>,
    #[serde(default)]
    pub(super) match_conditions: Vec<Condition>,
    #[serde(default)]
    pub(super) variables: Vec<Variable>,
    #[serde(default)]
    pub(super) validations: Vec<Validation>,
    #[serde(default)]
    pub(super) audit_annotations: Vec<AuditAnnotation>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ParamKind {
    pub(super) api_version: String,
    pub(super) kind: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Condition {
    pub(super) expression: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) expression: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Validation {
    pub(super) expression: String,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) message_expression: String,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditAnnotation {
    pub(super) key: String,
    pub(super) value_expression: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BindingSpec {
    pub(super) policy_name: String,
    pub(super) param_ref: Option<ParamRef>,
    pub(super) match_resources: Option<MatchResources>,
    #[serde(default)]
    pub(super) validation_actions: Vec<Action>,
}

/// What a binding does when its policy says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Action {
    Deny,
    Warn,
    Audit,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ParamRef {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    pub(super) selector: Option<Value>,
    pub(super) parameter_not_found_action: Option<NotFound>,
}

/// What it means that there is no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum NotFound {
    Allow,
    Deny,
}
