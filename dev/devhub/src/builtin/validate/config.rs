//! Config maps, and what they share with secrets: keys, size and immutability.

use ::schema::FieldError;
use serde_json::Value;

use crate::builtin::faults::{forbidden, invalid, too_long};

/// Bytes that the values of one object may have together.
pub(super) const MAX_BYTES: usize = 1024 * 1024;

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or \
     'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    let members = |name: &str| object.get(name).and_then(Value::as_object).into_iter().flatten();
    for (key, value) in members("data") {
        errors.extend(validate_key("data", key));
        if object
            .get("binaryData")
            .and_then(|binary| binary.get(key))
            .is_some()
        {
            errors.push(invalid(
                &format!("data[{key}]"),
                key,
                "duplicate of key present in binaryData",
            ));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in members("binaryData") {
        errors.extend(validate_key("binaryData", key));
        size += decoded_length(value);
    }
    if size > MAX_BYTES {
        // The real server has no field name here and prints its empty path this way.
        errors.push(too_long("[]", MAX_BYTES));
    }
    errors
}

pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    validate_immutable(new, old, &["data", "binaryData"])
}

/// Returns the faults of a change to an object that is marked as immutable.
pub(super) fn validate_immutable(new: &Value, old: &Value, members: &[&str]) -> Vec<FieldError> {
    let fixed = |field: &str| forbidden(field, "field is immutable when `immutable` is set");
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return Vec::new();
    }
    let flag = (new.get("immutable") != Some(&Value::Bool(true))).then(|| fixed("immutable"));
    let changed = members
        .iter()
        .filter(|member| content(new, member) != content(old, member))
        .map(|member| fixed(member));
    flag.into_iter().chain(changed).collect()
}

fn content<'a>(object: &'a Value, member: &str) -> Option<&'a Value> {
    object
        .get(member)
        .filter(|value| value.as_object().is_some_and(|map| !map.is_empty()))
}

/// Returns the faults of a key of `data` or `binaryData`.
pub(super) fn validate_key(field: &str, key: &str) -> Vec<FieldError> {
    let mut faults = Vec::new();
    if key.len() > 253 {
        faults.push("must be no more than 253 characters");
    }
    if key.is_empty()
        || !key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    {
        faults.push(KEY);
    }
    match key {
        "." => faults.push("must not be '.'"),
        ".." => faults.push("must not be '..'"),
        _ if key.starts_with("..") => faults.push("must not start with '..'"),
        _ => {}
    }
    faults
        .into_iter()
        .map(|fault| invalid(&format!("{field}[{key}]"), key, fault))
        .collect()
}

/// Returns how many bytes a base64 text stands for.
pub(super) fn decoded_length(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default().trim_end_matches('=');
    text.len() * 3 / 4
}
