//! Rules of a webhook.
//!
//! Decides which rules are refused; never matches one.

use serde_json::{Value, json};

use super::faults::Faults;

/// Checks the rule at `field`.
pub(super) fn check(field: &str, rule: &Value, faults: &mut Faults) {
    let list = |name: &str| -> Vec<&str> {
        rule.get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    };
    for (name, things) in [
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
        ("operations", "operations"),
    ] {
        check_list(&format!("{field}.{name}"), &list(name), things, faults);
    }
    for (index, version) in list("apiVersions").into_iter().enumerate() {
        if version.is_empty() {
            faults.required(&format!("{field}.apiVersions[{index}]"), "");
        }
    }
    for (index, operation) in list("operations").into_iter().enumerate() {
        let supported = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        if !supported.contains(&operation) {
            faults.unsupported(
                &format!("{field}.operations[{index}]"),
                &json!(operation),
                &supported,
            );
        }
    }
    check_resources(&format!("{field}.resources"), &list("resources"), faults);
    if let Some(scope) = rule.get("scope")
        && !matches!(scope.as_str(), Some("*" | "Cluster" | "Namespaced"))
    {
        faults.unsupported(&format!("{field}.scope"), scope, &["*", "Cluster", "Namespaced"]);
    }
}

fn check_list(field: &str, list: &[&str], things: &str, faults: &mut Faults) {
    if list.is_empty() {
        faults.required(field, "");
    }
    if list.len() > 1 && list.contains(&"*") {
        faults.invalid(
            field,
            &json!(list),
            &format!("if '*' is present, must not specify other {things}"),
        );
    }
}

fn check_resources(field: &str, resources: &[&str], faults: &mut Faults) {
    if resources.is_empty() {
        faults.required(field, "");
    }
    for (index, resource) in resources.iter().enumerate() {
        let place = format!("{field}[{index}]");
        if resource.is_empty() {
            faults.required(&place, "");
        }
        // A wildcard that stands anywhere in the list makes the resources under it superfluous.
        let Some((name, subresource)) = resource.split_once('/') else {
            continue;
        };
        for wider in [format!("{name}/*"), format!("*/{subresource}")] {
            if wider != *resource && wider != "*/*" && resources.contains(&wider.as_str()) {
                let detail = format!("if '{wider}' is present, must not specify {resource}");
                faults.invalid(&place, &json!(resource), &detail);
            }
        }
    }
    if resources.len() > 1 && resources.contains(&"*/*") {
        faults.invalid(
            field,
            &json!(resources),
            "if '*/*' is present, must not specify other resources",
        );
    }
    let plain = resources
        .iter()
        .filter(|resource| !resource.contains('/'))
        .count();
    if plain > 1 && resources.contains(&"*") {
        let detail = "if '*' is present, must not specify other resources without subresources";
        faults.invalid(field, &json!(resources), detail);
    }
}
