//! Checks embedded resources: `apiVersion`, `kind` and `metadata` of objects inside objects.
//!
//! Decides with the name rules of Kubernetes; never looks at the rest of an embedded object.

use crate::check::is_dns_subdomain;
use crate::error::{ErrorClass, FieldError};
use crate::fault;
use crate::node::{Flags, Node};
use crate::objectmeta;
use crate::path::Path;
use serde_json::{Map, Value};

pub(crate) const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                        alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                        regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                              with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                              validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_KEY: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                         with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix \
                         and '/' (e.g. 'example.com/MyName')";
pub(crate) const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                           must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                           regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
pub(crate) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                         must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
                         is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
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
        words.push(DNS_1035);
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
        let words = qualified_name_faults(item.as_str().unwrap_or_default());
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
            qualified_name_faults(key)
                .into_iter()
                .map(|words| fault::invalid(path, &shown, &words)),
        );
        let text = value.as_str().unwrap_or_default();
        if text.len() > 63 {
            out.push(fault::invalid(path, value, "must be no more than 63 bytes"));
        }
        if !text.is_empty() && !is_name(text) {
            out.push(fault::invalid(path, value, LABEL_VALUE));
        }
    }
}

fn check_annotations(annotations: &Map<String, Value>, path: &Path<'_>, out: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in annotations {
        let shown = Value::String(key.clone());
        let words = qualified_name_faults(&key.to_lowercase());
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

pub(crate) fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Says what is wrong with a qualified name: `[prefix/]name`.
pub(crate) fn qualified_name_faults(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                words.push("prefix part must be non-empty".to_owned());
            } else if !is_dns_subdomain(prefix) {
                words.push(format!("prefix part {SUBDOMAIN}"));
            }
            *name
        }
        _ => return vec![LABEL_KEY.to_owned()],
    };
    if name.is_empty() {
        words.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        words.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_name(name) {
        words.push(QUALIFIED_NAME.to_owned());
    }
    words
}
