//! Checks embedded resources: `apiVersion`, `kind` and `metadata` of objects inside objects.
//!
//! Decides with the rules of Kubernetes for the metadata of any object; never looks at the rest of an embedded object.

use kubernetes::names::DNS1035_LABEL;
use kubernetes::object_meta::{self, NameRule, Namespacing};

use crate::error::{ErrorClass, FieldError};
use crate::fault;
use crate::node::{Flags, Node};
use crate::objectmeta;
use crate::path::Path;
use serde_json::{Map, Value};

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
    if let Some(metadata @ Value::Object(_)) = members.get("metadata") {
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

/// Judges the metadata as that of any object: its name may be one of any kind, and a namespace that it names must be one.
fn check_metadata(metadata: &Value, path: &Path<'_>, out: &mut Vec<FieldError>) {
    for found in object_meta::faults(metadata, NameRule::PathSegment, Namespacing::Any) {
        // An embedded resource may have no name.
        if found.class != ErrorClass::Required {
            out.push(FieldError {
                field: path.child(found.field).field(),
                message: found.message(),
                class: found.class,
            });
        }
    }
}
