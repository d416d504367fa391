//! What a dump leaves out of an object.
//!
//! Decides that bookkeeping and the content of Secrets stay behind. A Secret inside a template or a work keeps its keys,
//! every value the same: so a work still equals what its template renders. The hash of a template changes by that, and is
//! put right wherever it is mentioned.

use serde_json::{Value, json};

use crate::hash::SpecHash;

/// Stands for a value of a Secret: base64, as its schema wants.
const VALUE: &str = "cmVkYWN0ZWQ=";
const TEXT: &str = "redacted";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// A shorter text mentions no hash.
const HASH_LENGTH: usize = 64;

/// Takes out what a dump does not hold; returns the hash before and after where it has changed by that.
pub(super) fn strip(object: &mut Value) -> Option<(String, String)> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("selfLink");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    let before = SpecHash::of(object).to_string();
    let mut hidden = false;
    hide(object, &mut hidden);
    let after = SpecHash::of(object).to_string();
    (hidden && before != after).then_some((before, after))
}

/// Puts changed hashes right wherever they are mentioned.
pub(super) fn rename(value: &mut Value, hashes: &[(String, String)]) {
    match value {
        Value::String(text) if text.len() >= HASH_LENGTH => {
            for (before, after) in hashes {
                if text.contains(before) {
                    *text = text.replace(before, after);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, hashes)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, hashes)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn hide(value: &mut Value, hidden: &mut bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, hidden)),
        Value::Object(fields) => {
            let is_secret = fields.get("kind").and_then(Value::as_str) == Some("Secret");
            for (field, stand_in) in [("data", VALUE), ("stringData", TEXT)] {
                let values = fields.get_mut(field).filter(|_| is_secret);
                if let Some(values) = values.and_then(Value::as_object_mut) {
                    *hidden |= !values.is_empty();
                    values.values_mut().for_each(|value| *value = json!(stand_in));
                }
            }
            fields.values_mut().for_each(|field| hide(field, hidden));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_keep_their_keys_and_nothing_else() {
        let mut object = json!({"metadata": {"managedFields": [1], "annotations": {LAST_APPLIED: "x", "a": "b"}},
            "spec": {"workload": {"manifests": [
                {"kind": "Secret", "data": {"password": "aGVsbG8="}, "stringData": {"token": "hello"}},
                {"kind": "ConfigMap", "data": {"colour": "red"}}]}}});
        let (before, after) = strip(&mut object).expect("the hash has changed");
        assert_ne!(before, after);
        let text = object.to_string();
        for gone in ["aGVsbG8=", "hello", "managedFields", "last-applied"] {
            assert!(!text.contains(gone), "{text}");
        }
        for kept in ["password", "token", "red", "\"a\":\"b\""] {
            assert!(text.contains(kept), "{text}");
        }
        let mut mention = json!({"hashes": [format!("{{\"x\":\"{before}\"}}"), "short"]});
        rename(&mut mention, &[(before, after.clone())]);
        assert_eq!(mention["hashes"][0], format!("{{\"x\":\"{after}\"}}"));
    }

    #[test]
    fn an_object_without_secrets_keeps_its_hash() {
        assert_eq!(strip(&mut json!({"spec": {"a": 1}, "metadata": {}})), None);
    }
}
