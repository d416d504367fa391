//! Bindings of admission policies.
//!
//! Decides faults of their form, in Kubernetes' words, its misspelt path included.

use std::collections::BTreeSet;

use ::schema::FieldError;
use serde_json::Value;

use super::policy::validate_resources;
use crate::builtin::faults::{
    duplicate, forbidden, invalid, invalid_value, list, required, text, unsupported,
};
use crate::builtin::names::NameRule;
use kubernetes::names::{Unit, dns1123_subdomain_faults};

const EXCLUSIVE: &str = "name and selector are mutually exclusive";
const ACTIONS: &[&str] = &["Audit", "Deny", "Warn"];

pub(super) fn validate(binding: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match text(binding, "/spec/policyName") {
        "" => errors.push(required("spec.policyName", "")),
        name => {
            let faults = dns1123_subdomain_faults(name, Unit::Characters);
            errors.extend(faults.iter().map(|fault| invalid("spec.policyName", name, fault)));
        }
    }
    let part = |name: &str| {
        let found = binding.pointer(&format!("/spec/{name}"));
        found.filter(|found| found.is_object())
    };
    if let Some(reference) = part("paramRef") {
        validate_reference(reference, &mut errors);
    }
    if let Some(resources) = part("matchResources") {
        errors.extend(validate_resources("spec.matchResouces", resources));
    }
    validate_actions(list(binding, "/spec/validationActions"), &mut errors);
    errors
}

fn validate_reference(reference: &Value, errors: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.paramRef";
    let name = text(reference, "/name");
    let selector = reference.get("selector").filter(|selector| !selector.is_null());
    if !name.is_empty() {
        let faults = NameRule::PathSegment.faults(name);
        let at = format!("{FIELD}.name");
        errors.extend(faults.iter().map(|fault| invalid(&at, name, fault)));
        if selector.is_some() {
            errors.push(forbidden(&at, EXCLUSIVE));
        }
    }
    if let Some(selector) = selector {
        let at = format!("{FIELD}.selector");
        errors.extend(super::validate_selector(&at, selector));
        if !name.is_empty() {
            errors.push(forbidden(&at, EXCLUSIVE));
        }
    }
    if name.is_empty() && selector.is_none() {
        errors.push(required(FIELD, "one of name or selector must be specified"));
    }
    let at = format!("{FIELD}.parameterNotFoundAction");
    match text(reference, "/parameterNotFoundAction") {
        "" => errors.push(required(&at, "")),
        "Allow" | "Deny" => {}
        other => errors.push(unsupported(&at, other, &["Deny", "Allow"])),
    }
}

fn validate_actions(actions: &[Value], errors: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.validationActions";
    let mut seen = BTreeSet::new();
    for (index, action) in actions.iter().filter_map(Value::as_str).enumerate() {
        let at = format!("{FIELD}[{index}]");
        if !ACTIONS.contains(&action) {
            errors.push(unsupported(&at, action, ACTIONS));
        }
        if !seen.insert(action) {
            errors.push(duplicate(&at, action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let all = Value::Array(actions.to_vec());
        let cause = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(invalid_value(FIELD, &all, cause));
    }
    if seen.is_empty() {
        errors.push(required(FIELD, "at least one validation action is required"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(change: &Value) -> Vec<String> {
        let mut spec = json!({"policyName": "p", "validationActions": ["Deny"]});
        crate::patch::merge::apply(&mut spec, change);
        let errors = validate(&json!({ "spec": spec }));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn bindings_are_refused_in_kubernetes_words() {
        let rows = [
            (json!({}), vec![]),
            (json!({"policyName": ""}), vec!["spec.policyName: Required value"]),
            (
                json!({"validationActions": []}),
                vec!["spec.validationActions: Required value: at least one validation action is required"],
            ),
            (
                json!({"validationActions": ["Deny", "Warn", "Deny", "Nope"]}),
                vec![
                    "spec.validationActions[2]: Duplicate value: \"Deny\"",
                    "spec.validationActions[3]: Unsupported value: \"Nope\": supported values: \"Audit\", \"Deny\", \"Warn\"",
                    "spec.validationActions: Invalid value: [\"Deny\",\"Warn\",\"Deny\",\"Nope\"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
                ],
            ),
            (
                json!({"paramRef": {}}),
                vec![
                    "spec.paramRef: Required value: one of name or selector must be specified",
                    "spec.paramRef.parameterNotFoundAction: Required value",
                ],
            ),
            (
                json!({"paramRef": {"name": "a/b", "selector": {}, "parameterNotFoundAction": "Maybe"}}),
                vec![
                    "spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'",
                    "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                    "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
                    "spec.paramRef.parameterNotFoundAction: Unsupported value: \"Maybe\": supported values: \"Deny\", \"Allow\"",
                ],
            ),
        ];
        for (change, expected) in rows {
            assert_eq!(faults(&change), expected, "{change}");
        }
    }
}
