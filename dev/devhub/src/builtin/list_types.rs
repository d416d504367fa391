//! List types, map types and merge keys of the built-in kinds.
//!
//! Decides nothing but this table. A list that is not named is atomic; an object that is not named is granular.

use serde_json::{Value, json};

/// Last part of the definition's name, member, keys of a map list (empty = a set).
const LISTS: &[(&str, &str, &[&str])] = &[
    ("ObjectMeta", "finalizers", &[]),
    ("ObjectMeta", "ownerReferences", &["uid"]),
    ("ServiceAccount", "secrets", &["name"]),
    ("NamespaceStatus", "conditions", &["type"]),
    ("MutatingWebhookConfiguration", "webhooks", &["name"]),
    ("ValidatingWebhookConfiguration", "webhooks", &["name"]),
    ("MutatingWebhook", "matchConditions", &["name"]),
    ("ValidatingWebhook", "matchConditions", &["name"]),
    ("CertificateSigningRequestStatus", "conditions", &["type"]),
    ("ValidatingAdmissionPolicySpec", "matchConditions", &["name"]),
    ("ValidatingAdmissionPolicySpec", "variables", &["name"]),
    ("ValidatingAdmissionPolicyStatus", "conditions", &["type"]),
    ("ValidatingAdmissionPolicyBindingSpec", "validationActions", &[]),
    ("CustomResourceDefinitionStatus", "conditions", &["type"]),
    ("JSONSchemaProps", "x-kubernetes-validations", &["rule"]),
];

/// Lists of [`LISTS`] that strategic patches do not merge, because their Go types carry no patch strategy.
const NOT_STRATEGIC: &[&str] = &[
    "CustomResourceDefinitionStatus",
    "JSONSchemaProps",
    "ValidatingAdmissionPolicyStatus",
    "ValidatingAdmissionPolicyBindingSpec",
];

/// Definitions whose objects change as a whole.
const ATOMIC_MAPS: &[&str] = &[
    "LabelSelector",
    "MatchResources",
    "NamedRuleWithOperations",
    "ParamKind",
    "ParamRef",
    "Variable",
    "LocalObjectReference",
    "ObjectReference",
    "RoleRef",
    "Subject",
    "OwnerReference",
    "TypedLocalObjectReference",
];

/// Definitions that hold any JSON value.
const FREE_FORM: &[&str] = &[
    "FieldsV1",
    "JSON",
    "JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray",
    "RawExtension",
];

/// Returns whether a definition holds any JSON value.
pub(super) fn is_free_form(name: &str) -> bool {
    FREE_FORM.contains(&short(name))
}

/// Adds the annotations of the API to a definition.
pub(super) fn annotate(name: &str, definition: &mut Value) {
    let kind = short(name);
    if ATOMIC_MAPS.contains(&kind)
        && let Value::Object(map) = definition
    {
        map.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    }
    let Some(Value::Object(properties)) = definition.get_mut("properties") else {
        return;
    };
    for (member, schema) in properties {
        let Value::Object(schema) = schema else { continue };
        if schema.get("type").and_then(Value::as_str) != Some("array") {
            continue;
        }
        let row = LISTS
            .iter()
            .find(|(owner, list, _)| *owner == kind && list == member);
        let mut set = |name: &str, value: Value| schema.insert(name.to_owned(), value);
        let Some((_, _, keys)) = row else {
            set("x-kubernetes-list-type", json!("atomic"));
            continue;
        };
        set(
            "x-kubernetes-list-type",
            json!(if keys.is_empty() { "set" } else { "map" }),
        );
        if let Some(key) = keys.first() {
            set("x-kubernetes-list-map-keys", json!(keys));
            if !NOT_STRATEGIC.contains(&kind) {
                set("x-kubernetes-patch-merge-key", json!(key));
            }
        }
        if !NOT_STRATEGIC.contains(&kind) {
            set("x-kubernetes-patch-strategy", json!("merge"));
        }
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
