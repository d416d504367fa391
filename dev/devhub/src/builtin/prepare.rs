//! What the server fills in or carries over before admission sees a built-in object.
//!
//! Decides defaults and the fields that clients may not set. `decode` has run before, so members have their types.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::members::carry;
use super::untyped::is_untyped;
use super::{policies, requests};
use crate::Resource;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Fills in a new object. `metadata.name` is already known, generated names included.
pub fn create(resource: &Resource, object: &mut Value) {
    defaults(resource, object);
    if resource.group.is_empty() && resource.kind == "Namespace" {
        let spec = section(object, "spec");
        if let Some(Value::Array(finalizers)) =
            spec.map(|spec| spec.entry("finalizers").or_insert_with(|| json!([])))
            && !finalizers.iter().any(|finalizer| finalizer == "kubernetes")
        {
            finalizers.push(json!("kubernetes"));
        }
        put(object, "status", json!({ "phase": "Active" }));
    }
    if resource.kind == "ValidatingAdmissionPolicy" {
        put(object, "status", json!({}));
    }
    // Whatever it says, nothing has happened to it yet.
    if resource.status
        && is_untyped(resource)
        && let Value::Object(map) = object
    {
        map.remove("status");
    }
}

/// Fills in a changed object and carries over what its main endpoint does not change.
pub fn update(resource: &Resource, new: &mut Value, old: &Value) {
    defaults(resource, new);
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") | (requests::GROUP, _) => {
            carry(new, old, "spec");
            carry(new, old, "status");
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => carry(new, old, "status"),
        _ if resource.status && is_untyped(resource) => carry(new, old, "status"),
        _ => {}
    }
}

/// Carries over what the status endpoint does not change.
pub fn update_status(resource: &Resource, new: &mut Value, old: &Value) {
    defaults(resource, new);
    if resource.status {
        carry(new, old, "spec");
    }
}

/// Carries over what the `finalize` endpoint of namespaces does not change: the status.
pub fn finalize_namespace(resource: &Resource, new: &mut Value, old: &Value) {
    defaults(resource, new);
    carry(new, old, "status");
}

/// Fills in the defaults of a kind.
pub fn defaults(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => {
            let name = object
                .pointer("/metadata/name")
                .cloned()
                .filter(|name| *name != "");
            if let Some(name) = name {
                let metadata = section(object, "metadata");
                let labels = metadata.map(|metadata| metadata.entry("labels").or_insert_with(|| json!({})));
                if let Some(Value::Object(labels)) = labels {
                    labels.insert(NAME_LABEL.to_owned(), name);
                }
            }
        }
        ("", "Secret") => secret(object),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => webhooks(object, true),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => webhooks(object, false),
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => binding(object),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => policies::fill_policy(object),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            policies::fill_binding(object);
        }
        _ => {}
    }
}

fn secret(object: &mut Value) {
    let Value::Object(map) = object else { return };
    if let Some(Value::Object(plain)) = map.remove("stringData")
        && let Value::Object(data) = map.entry("data").or_insert_with(|| json!({}))
    {
        data.extend(plain.iter().map(|(key, value)| {
            (
                key.clone(),
                json!(BASE64.encode(value.as_str().unwrap_or_default())),
            )
        }));
    }
    map.entry("type").or_insert_with(|| json!("Opaque"));
}

fn webhooks(object: &mut Value, mutating: bool) {
    let hooks = object
        .get_mut("webhooks")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut);
    for hook in hooks {
        let mut default = |member: &str, value: Value| {
            hook.entry(member).or_insert(value);
        };
        default("failurePolicy", json!("Fail"));
        default("matchPolicy", json!("Equivalent"));
        default("namespaceSelector", json!({}));
        default("objectSelector", json!({}));
        default("timeoutSeconds", json!(10));
        if mutating {
            default("reinvocationPolicy", json!("Never"));
        }
        for rule in hook
            .get_mut("rules")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            rule.entry("scope").or_insert_with(|| json!("*"));
        }
        let service = hook
            .get_mut("clientConfig")
            .and_then(|config| config.get_mut("service"))
            .and_then(Value::as_object_mut);
        if let Some(service) = service {
            service.entry("port").or_insert_with(|| json!(443));
        }
    }
}

fn binding(object: &mut Value) {
    if let Some(Value::Object(role)) = object.get_mut("roleRef")
        && role.get("apiGroup").is_none_or(|group| group == "")
    {
        role.insert("apiGroup".to_owned(), json!(RBAC));
    }
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if matches!(
            subject.get("kind").and_then(Value::as_str),
            Some("User" | "Group")
        ) {
            subject.entry("apiGroup").or_insert_with(|| json!(RBAC));
        }
    }
}

/// Returns the object below `member`, which is made when it is absent.
fn section<'a>(object: &'a mut Value, member: &str) -> Option<&'a mut Map<String, Value>> {
    object
        .as_object_mut()?
        .entry(member)
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

fn put(object: &mut Value, member: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(member.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Resource {
        crate::builtin::resources()
            .into_iter()
            .find(|resource| resource.kind == name)
            .expect("a kind")
    }

    #[test]
    fn new_objects_are_filled_in_as_recorded() {
        for (name, object, expected) in [
            (
                "Namespace",
                json!({"metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"finalizers": ["example.com/extra"]}, "status": {"phase": "Terminating"}}),
                json!({"metadata": {"name": "a", "labels": {"a": "b", "kubernetes.io/metadata.name": "a"}},
                       "spec": {"finalizers": ["example.com/extra", "kubernetes"]}, "status": {"phase": "Active"}}),
            ),
            (
                "Secret",
                json!({"data": {"a": "YQ=="}, "stringData": {"b": "bee", "a": "over"}}),
                json!({"data": {"a": "b3Zlcg==", "b": "YmVl"}, "type": "Opaque"}),
            ),
            (
                "MutatingWebhookConfiguration",
                json!({"webhooks": [{"name": "x", "rules": [{"resources": ["widgets"]}], "clientConfig": {"service": {"name": "s"}}}]}),
                json!({"webhooks": [{"name": "x", "rules": [{"resources": ["widgets"], "scope": "*"}], "failurePolicy": "Fail",
                    "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10,
                    "reinvocationPolicy": "Never", "clientConfig": {"service": {"name": "s", "port": 443}}}]}),
            ),
            (
                "RoleBinding",
                json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}),
                json!({"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "r"},
                    "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}),
            ),
        ] {
            let mut object = object;
            create(&kind(name), &mut object);
            assert_eq!(object, expected, "{name}");
        }
    }

    #[test]
    fn namespaces_keep_their_name_label_finalizers_and_phase() {
        let old = json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
        let mut new = json!({"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "other"}}, "spec": {}, "status": {"phase": "x"}});
        update(&kind("Namespace"), &mut new, &old);
        assert_eq!(
            new["metadata"]["labels"],
            json!({"kubernetes.io/metadata.name": "a"})
        );
        assert_eq!((&new["spec"], &new["status"]), (&old["spec"], &old["status"]));
    }
}
