//! Defaults of webhook configurations.
//!
//! Decides what absent fields become; never replaces a written value.

use serde_json::{Map, Value, json};

/// Fills in the absent fields of a `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration`.
pub fn apply_defaults(configuration: &mut Value) {
    let mutating = configuration.get("kind").and_then(Value::as_str) == Some("MutatingWebhookConfiguration");
    for hook in members_of(configuration.get_mut("webhooks")) {
        let mut put = |name: &str, value: Value| default(hook, name, value);
        put("failurePolicy", json!("Fail"));
        put("matchPolicy", json!("Equivalent"));
        put("namespaceSelector", json!({}));
        put("objectSelector", json!({}));
        put("timeoutSeconds", json!(10));
        if mutating {
            put("reinvocationPolicy", json!("Never"));
        }
        members_of(hook.get_mut("rules")).for_each(|rule| default(rule, "scope", json!("*")));
        let service = hook
            .get_mut("clientConfig")
            .and_then(|config| config.get_mut("service"));
        if let Some(Value::Object(service)) = service {
            default(service, "port", json!(443));
        }
    }
}

fn members_of(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

fn default(members: &mut Map<String, Value>, name: &str, value: Value) {
    let written = members.entry(name).or_insert(Value::Null);
    if written.is_null() {
        *written = value;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::apply_defaults;

    #[track_caller]
    fn check(kind: &str, hook: &Value, expected: &Value) {
        let mut object = json!({ "kind": kind, "webhooks": [hook] });
        apply_defaults(&mut object);
        assert_eq!(object["webhooks"], json!([expected]));
    }

    #[test]
    fn fills_in_what_is_absent_and_keeps_what_is_written() {
        check(
            "MutatingWebhookConfiguration",
            &json!({ "rules": [{}], "clientConfig": { "service": { "name": "a" } } }),
            &json!({ "failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
                "timeoutSeconds": 10, "reinvocationPolicy": "Never", "rules": [{ "scope": "*" }],
                "clientConfig": { "service": { "name": "a", "port": 443 } } }),
        );
        check(
            "ValidatingWebhookConfiguration",
            &json!({ "failurePolicy": "Ignore", "matchPolicy": null, "timeoutSeconds": 3, "rules": [{ "scope": "Cluster" }] }),
            &json!({ "failurePolicy": "Ignore", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
                "timeoutSeconds": 3, "rules": [{ "scope": "Cluster" }] }),
        );
    }
}
