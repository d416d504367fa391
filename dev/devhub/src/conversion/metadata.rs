//! What a conversion may do to an object's head and metadata: change labels and annotations, nothing else.
//!
//! Decides whether a converted object is still the same object; whatever else came back in its metadata is dropped.

use kubernetes::print::type_name;
use serde_json::{Map, Value};

use crate::builtin::metadata::{validate_annotations_at, validate_labels};

/// Members of the metadata that a conversion may change.
const OPEN: [&str; 2] = ["labels", "annotations"];

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns why an object has not the wanted version, or another kind than before.
pub(super) fn head_fault(original: &Value, converted: &Value, desired: &str) -> Option<String> {
    let version = text(converted, "/apiVersion");
    if version != desired {
        return Some(format!(
            "invalid groupVersion (expected {desired}, received {version})"
        ));
    }
    let (expected, found) = (text(original, "/kind"), text(converted, "/kind"));
    (expected != found).then(|| format!("invalid kind (expected {expected}, received {found})"))
}

/// Returns why a converted object is another object.
pub(super) fn identity_fault(original: &Value, converted: &Value) -> Option<String> {
    let parts = [
        ("name", "/metadata/name"),
        ("namespace", "/metadata/namespace"),
        ("UID", "/metadata/uid"),
    ];
    parts.into_iter().find_map(|(shown, pointer)| {
        let (expected, found) = (text(original, pointer), text(converted, pointer));
        (expected != found).then(|| format!("must have the same {shown}: {expected} != {found}"))
    })
}

/// Gives a converted object the metadata it had, but for labels and annotations.
pub(super) fn restore(original: &Value, converted: &mut Value) -> Result<(), String> {
    let given = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(given)) => given.clone(),
        Some(other) => {
            let found = type_name(other);
            return Err(format!("invalid metadata of type {found} in converted object"));
        }
    };
    let mut metadata = original
        .get("metadata")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for name in OPEN {
        match given.get(name) {
            None | Some(Value::Null) => {
                metadata.remove(name);
            }
            Some(Value::Object(texts)) => {
                check_texts(name, texts, metadata.get(name))?;
                metadata.insert(name.to_owned(), Value::Object(texts.clone()));
            }
            Some(other) => {
                let found = type_name(other);
                return Err(format!(
                    "invalid metadata.{name} of type {found} in converted object"
                ));
            }
        }
    }
    if let Some(members) = converted.as_object_mut() {
        members.insert("metadata".to_owned(), Value::Object(metadata));
    }
    Ok(())
}

/// What was there before is not judged again.
fn check_texts(name: &str, texts: &Map<String, Value>, before: Option<&Value>) -> Result<(), String> {
    let wrong = texts.iter().find(|(_, value)| !value.is_string());
    if let Some((key, value)) = wrong {
        let found = type_name(value);
        return Err(format!(
            "metadata.{name}[{key}] must be a string, but is {found} in converted object"
        ));
    }
    let texts = Value::Object(texts.clone());
    if before == Some(&texts) {
        return Ok(());
    }
    let faults = if name == "labels" {
        validate_labels("metadata.labels", Some(&texts))
    } else {
        validate_annotations_at("metadata.annotation", Some(&texts))
    };
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    match faults.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_labels_and_annotations_come_from_the_conversion() {
        let original = json!({"metadata": {"name": "a", "uid": "u", "labels": {"a": "b"}, "annotations": {"x": "y"}, "generation": 3}});
        let mut converted = json!({"metadata": {"name": "a", "uid": "u", "labels": {"c": "d"}, "generation": 9, "finalizers": ["z/z"]}, "spec": {}});
        restore(&original, &mut converted).expect("it may");
        let expected =
            json!({"metadata": {"name": "a", "uid": "u", "labels": {"c": "d"}, "generation": 3}, "spec": {}});
        assert_eq!(converted, expected);
    }

    #[test]
    fn what_a_conversion_may_not_do_is_named() {
        let original = json!({"kind": "K", "metadata": {"name": "a", "namespace": "n", "uid": "u", "labels": {"b a d": "old"}}});
        let restored = |metadata: Value| {
            let mut converted = json!({ "metadata": metadata });
            restore(&original, &mut converted).err().unwrap_or_default()
        };
        let rows = [
            (json!("x"), "invalid metadata of type string in converted object"),
            (
                json!({"labels": 1}),
                "invalid metadata.labels of type int64 in converted object",
            ),
            (
                json!({"annotations": {"a": true}}),
                "metadata.annotations[a] must be a string, but is bool in converted object",
            ),
            (json!({"labels": {"b a d": "old"}}), ""),
        ];
        for (metadata, expected) in rows {
            assert_eq!(restored(metadata), expected);
        }
        assert!(
            restored(json!({"labels": {"a": "not good"}}))
                .starts_with("metadata.labels: Invalid value: \"not good\"")
        );
        assert!(
            restored(json!({"annotations": {"b a d": ""}}))
                .starts_with("metadata.annotation: Invalid value: \"b a d\"")
        );
        assert_eq!(
            restore(&original, &mut json!({})).err().as_deref(),
            Some("missing metadata in converted object")
        );
        let other = json!({"metadata": {"name": "a", "namespace": "n", "uid": "v"}});
        assert_eq!(
            identity_fault(&original, &other).as_deref(),
            Some("must have the same UID: u != v")
        );
        let other = json!({"apiVersion": "g/v1", "kind": "L"});
        let fault = head_fault(&original, &other, "g/v1");
        assert_eq!(fault.as_deref(), Some("invalid kind (expected K, received L)"));
        let fault = head_fault(&original, &other, "g/v2");
        assert_eq!(
            fault.as_deref(),
            Some("invalid groupVersion (expected g/v2, received g/v1)")
        );
    }
}
