//! What admission policies and their bindings say without saying it.

use serde_json::{Map, Value, json};

/// Fills in a policy.
pub(super) fn fill_policy(policy: &mut Value) {
    let Some(spec) = policy.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("failurePolicy").or_insert_with(|| json!("Fail"));
    if let Some(constraints) = spec.get_mut("matchConstraints").and_then(Value::as_object_mut) {
        fill_resources(constraints);
    }
}

/// Fills in a binding.
pub(super) fn fill_binding(binding: &mut Value) {
    let resources = binding
        .pointer_mut("/spec/matchResources")
        .and_then(Value::as_object_mut);
    if let Some(resources) = resources {
        fill_resources(resources);
    }
}

fn fill_resources(resources: &mut Map<String, Value>) {
    let defaults = [
        ("matchPolicy", json!("Equivalent")),
        ("namespaceSelector", json!({})),
        ("objectSelector", json!({})),
    ];
    for (name, value) in defaults {
        resources.entry(name).or_insert(value);
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        let rules = resources.get_mut(list).and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten().filter_map(Value::as_object_mut) {
            rule.entry("scope").or_insert_with(|| json!("*"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_of_a_match_is_everything() {
        let mut policy = json!({"spec": {"matchConstraints": {"resourceRules": [{"operations": ["*"]}]}}});
        fill_policy(&mut policy);
        let expected = json!({"spec": {"failurePolicy": "Fail", "matchConstraints": {
            "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
            "resourceRules": [{"operations": ["*"], "scope": "*"}],
        }}});
        assert_eq!(policy, expected);
        let mut binding = json!({"spec": {"policyName": "p"}});
        fill_binding(&mut binding);
        assert_eq!(binding, json!({"spec": {"policyName": "p"}}));
    }
}
