//! Policies and bindings as they are written.
//!
//! Decides what an absent field means, and which writes the resource rules of either mean.

use serde::Deserialize;
use serde_json::Value;

use crate::admission::attributes::Attributes;
use crate::admission::configuration::{FailurePolicy, MatchPolicy, Rule};
use crate::admission::matching::{self, Invocation};
use apimachinery::labels::Selector;

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

/// Which writes are meant.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MatchResources {
    match_policy: Option<MatchPolicy>,
    namespace_selector: Selector,
    object_selector: Selector,
    resource_rules: Vec<NamedRule>,
    exclude_resource_rules: Vec<NamedRule>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedRule {
    #[serde(default)]
    resource_names: Vec<String>,
    #[serde(flatten)]
    rule: Rule,
}

impl MatchResources {
    /// Returns the version in which a write is meant, or nothing. Where there is no rule every write is meant.
    pub(super) fn matched(&self, request: &Attributes, object: Option<&Value>) -> Option<Invocation> {
        if !matching::namespace_selected(&self.namespace_selector, request, object)
            || !matching::object_selected(&self.object_selector, request, object)
            || self.version(&self.exclude_resource_rules, request).is_some()
        {
            return None;
        }
        if self.resource_rules.is_empty() {
            return Some(Invocation {
                version: request.version.clone(),
                kind: request.kind.clone(),
            });
        }
        self.version(&self.resource_rules, request)
    }

    fn version(&self, rules: &[NamedRule], request: &Attributes) -> Option<Invocation> {
        let policy = self.match_policy.unwrap_or(MatchPolicy::Equivalent);
        let named = rules
            .iter()
            .filter(|rule| rule.resource_names.is_empty() || rule.resource_names.contains(&request.name))
            .map(|rule| &rule.rule);
        matching::matching_version(named, policy, request)
    }
}
