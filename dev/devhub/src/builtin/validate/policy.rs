//! Admission policies.
//!
//! Decides faults of their form, in Kubernetes' words. Whether expressions compile is checked where they are evaluated.

use std::collections::BTreeSet;

use ::schema::FieldError;
use serde_json::Value;

use super::webhook::validate_conditions;
use super::webhook_rules;
use crate::builtin::faults::{duplicate, invalid, invalid_value, list, required, text, unsupported};
use crate::builtin::names::NameRule;
use kubernetes::names::{
    DNS1035_LABEL, Named, Unit, dns1035_label_faults, dns1123_subdomain_faults, qualified_name_faults,
};

const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];
/// Most audit annotations of a policy.
const MOST_ANNOTATIONS: usize = 20;
/// Bytes that an expression of an audit annotation may have.
const LONGEST_ANNOTATION: usize = 5 * 1024;
/// Words that no variable may be called.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

pub(super) fn validate(policy: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match text(policy, "/spec/failurePolicy") {
        "" => errors.push(required("spec.failurePolicy", "")),
        "Fail" | "Ignore" => {}
        other => errors.push(unsupported("spec.failurePolicy", other, &["Fail", "Ignore"])),
    }
    if let Some(kind) = policy.pointer("/spec/paramKind").filter(|kind| kind.is_object()) {
        validate_param_kind(kind, &mut errors);
    }
    match policy
        .pointer("/spec/matchConstraints")
        .filter(|found| found.is_object())
    {
        None => errors.push(required("spec.matchConstraints", "")),
        Some(constraints) => {
            errors.extend(validate_resources("spec.matchConstraints", constraints));
            if list(constraints, "/resourceRules").is_empty() {
                errors.push(required("spec.matchConstraints.resourceRules", ""));
            }
        }
    }
    let conditions = list(policy, "/spec/matchConditions");
    errors.extend(validate_conditions("spec.matchConditions", conditions));
    for (index, variable) in list(policy, "/spec/variables").iter().enumerate() {
        validate_variable(&format!("spec.variables[{index}]"), variable, &mut errors);
    }
    validate_content(policy, &mut errors);
    errors
}

fn validate_param_kind(kind: &Value, errors: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.paramKind.apiVersion";
    let version = text(kind, "/apiVersion");
    let parts: Vec<&str> = version.split('/').collect();
    match parts.as_slice() {
        [""] => errors.push(required(FIELD, "")),
        [version] => validate_label(FIELD, version, "", errors),
        [group, number] => {
            let faults = dns1123_subdomain_faults(group, Unit::Characters);
            if !group.is_empty() && !faults.is_empty() {
                errors.push(invalid(FIELD, group, &faults.join(",")));
            }
            if number.is_empty() {
                errors.push(invalid(FIELD, version, "version must be specified"));
            } else {
                validate_label(FIELD, number, "", errors);
            }
        }
        _ => {
            let cause = format!("unexpected GroupVersion string: {version}");
            errors.push(invalid(FIELD, version, &cause));
        }
    }
    match text(kind, "/kind") {
        "" => errors.push(required("spec.paramKind.kind", "")),
        name => validate_label(
            "spec.paramKind.kind",
            name,
            "may have mixed case, but should otherwise match: ",
            errors,
        ),
    }
}

fn validate_label(field: &str, name: &str, prefix: &str, errors: &mut Vec<FieldError>) {
    let checked = if prefix.is_empty() {
        name.to_owned()
    } else {
        name.to_lowercase()
    };
    // Only the characters: the length is checked elsewhere.
    if dns1035_label_faults(&checked, Unit::Bytes)
        .iter()
        .any(|fault| fault == DNS1035_LABEL)
    {
        errors.push(invalid(field, name, &format!("{prefix}{DNS1035_LABEL}")));
    }
}

/// Returns the faults of the writes that a policy or a binding means.
pub(super) fn validate_resources(field: &str, resources: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match text(resources, "/matchPolicy") {
        "" => errors.push(required(&format!("{field}.matchPolicy"), "")),
        "Equivalent" | "Exact" => {}
        other => errors.push(unsupported(
            &format!("{field}.matchPolicy"),
            other,
            &["Equivalent", "Exact"],
        )),
    }
    for member in ["namespaceSelector", "objectSelector"] {
        let at = format!("{field}.{member}");
        match resources.get(member).filter(|selector| !selector.is_null()) {
            None => errors.push(required(&at, "")),
            Some(selector) => errors.extend(super::validate_selector(&at, selector)),
        }
    }
    for member in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(resources, &format!("/{member}")).iter().enumerate() {
            let at = format!("{field}.{member}[{index}]");
            validate_names(
                &format!("{at}.resourceNames"),
                list(rule, "/resourceNames"),
                &mut errors,
            );
            errors.extend(webhook_rules::validate(&at, rule));
        }
    }
    errors
}

fn validate_names(field: &str, names: &[Value], errors: &mut Vec<FieldError>) {
    let mut seen = BTreeSet::new();
    for (index, name) in names.iter().filter_map(Value::as_str).enumerate() {
        let at = format!("{field}[{index}]");
        let faults = NameRule::PathSegment.faults(name);
        errors.extend(faults.iter().map(|fault| invalid(&at, name, fault)));
        if !seen.insert(name) {
            errors.push(duplicate(&at, name));
        }
    }
}

fn validate_variable(field: &str, variable: &Value, errors: &mut Vec<FieldError>) {
    let name = text(variable, "/name");
    if name.trim().is_empty() {
        errors.push(required(&format!("{field}.name"), "name is not specified"));
    } else if !is_identifier(name) {
        let cause = "name is not a valid CEL identifier";
        errors.push(invalid(&format!("{field}.name"), name, cause));
    }
    if text(variable, "/expression").trim().is_empty() {
        errors.push(required(
            &format!("{field}.expression"),
            "expression is not specified",
        ));
    }
}

fn is_identifier(name: &str) -> bool {
    let is_letter = |letter: char| letter == '_' || letter.is_ascii_alphabetic();
    name.starts_with(is_letter)
        && name
            .chars()
            .all(|letter| is_letter(letter) || letter.is_ascii_digit())
        && !RESERVED.contains(&name)
}

fn validate_content(policy: &Value, errors: &mut Vec<FieldError>) {
    let validations = list(policy, "/spec/validations");
    let annotations = list(policy, "/spec/auditAnnotations");
    if validations.is_empty() && annotations.is_empty() {
        let cause = "validations or auditAnnotations must contain at least one item";
        errors.push(required("spec.validations", cause));
        errors.push(required("spec.auditAnnotations", cause));
        return;
    }
    for (index, validation) in validations.iter().enumerate() {
        validate_validation(&format!("spec.validations[{index}]"), validation, errors);
    }
    if annotations.len() > MOST_ANNOTATIONS {
        let all = Value::Array(annotations.to_vec());
        let cause = format!("must not have more than {MOST_ANNOTATIONS} auditAnnotations");
        errors.push(invalid_value("spec.auditAnnotations", &all, &cause));
    }
    let mut keys = BTreeSet::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let field = format!("spec.auditAnnotations[{index}]");
        validate_annotation(&field, text(policy, "/metadata/name"), annotation, errors);
        let key = text(annotation, "/key");
        if !keys.insert(key) {
            errors.push(duplicate(&format!("{field}.key"), key));
        }
    }
}

fn validate_validation(field: &str, validation: &Value, errors: &mut Vec<FieldError>) {
    if text(validation, "/expression").trim().is_empty() {
        errors.push(required(
            &format!("{field}.expression"),
            "expression is not specified",
        ));
    }
    let message = text(validation, "/messageExpression");
    if !message.is_empty() && message.trim().is_empty() {
        let at = format!("{field}.messageExpression");
        errors.push(invalid(&at, message, "must be non-empty if specified"));
    }
    let message = text(validation, "/message");
    if !message.is_empty() && message.trim().is_empty() {
        let at = format!("{field}.message");
        errors.push(invalid(&at, message, "message must be non-empty if specified"));
    } else if message.trim().contains(['\n', '\r']) {
        let at = format!("{field}.message");
        errors.push(invalid(&at, message, "message must not contain line breaks"));
    }
    let reason = validation.get("reason").and_then(Value::as_str);
    if let Some(reason) = reason.filter(|reason| !REASONS.contains(reason)) {
        errors.push(unsupported(&format!("{field}.reason"), reason, REASONS));
    }
}

fn validate_annotation(field: &str, policy: &str, annotation: &Value, errors: &mut Vec<FieldError>) {
    let key = text(annotation, "/key");
    let at = format!("{field}.key");
    if policy.is_empty() {
        errors.push(invalid(&at, key, "requires metadata.name be non-empty"));
    } else {
        let whole = format!("{policy}/{key}");
        let faults = qualified_name_faults(&whole, Named::QualifiedName);
        errors.extend(faults.iter().map(|fault| invalid(&at, &whole, fault)));
    }
    let expression = text(annotation, "/valueExpression").trim();
    let at = format!("{field}.valueExpression");
    if expression.is_empty() {
        errors.push(required(&at, "valueExpression is not specified"));
    } else if expression.len() > LONGEST_ANNOTATION {
        let cause = format!("must not exceed {LONGEST_ANNOTATION} bytes in length");
        errors.push(required(&at, &cause));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Validates one good policy with `change` merged into its spec.
    fn faults(change: &Value) -> Vec<String> {
        let rule = json!({"operations": ["CREATE"], "apiGroups": ["g"], "apiVersions": ["*"], "resources": ["widgets"]});
        let mut spec = json!({"failurePolicy": "Fail", "validations": [{"expression": "true"}],
            "matchConstraints": {"matchPolicy": "Exact", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [rule]}});
        crate::patch::merge::apply(&mut spec, change);
        let errors = validate(&json!({"metadata": {"name": "p"}, "spec": spec}));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn policies_are_refused_in_kubernetes_words() {
        let rows = [
            (json!({}), vec![]),
            (
                json!({"failurePolicy": "Maybe"}),
                vec![
                    "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
                ],
            ),
            (
                json!({"matchConstraints": null}),
                vec!["spec.matchConstraints: Required value"],
            ),
            (
                json!({"matchConstraints": {"resourceRules": [], "matchPolicy": "X", "objectSelector": null}}),
                vec![
                    "spec.matchConstraints.matchPolicy: Unsupported value: \"X\": supported values: \"Equivalent\", \"Exact\"",
                    "spec.matchConstraints.objectSelector: Required value",
                    "spec.matchConstraints.resourceRules: Required value",
                ],
            ),
            (
                json!({"validations": []}),
                vec![
                    "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                    "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
                ],
            ),
        ];
        for (change, expected) in rows {
            assert_eq!(faults(&change), expected, "{change}");
        }
    }

    #[test]
    fn lists_of_a_policy_are_refused_in_kubernetes_words() {
        let rows = [
            (
                json!({"validations": [{"expression": " ", "message": " ", "messageExpression": " ", "reason": "NotFound"}]}),
                vec![
                    "spec.validations[0].expression: Required value: expression is not specified",
                    "spec.validations[0].messageExpression: Invalid value: \" \": must be non-empty if specified",
                    "spec.validations[0].message: Invalid value: \" \": message must be non-empty if specified",
                    "spec.validations[0].reason: Unsupported value: \"NotFound\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"",
                ],
            ),
            (
                json!({"paramKind": {"apiVersion": "a/b/c", "kind": ""}}),
                vec![
                    "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
                    "spec.paramKind.kind: Required value",
                ],
            ),
            (
                json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}),
                vec![],
            ),
            (
                json!({"variables": [{"name": "in", "expression": "1"}, {"name": "", "expression": ""}]}),
                vec![
                    "spec.variables[0].name: Invalid value: \"in\": name is not a valid CEL identifier",
                    "spec.variables[1].name: Required value: name is not specified",
                    "spec.variables[1].expression: Required value: expression is not specified",
                ],
            ),
            (
                json!({"auditAnnotations": [{"key": "k", "valueExpression": "'x'"}, {"key": "k"}]}),
                vec![
                    "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                    "spec.auditAnnotations[1].key: Duplicate value: \"k\"",
                ],
            ),
        ];
        for (change, expected) in rows {
            assert_eq!(faults(&change), expected, "{change}");
        }
    }
}
