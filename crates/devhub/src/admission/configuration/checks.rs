//! Which webhook configurations the API refuses.
//!
//! Decides everything but the rules and the client configuration, which have files of their own.

use std::collections::BTreeSet;

use schema::{FieldError, cel::Program};
use serde_json::{Value, json};

use super::{faults::Faults, resources, urls};

/// Checks a defaulted configuration object.
pub fn check(configuration: &Value) -> Vec<FieldError> {
    let mut faults = Faults::default();
    let mut names = BTreeSet::new();
    for (index, hook) in items(configuration, "webhooks").iter().enumerate() {
        let field = format!("webhooks[{index}]");
        check_hook(&field, hook, &mut faults);
        let name = hook.get("name").and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && !names.insert(name) {
            faults.duplicate(&format!("{field}.name"), &json!(name));
        }
    }
    faults.list
}

fn items<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object
        .get(name)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn check_hook(field: &str, hook: &Value, faults: &mut Faults) {
    check_name(
        &format!("{field}.name"),
        hook.get("name").and_then(Value::as_str).unwrap_or_default(),
        faults,
    );
    for (index, rule) in items(hook, "rules").iter().enumerate() {
        resources::check(&format!("{field}.rules[{index}]"), rule, faults);
    }
    for (name, supported) in [
        ("failurePolicy", ["Fail", "Ignore"]),
        ("matchPolicy", ["Equivalent", "Exact"]),
        ("reinvocationPolicy", ["IfNeeded", "Never"]),
    ] {
        if let Some(value) = hook
            .get(name)
            .filter(|value| !supported.iter().any(|legal| *value == legal))
        {
            faults.unsupported(&format!("{field}.{name}"), value, &supported);
        }
    }
    check_side_effects(&format!("{field}.sideEffects"), hook.get("sideEffects"), faults);
    if let Some(timeout) = hook.get("timeoutSeconds")
        && !timeout
            .as_i64()
            .is_some_and(|seconds| (1..=30).contains(&seconds))
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        faults.invalid(&format!("{field}.timeoutSeconds"), timeout, detail);
    }
    for name in ["namespaceSelector", "objectSelector"] {
        check_selector(
            &format!("{field}.{name}"),
            hook.get(name).unwrap_or(&Value::Null),
            faults,
        );
    }
    check_versions(
        &format!("{field}.admissionReviewVersions"),
        items(hook, "admissionReviewVersions"),
        faults,
    );
    urls::check(
        &format!("{field}.clientConfig"),
        hook.get("clientConfig").unwrap_or(&Value::Null),
        faults,
    );
    check_conditions(
        &format!("{field}.matchConditions"),
        items(hook, "matchConditions"),
        faults,
    );
}

fn check_name(field: &str, name: &str, faults: &mut Faults) {
    let legal = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if name.is_empty() {
        faults.required(field, "");
    } else if name.len() > 253 || !name.split('.').all(legal) {
        let detail = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                      and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                      validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        faults.invalid(field, &json!(name), detail);
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        faults.invalid(field, &json!(name), detail);
    }
}

fn check_side_effects(field: &str, value: Option<&Value>, faults: &mut Faults) {
    match value.and_then(Value::as_str) {
        Some("None" | "NoneOnDryRun") => {}
        Some(other) => faults.unsupported(field, &json!(other), &["None", "NoneOnDryRun"]),
        None => faults.required(field, "must specify one of None, NoneOnDryRun"),
    }
}

fn check_versions(field: &str, versions: &[Value], faults: &mut Faults) {
    if versions.is_empty() {
        faults.required(field, "must specify one of v1, v1beta1");
    } else if !versions
        .iter()
        .any(|version| version == "v1" || version == "v1beta1")
    {
        faults.invalid(
            field,
            &json!(versions),
            "must include at least one of v1, v1beta1",
        );
    }
    for (index, version) in versions.iter().enumerate() {
        if versions.iter().take(index).any(|earlier| earlier == version) {
            faults.invalid(&format!("{field}[{index}]"), version, "duplicate version");
        }
    }
}

fn check_selector(field: &str, selector: &Value, faults: &mut Faults) {
    for (index, expression) in items(selector, "matchExpressions").iter().enumerate() {
        let place = format!("{field}.matchExpressions[{index}]");
        let no_values = items(expression, "values").is_empty();
        match expression.get("operator").and_then(Value::as_str) {
            Some("In" | "NotIn") if no_values => {
                faults.required(
                    &format!("{place}.values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            Some("Exists" | "DoesNotExist") if !no_values => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(&format!("{place}.values"), detail);
            }
            Some("In" | "NotIn" | "Exists" | "DoesNotExist") => {}
            other => {
                let operator = json!(other.unwrap_or_default());
                faults.invalid(
                    &format!("{place}.operator"),
                    &operator,
                    "not a valid selector operator",
                );
            }
        }
    }
}

fn check_conditions(field: &str, conditions: &[Value], faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let place = format!("{field}[{index}]");
        let text = |name: &str| {
            condition
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .trim()
        };
        let (name, expression) = (text("name"), text("expression"));
        if name.is_empty() {
            faults.required(&format!("{place}.name"), "");
        } else if !names.insert(name) {
            faults.duplicate(&format!("{place}.name"), &json!(name));
        }
        if expression.is_empty() {
            faults.required(&format!("{place}.expression"), "");
        } else if let Err(cause) = Program::compile(expression) {
            let detail = format!("compilation failed: {cause}");
            faults.invalid(&format!("{place}.expression"), &json!(expression), &detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    fn hook() -> Value {
        json!({ "name": "x.example.io", "clientConfig": { "url": "https://x/y" }, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 10, "failurePolicy": "Fail", "matchPolicy": "Equivalent",
            "rules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "*" }] })
    }

    #[track_caller]
    fn row(pointer: &str, value: Value, expected: &[&str]) {
        let mut hook = hook();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        hook.pointer_mut(parent).expect("the parent exists")[name] = value;
        let mut found: Vec<String> = check(&json!({ "webhooks": [hook] }))
            .iter()
            .map(ToString::to_string)
            .collect();
        found.sort();
        assert_eq!(found, expected, "{pointer}");
    }

    #[test]
    fn takes_a_complete_hook() {
        row("/name", json!("a.b.c"), &[]);
    }

    #[test]
    fn names_each_fault_as_kubernetes_does() {
        row(
            "/name",
            json!("short"),
            &[
                "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
            ],
        );
        row(
            "/sideEffects",
            json!("Some"),
            &[
                "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
            ],
        );
        row(
            "/sideEffects",
            json!(null),
            &["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"],
        );
        row(
            "/timeoutSeconds",
            json!(31),
            &[
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            ],
        );
        row(
            "/failurePolicy",
            json!("Maybe"),
            &[
                "webhooks[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
            ],
        );
        row(
            "/admissionReviewVersions",
            json!([]),
            &["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
        );
        row(
            "/admissionReviewVersions",
            json!(["v9"]),
            &[
                "webhooks[0].admissionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
            ],
        );
        row("/admissionReviewVersions", json!(["v9", "v1"]), &[]);
    }

    #[test]
    fn checks_where_a_hook_listens() {
        row(
            "/clientConfig",
            json!({}),
            &["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
        );
        row(
            "/clientConfig/url",
            json!("http://x/y"),
            &[
                "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            ],
        );
        row(
            "/clientConfig/url",
            json!("https://u@x/y?q#f"),
            &[
                "webhooks[0].clientConfig.url: Invalid value: \"f\": fragments are not permitted in the URL",
                "webhooks[0].clientConfig.url: Invalid value: \"q\": query parameters are not permitted in the URL",
                "webhooks[0].clientConfig.url: Invalid value: \"u\": user information is not permitted in the URL",
            ],
        );
        row(
            "/clientConfig",
            json!({ "service": { "namespace": "a", "name": "b", "port": 443 } }),
            &[],
        );
    }

    #[test]
    fn checks_rules() {
        row(
            "/rules/0/operations",
            json!(["CREATE", "*"]),
            &[
                "webhooks[0].rules[0].operations: Invalid value: [\"CREATE\",\"*\"]: if '*' is present, must not specify other operations",
            ],
        );
        row(
            "/rules/0/resources",
            json!(["*", "pods"]),
            &[
                "webhooks[0].rules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources",
            ],
        );
        row(
            "/rules/0/resources",
            json!(["pods/*", "pods/exec"]),
            &[
                "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/exec\": if 'pods/*' is present, must not specify pods/exec",
            ],
        );
        row(
            "/rules/0/apiGroups",
            json!([]),
            &["webhooks[0].rules[0].apiGroups: Required value"],
        );
    }

    #[test]
    fn checks_selectors_and_conditions() {
        row(
            "/objectSelector",
            json!({ "matchExpressions": [{ "key": "a", "operator": "In" }] }),
            &[
                "webhooks[0].objectSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ],
        );
        let condition = json!({ "name": "a", "expression": "true" });
        row(
            "/matchConditions",
            json!([condition, condition]),
            &["webhooks[0].matchConditions[1].name: Duplicate value: \"a\""],
        );
    }

    #[test]
    fn refuses_two_hooks_of_one_name() {
        let found: Vec<String> = check(&json!({ "webhooks": [hook(), hook()] }))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["webhooks[1].name: Duplicate value: \"x.example.io\""]);
    }
}
