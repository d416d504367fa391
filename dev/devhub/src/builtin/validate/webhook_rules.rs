//! Validation of webhook rules: operations, groups, versions and resources. `admission` matches requests.

use std::collections::BTreeSet;

use ::schema::FieldError;
use serde_json::Value;

use crate::builtin::faults::{invalid, invalid_value, list, required, unsupported};

const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: &[&str] = &["*", "Cluster", "Namespaced"];

pub(super) fn validate(field: &str, rule: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (member, others) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    ] {
        let values = list(rule, &format!("/{member}"));
        errors.extend(validate_wildcard(&format!("{field}.{member}"), values, others));
    }
    for (index, operation) in list(rule, "/operations")
        .iter()
        .filter_map(Value::as_str)
        .enumerate()
    {
        if !OPERATIONS.contains(&operation) {
            errors.push(unsupported(
                &format!("{field}.operations[{index}]"),
                operation,
                OPERATIONS,
            ));
        }
    }
    for (index, _) in list(rule, "/apiVersions")
        .iter()
        .enumerate()
        .filter(|(_, version)| *version == "")
    {
        errors.push(required(&format!("{field}.apiVersions[{index}]"), ""));
    }
    errors.extend(validate_resources(
        &format!("{field}.resources"),
        list(rule, "/resources"),
    ));
    let scope = rule.get("scope").and_then(Value::as_str);
    if let Some(scope) = scope.filter(|scope| !SCOPES.contains(scope)) {
        errors.push(unsupported(&format!("{field}.scope"), scope, SCOPES));
    }
    errors
}

fn validate_wildcard(field: &str, values: &[Value], others: &str) -> Option<FieldError> {
    if values.is_empty() {
        return Some(required(field, ""));
    }
    let mixed = values.len() > 1 && values.iter().any(|value| value == "*");
    mixed.then(|| {
        invalid_value(
            field,
            &Value::Array(values.to_vec()),
            &format!("if '*' is present, must not specify other {others}"),
        )
    })
}

fn validate_resources(field: &str, resources: &[Value]) -> Vec<FieldError> {
    if resources.is_empty() {
        return vec![required(field, "")];
    }
    let mut errors = Vec::new();
    let (mut whole, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let mut plain = false;
    for (index, name) in resources.iter().filter_map(Value::as_str).enumerate() {
        let at = format!("{field}[{index}]");
        let Some((resource, subresource)) = name.split_once('/') else {
            match name {
                "" => errors.push(required(&at, "")),
                "*" => {}
                _ => plain = true,
            }
            continue;
        };
        if whole.contains(resource) {
            errors.push(invalid(
                &at,
                name,
                &format!("if '{resource}/*' is present, must not specify {name}"),
            ));
        }
        if everywhere.contains(subresource) {
            errors.push(invalid(
                &at,
                name,
                &format!("if '*/{subresource}' is present, must not specify {name}"),
            ));
        }
        if subresource == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(subresource);
        }
    }
    let has = |wanted: &str| resources.iter().any(|resource| resource == wanted);
    let all = Value::Array(resources.to_vec());
    if resources.len() > 1 && has("*/*") {
        errors.push(invalid_value(
            field,
            &all,
            "if '*/*' is present, must not specify other resources",
        ));
    }
    if has("*") && plain {
        errors.push(invalid_value(
            field,
            &all,
            "if '*' is present, must not specify other resources without subresources",
        ));
    }
    errors
}
