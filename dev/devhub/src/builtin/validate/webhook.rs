//! Webhook configurations.
//!
//! Decides faults of their form. Whether match conditions compile is checked where they are evaluated.

use std::collections::BTreeSet;

use ::schema::FieldError;
use serde_json::Value;

use super::webhook_rules;
use crate::builtin::faults::{duplicate, invalid, invalid_value, list, required, text, unsupported};
use kubernetes::names::{Named, Unit, dns1123_subdomain_faults, qualified_name_faults};

const DESIRED: &str = "desired format: https://host[/path]";

pub(super) fn validate(configuration: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, hook) in list(configuration, "/webhooks").iter().enumerate() {
        let field = format!("webhooks[{index}]");
        let name = text(hook, "/name");
        errors.extend(validate_name(&format!("{field}.name"), name));
        if !name.is_empty() && !names.insert(name) {
            errors.push(duplicate(&format!("{field}.name"), name));
        }
        errors.extend(validate_hook(&field, hook));
    }
    errors
}

fn validate_name(field: &str, name: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![required(field, "")];
    }
    let faults = dns1123_subdomain_faults(name, Unit::Characters);
    if !faults.is_empty() {
        return vec![invalid(field, name, &faults.join(","))];
    }
    if name.split('.').count() < 3 {
        return vec![invalid(
            field,
            name,
            "should be a domain with at least three segments separated by dots",
        )];
    }
    Vec::new()
}

fn validate_hook(field: &str, hook: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in list(hook, "/rules").iter().enumerate() {
        errors.extend(webhook_rules::validate(&format!("{field}.rules[{index}]"), rule));
    }
    for (member, supported) in [
        ("failurePolicy", &["Fail", "Ignore"][..]),
        ("matchPolicy", &["Equivalent", "Exact"]),
        ("reinvocationPolicy", &["IfNeeded", "Never"]),
        ("sideEffects", &["None", "NoneOnDryRun"]),
    ] {
        let value = hook.get(member).and_then(Value::as_str);
        if let Some(value) = value.filter(|value| !supported.contains(value)) {
            errors.push(unsupported(&format!("{field}.{member}"), value, supported));
        }
    }
    if hook.get("sideEffects").is_none_or(Value::is_null) {
        errors.push(required(
            &format!("{field}.sideEffects"),
            "must specify one of None, NoneOnDryRun",
        ));
    }
    errors.extend(validate_versions(
        &format!("{field}.admissionReviewVersions"),
        list(hook, "/admissionReviewVersions"),
    ));
    if let Some(seconds) = hook
        .get("timeoutSeconds")
        .and_then(Value::as_i64)
        .filter(|seconds| !(1..=30).contains(seconds))
    {
        errors.push(invalid_value(
            &format!("{field}.timeoutSeconds"),
            &seconds.into(),
            "the timeout value must be between 1 and 30 seconds",
        ));
    }
    for member in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = hook.get(member) {
            errors.extend(super::validate_selector(&format!("{field}.{member}"), selector));
        }
    }
    errors.extend(validate_client(
        &format!("{field}.clientConfig"),
        hook.get("clientConfig").unwrap_or(&Value::Null),
    ));
    errors.extend(validate_conditions(
        &format!("{field}.matchConditions"),
        list(hook, "/matchConditions"),
    ));
    errors
}

fn validate_versions(field: &str, versions: &[Value]) -> Vec<FieldError> {
    if versions.is_empty() {
        return vec![required(field, "must specify one of v1, v1beta1")];
    }
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().filter_map(Value::as_str).enumerate() {
        if !seen.insert(version) {
            errors.push(invalid(
                &format!("{field}[{index}]"),
                version,
                "duplicate version",
            ));
        }
    }
    if errors.is_empty() && !seen.contains("v1") && !seen.contains("v1beta1") {
        let all = Value::Array(versions.to_vec());
        errors.push(invalid_value(
            field,
            &all,
            "must include at least one of v1, v1beta1",
        ));
    }
    errors
}

fn validate_client(field: &str, client: &Value) -> Vec<FieldError> {
    match (client.get("url").and_then(Value::as_str), client.get("service")) {
        (Some(url), None) => validate_url(&format!("{field}.url"), url),
        (None, Some(service)) => validate_service(&format!("{field}.service"), service),
        (Some(_), Some(_)) | (None, None) => {
            vec![required(field, "exactly one of url or service is required")]
        }
    }
}

pub(crate) fn validate_url(field: &str, url: &str) -> Vec<FieldError> {
    let (before, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (before, query) = before.split_once('?').unwrap_or((before, ""));
    let (scheme, rest) = before.split_once("://").unwrap_or(("", before));
    let authority = if scheme.is_empty() {
        ""
    } else {
        rest.split('/').next().unwrap_or_default()
    };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut errors = Vec::new();
    if scheme != "https" {
        errors.push(invalid(
            field,
            scheme,
            &format!("'https' is the only allowed URL scheme; {DESIRED}"),
        ));
    }
    if host.is_empty() {
        errors.push(invalid(
            field,
            host,
            &format!("host must be specified; {DESIRED}"),
        ));
    }
    for (value, detail) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !value.is_empty() {
            errors.push(invalid(field, value, detail));
        }
    }
    errors
}

pub(crate) fn validate_service(field: &str, service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (member, detail) in [
        ("name", "service name is required"),
        ("namespace", "service namespace is required"),
    ] {
        if text(service, &format!("/{member}")).is_empty() {
            errors.push(required(&format!("{field}.{member}"), detail));
        }
    }
    if let Some(path) = service
        .get("path")
        .and_then(Value::as_str)
        .filter(|path| !path.starts_with('/'))
    {
        errors.push(invalid(&format!("{field}.path"), path, "must start with a '/'"));
    }
    if let Some(port) = service
        .get("port")
        .and_then(Value::as_i64)
        .filter(|port| !(1..=65_535).contains(port))
    {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(invalid_value(&format!("{field}.port"), &port.into(), detail));
    }
    errors
}

pub(super) fn validate_conditions(field: &str, conditions: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let name = text(condition, "/name");
        let at = format!("{field}[{index}].name");
        if name.is_empty() {
            errors.push(required(&at, ""));
        } else {
            errors.extend(
                qualified_name_faults(name, Named::QualifiedName)
                    .iter()
                    .map(|fault| invalid(&at, name, fault)),
            );
        }
        if !name.is_empty() && !names.insert(name) {
            errors.push(duplicate(&at, name));
        }
        if text(condition, "/expression").trim().is_empty() {
            errors.push(required(&format!("{field}[{index}].expression"), ""));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Validates one good webhook with `change` merged into it.
    fn faults(change: &Value) -> Vec<String> {
        let mut hook = json!({"name": "x.golden.example.io", "clientConfig": {"url": "https://h/v"}, "sideEffects": "None",
            "rules": [{"operations": ["CREATE"], "apiGroups": ["g"], "apiVersions": ["*"], "resources": ["widgets"], "scope": "*"}],
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 10, "failurePolicy": "Fail", "matchPolicy": "Equivalent"});
        crate::patch::merge::apply(&mut hook, change);
        validate(&json!({"webhooks": [hook]}))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn hooks_are_refused_as_recorded() {
        for (change, expected) in [
            (json!({}), vec![]),
            (
                json!({"name": "short"}),
                vec![
                    "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
                ],
            ),
            (
                json!({"sideEffects": "Some"}),
                vec![
                    "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
                ],
            ),
            (
                json!({"sideEffects": null}),
                vec!["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"],
            ),
            (
                json!({"admissionReviewVersions": []}),
                vec!["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
            ),
            (
                json!({"admissionReviewVersions": ["v9"]}),
                vec![
                    "webhooks[0].admissionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
                ],
            ),
            (json!({"admissionReviewVersions": ["v9", "v1"]}), vec![]),
            (
                json!({"timeoutSeconds": 31}),
                vec![
                    "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
                ],
            ),
            (
                json!({"failurePolicy": "Maybe"}),
                vec![
                    "webhooks[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
                ],
            ),
            (
                json!({"matchPolicy": "Bogus"}),
                vec![
                    "webhooks[0].matchPolicy: Unsupported value: \"Bogus\": supported values: \"Equivalent\", \"Exact\"",
                ],
            ),
        ] {
            assert_eq!(faults(&change), expected, "{change}");
        }
    }

    #[test]
    fn clients_selectors_and_conditions_are_refused_as_recorded() {
        for (change, expected) in [
            (
                json!({"clientConfig": {"url": "http://x/y"}}),
                vec![
                    "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
                ],
            ),
            (
                json!({"clientConfig": {"url": "https://u@x/y?q#f"}}),
                vec![
                    "webhooks[0].clientConfig.url: Invalid value: \"u\": user information is not permitted in the URL",
                    "webhooks[0].clientConfig.url: Invalid value: \"f\": fragments are not permitted in the URL",
                    "webhooks[0].clientConfig.url: Invalid value: \"q\": query parameters are not permitted in the URL",
                ],
            ),
            (
                json!({"clientConfig": {"service": {"namespace": "a", "name": "b"}}}),
                vec!["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
            ),
            (
                json!({"clientConfig": {"url": null}}),
                vec!["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
            ),
            (
                json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
                vec![
                    "webhooks[0].objectSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                ],
            ),
            (
                json!({"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]}),
                vec!["webhooks[0].matchConditions[1].name: Duplicate value: \"a\""],
            ),
        ] {
            assert_eq!(faults(&change), expected, "{change}");
        }
    }

    #[test]
    fn rules_are_refused_as_recorded() {
        let rule = |change: Value| {
            let mut rule = json!({"operations": ["CREATE"], "apiGroups": ["g"], "apiVersions": ["*"], "resources": ["widgets"]});
            crate::patch::merge::apply(&mut rule, &change);
            faults(&json!({"rules": [rule]}))
        };
        for (change, expected) in [
            (
                json!({"operations": [], "apiGroups": [], "apiVersions": [], "resources": []}),
                vec![
                    "webhooks[0].rules[0].operations: Required value",
                    "webhooks[0].rules[0].apiGroups: Required value",
                    "webhooks[0].rules[0].apiVersions: Required value",
                    "webhooks[0].rules[0].resources: Required value",
                ],
            ),
            (
                json!({"operations": ["CREATE", "*"]}),
                vec![
                    "webhooks[0].rules[0].operations: Invalid value: [\"CREATE\",\"*\"]: if '*' is present, must not specify other operations",
                ],
            ),
            (
                json!({"resources": ["*", "pods"]}),
                vec![
                    "webhooks[0].rules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources",
                ],
            ),
            (
                json!({"resources": ["pods/*", "pods/exec"]}),
                vec![
                    "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/exec\": if 'pods/*' is present, must not specify pods/exec",
                ],
            ),
        ] {
            assert_eq!(rule(change), expected);
        }
    }

    #[test]
    fn names_are_unique_within_a_configuration() {
        let hook = json!({"name": "x.golden.example.io", "clientConfig": {"url": "https://h"}, "sideEffects": "None", "admissionReviewVersions": ["v1"]});
        let texts: Vec<String> = validate(&json!({"webhooks": [hook, hook]}))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            ["webhooks[1].name: Duplicate value: \"x.golden.example.io\""]
        );
    }
}
