//! Roles and bindings.
//!
//! Decides faults of their form.

use ::schema::FieldError;
use serde_json::Value;

use crate::builtin::faults::{invalid, invalid_value, list, required, text, unsupported};
use crate::builtin::names::NameRule;
use kubernetes::print::quote;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn validate_role(role: &Value) -> Vec<FieldError> {
    validate_rules(role, true)
}

pub(super) fn validate_cluster_role(role: &Value) -> Vec<FieldError> {
    let mut errors = validate_rules(role, false);
    if role.get("aggregationRule").is_some() && list(role, "/aggregationRule/clusterRoleSelectors").is_empty()
    {
        errors.push(required(
            "aggregationRule.clusterRoleSelectors",
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        ));
    }
    for (index, selector) in list(role, "/aggregationRule/clusterRoleSelectors")
        .iter()
        .enumerate()
    {
        errors.extend(super::validate_selector(
            &format!("aggregationRule.clusterRoleSelectors[{index}]"),
            selector,
        ));
    }
    errors
}

fn validate_rules(role: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in list(role, "/rules").iter().enumerate() {
        let field = |member: &str| format!("rules[{index}].{member}");
        let empty = |member: &str| list(rule, &format!("/{member}")).is_empty();
        if empty("verbs") {
            errors.push(required(&field("verbs"), "verbs must contain at least one value"));
        }
        if !empty("nonResourceURLs") {
            let urls = rule.get("nonResourceURLs").cloned().unwrap_or_default();
            if namespaced {
                errors.push(invalid_value(
                    &field("nonResourceURLs"),
                    &urls,
                    "namespaced rules cannot apply to non-resource URLs",
                ));
            }
            if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(invalid_value(&field("nonResourceURLs"), &urls, detail));
            }
            continue;
        }
        if empty("apiGroups") {
            errors.push(required(
                &field("apiGroups"),
                "resource rules must supply at least one api group",
            ));
        }
        if empty("resources") {
            errors.push(required(
                &field("resources"),
                "resource rules must supply at least one resource",
            ));
        }
    }
    errors
}

pub(super) fn validate_role_binding(binding: &Value) -> Vec<FieldError> {
    validate_binding(binding, &["ClusterRole", "Role"], true)
}

pub(super) fn validate_cluster_role_binding(binding: &Value) -> Vec<FieldError> {
    validate_binding(binding, &["ClusterRole"], false)
}

fn validate_binding(binding: &Value, kinds: &[&str], namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (group, kind, name) = (
        text(binding, "/roleRef/apiGroup"),
        text(binding, "/roleRef/kind"),
        text(binding, "/roleRef/name"),
    );
    if group != GROUP {
        errors.push(unsupported("roleRef.apiGroup", group, &[GROUP]));
    }
    if !kinds.contains(&kind) {
        errors.push(unsupported("roleRef.kind", kind, kinds));
    }
    if name.is_empty() {
        errors.push(required("roleRef.name", ""));
    } else {
        errors.extend(
            NameRule::PathSegment
                .faults(name)
                .iter()
                .map(|fault| invalid("roleRef.name", name, fault)),
        );
    }
    for (index, subject) in list(binding, "/subjects").iter().enumerate() {
        errors.extend(validate_subject(
            &format!("subjects[{index}]"),
            subject,
            namespaced,
        ));
    }
    errors
}

fn validate_subject(field: &str, subject: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, group) = (text(subject, "/name"), text(subject, "/apiGroup"));
    if name.is_empty() {
        errors.push(required(&format!("{field}.name"), ""));
    }
    match text(subject, "/kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let faults = NameRule::Subdomain.faults(name);
                errors.extend(
                    faults
                        .iter()
                        .map(|fault| invalid(&format!("{field}.name"), name, fault)),
                );
            }
            if !group.is_empty() {
                errors.push(unsupported(&format!("{field}.apiGroup"), group, &[""]));
            }
            if !namespaced && text(subject, "/namespace").is_empty() {
                errors.push(required(&format!("{field}.namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(unsupported(&format!("{field}.apiGroup"), group, &[GROUP]));
            }
        }
        other => errors.push(unsupported(
            &format!("{field}.kind"),
            other,
            &["Group", "ServiceAccount", "User"],
        )),
    }
    errors
}

pub(super) fn validate_binding_update(new: &Value, old: &Value) -> Vec<FieldError> {
    if new.get("roleRef") == old.get("roleRef") {
        return Vec::new();
    }
    let at = |member: &str| quote(text(new, &format!("/roleRef/{member}")));
    let mut error = invalid("roleRef", "", "");
    error.message = format!(
        "Invalid value: {{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}: cannot change roleRef",
        at("apiGroup"),
        at("kind"),
        at("name")
    );
    vec![error]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_need_verbs_and_something_to_apply_to() {
        for (rule, expected) in [
            (
                json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}),
                vec![],
            ),
            (
                json!({"apiGroups": [""], "resources": ["pods"]}),
                vec!["rules[0].verbs: Required value: verbs must contain at least one value"],
            ),
            (
                json!({"verbs": ["get"]}),
                vec![
                    "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                    "rules[0].resources: Required value: resource rules must supply at least one resource",
                ],
            ),
            (
                json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}),
                vec![
                    "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
                ],
            ),
        ] {
            assert_eq!(texts(&validate_role(&json!({"rules": [rule]}))), expected);
        }
    }

    #[test]
    fn bindings_need_a_role_and_known_subjects() {
        let role = json!({"apiGroup": GROUP, "kind": "Role", "name": "r"});
        assert_eq!(
            texts(&validate_cluster_role_binding(
                &json!({"roleRef": role, "subjects": [{"kind": "ServiceAccount", "name": "s"}, {"kind": "X", "name": "y"}]})
            )),
            [
                "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
                "subjects[0].namespace: Required value",
                "subjects[1].kind: Unsupported value: \"X\": supported values: \"Group\", \"ServiceAccount\", \"User\"",
            ]
        );
        let other = json!({"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "s"}});
        assert_eq!(
            texts(&validate_binding_update(&other, &json!({"roleRef": role}))),
            [format!(
                "roleRef: Invalid value: {{\"APIGroup\":\"{GROUP}\",\"Kind\":\"Role\",\"Name\":\"s\"}}: cannot change roleRef"
            )]
        );
    }
}
