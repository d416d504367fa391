//! Checks embedded resources: `apiVersion`, `kind` and `metadata` of objects inside objects.
//!
//! Decides with the name rules of Kubernetes; never looks at the rest of an embedded object.

use apimachinery::names::{DNS1035_LABEL, Named, label_value_faults, qualified_name_faults};

use crate::error::{ErrorClass, FieldError};
use crate::fault;
use crate::node::{Flags, Node};
use crate::objectmeta;
use crate::path::Path;
use serde_json::{Map, Value};

/// Most bytes that all annotations together may have.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Checks all embedded resources below `value`.
pub(crate) fn check(node: &Node, value: &Value, path: &Path<'_>, out: &mut Vec<FieldError>) {
    if !node.is(Flags::EMBEDDED_WITHIN) {
        return;
    }
    match value {
        Value::Object(members) => {
            if node.is(Flags::EMBEDDED) {
                check_resource(members, path, out);
            }
            for (name, member) in members {
                if let Some(schema) = node.properties.get(name) {
                    check(schema, member, &path.child(name), out);
                } else if let Some(schema) = node.additional_schema() {
                    check(schema, member, &path.key(name), out);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = node.items.as_deref() {
                for (at, item) in items.iter().enumerate() {
                    check(schema, item, &path.index(at), out);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the first type fault inside the metadata of an embedded resource: its field and the decoder's words.
pub(crate) fn type_fault(node: &Node, value: &Value, path: &Path<'_>) -> Option<FieldError> {
    if !node.is(Flags::EMBEDDED_WITHIN) {
        return None;
    }
    match value {
        Value::Object(members) => {
            if node.is(Flags::EMBEDDED)
                && let Some(metadata) = members.get("metadata")
                && let Some(words) = objectmeta::type_fault(metadata)
            {
                return Some(fault::invalid(&path.child("metadata"), metadata, &words));
            }
            members
                .iter()
                .find_map(|(name, member)| type_fault(node.member(name)?, member, &path.child(name)))
        }
        Value::Array(items) => {
            let schema = node.items.as_deref()?;
            items
                .iter()
                .enumerate()
                .find_map(|(at, item)| type_fault(schema, item, &path.index(at)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn check_resource(members: &Map<String, Value>, path: &Path<'_>, out: &mut Vec<FieldError>) {
    let api_version = path.child("apiVersion");
    match members.get("apiVersion") {
        None => out.push(fault::required(&api_version, "")),
        Some(value) => out.extend(text_fault(&api_version, value, version_fault)),
    }
    let kind = path.child("kind");
    match members.get("kind") {
        None => out.push(fault::required(&kind, "")),
        Some(value) => out.extend(text_fault(&kind, value, kind_fault)),
    }
    if let Some(Value::Object(metadata)) = members.get("metadata") {
        check_metadata(metadata, &path.child("metadata"), out);
    }
}

fn text_fault(path: &Path<'_>, value: &Value, judge: fn(&str) -> Option<String>) -> Option<FieldError> {
    let words = match value.as_str() {
        None => Some("must be a string".to_owned()),
        Some("") => Some("must not be empty".to_owned()),
        Some(text) => judge(text),
    };
    words.map(|words| fault::invalid(path, value, &words))
}

fn version_fault(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn kind_fault(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let shaped = lower.starts_with(|c: char| c.is_ascii_lowercase())
        && lower
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !lower.ends_with('-');
    let mut words = Vec::new();
    if lower.len() > 63 {
        words.push("must be no more than 63 characters");
    }
    if !shaped {
        words.push(DNS1035_LABEL);
    }
    (!words.is_empty()).then(|| {
        format!(
            "may have mixed case, but should otherwise match: {}",
            words.join(",")
        )
    })
}

fn check_metadata(metadata: &Map<String, Value>, path: &Path<'_>, out: &mut Vec<FieldError>) {
    for field in ["name", "generateName"] {
        let Some(value) = metadata.get(field) else {
            continue;
        };
        let text = value.as_str().unwrap_or_default();
        if let Some(words) = segment_fault(text) {
            out.push(fault::invalid(&path.child(field), value, &words));
        }
    }
    if let Some(Value::Object(labels)) = metadata.get("labels") {
        check_labels(labels, &path.child("labels"), out);
    }
    if let Some(Value::Object(annotations)) = metadata.get("annotations") {
        check_annotations(annotations, &path.child("annotations"), out);
    }
    for item in metadata
        .get("finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let words = qualified_name_faults(item.as_str().unwrap_or_default(), Named::LabelKey);
        out.extend(
            words
                .into_iter()
                .map(|words| fault::invalid(&path.child("finalizers"), item, &words)),
        );
    }
}

/// Says why a name cannot stand in a URL path.
fn segment_fault(text: &str) -> Option<String> {
    if matches!(text, "." | "..") {
        return Some(format!("may not be '{text}'"));
    }
    ["/", "%"]
        .into_iter()
        .find(|bad| text.contains(*bad))
        .map(|bad| format!("may not contain '{bad}'"))
}

fn check_labels(labels: &Map<String, Value>, path: &Path<'_>, out: &mut Vec<FieldError>) {
    for (key, value) in labels {
        let shown = Value::String(key.clone());
        out.extend(
            qualified_name_faults(key, Named::LabelKey)
                .into_iter()
                .map(|words| fault::invalid(path, &shown, &words)),
        );
        let text = value.as_str().unwrap_or_default();
        let faults = label_value_faults(text).into_iter();
        out.extend(faults.map(|words| fault::invalid(path, value, &words)));
    }
}

fn check_annotations(annotations: &Map<String, Value>, path: &Path<'_>, out: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in annotations {
        let shown = Value::String(key.clone());
        let words = qualified_name_faults(&key.to_lowercase(), Named::LabelKey);
        out.extend(
            words
                .into_iter()
                .map(|words| fault::invalid(path, &shown, &words)),
        );
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        let message = format!("Too long: may not be more than {ANNOTATIONS_LIMIT} bytes");
        out.push(FieldError {
            field: path.field(),
            class: ErrorClass::TooLong,
            message,
        });
    }
}
