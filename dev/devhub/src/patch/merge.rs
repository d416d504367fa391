//! JSON merge patch (RFC 7386) as the library that Kubernetes uses does it.
//!
//! Decides what a merge patch makes of a document.

use serde_json::{Map, Value};

use super::go_json::{self, type_name};
use crate::ApiError;
use crate::patch::json::Decoding;

/// A decoded merge patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePatch {
    /// The patch itself, an object.
    pub value: Value,
    /// Findings for `fieldValidation` Warn and Strict, such as `duplicate field "spec.size"`.
    pub strict: Vec<String>,
}

/// Decodes the body of a merge patch.
pub fn decode(body: &[u8], decoding: Decoding) -> Result<MergePatch, ApiError> {
    let unreadable = || ApiError::bad_request("Invalid JSON Patch");
    let fault = |text: String| match decoding {
        Decoding::Checked => ApiError::bad_request(format!("error decoding patch: {text}")),
        Decoding::Plain => unreadable(),
    };
    let duplicates = go_json::check(body).map_err(fault)?;
    let value: Value = serde_json::from_slice(body).map_err(|error| fault(error.to_string()))?;
    match &value {
        Value::Object(_) => {}
        Value::Null => return Err(unreadable()),
        other => {
            let found = type_name(other);
            return Err(fault(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
    }
    let strict = match decoding {
        Decoding::Checked => duplicates
            .iter()
            .map(|path| format!("duplicate field \"{path}\""))
            .collect(),
        Decoding::Plain => Vec::new(),
    };
    Ok(MergePatch { value, strict })
}

/// Merges `patch` into `target`.
pub fn apply(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => merge(target, patch),
        (target, patch) => *target = pruned(patch),
    }
}

fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
            continue;
        }
        match (target.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(patch)) => merge(below, patch),
            // Where an object gives way to a list, the list is taken as it is; in every other case nulls inside of it go.
            (Some(old @ Value::Object(_)), _) => *old = value.clone(),
            (Some(old), _) => *old = pruned(value),
            (None, _) => {
                target.insert(key.clone(), pruned(value));
            }
        }
    }
}

/// Returns `value` without the null members of its objects; nulls in lists stay.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), pruned(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(pruned).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merges_as_recorded() {
        for (name, mut target, patch, expected) in [
            (
                "nulls delete, lists are replaced, objects merge",
                json!({"note": "xx", "set": ["a", "b"], "g": {"k": {"v": 1}}, "o": {"z": {"y": 1}}}),
                json!({"note": null, "set": ["c"], "g": {"k": null, "l": {"v": 2}}, "o": {"z": {"y": null, "x": 2}}}),
                json!({"set": ["c"], "g": {"l": {"v": 2}}, "o": {"z": {"x": 2}}}),
            ),
            (
                "nulls of new objects are dropped",
                json!({}),
                json!({"o": {"n": null, "deep": {"a": null, "b": 1}}}),
                json!({"o": {"deep": {"b": 1}}}),
            ),
            (
                "a scalar gives way",
                json!({"a": 1}),
                json!({"a": {"b": null, "c": 1}}),
                json!({"a": {"c": 1}}),
            ),
            (
                "an object gives way to a list",
                json!({"a": {}}),
                json!({"a": [{"b": null}]}),
                json!({"a": [{"b": null}]}),
            ),
            (
                "nulls in lists stay",
                json!({}),
                json!({"a": [null, 1]}),
                json!({"a": [null, 1]}),
            ),
        ] {
            apply(&mut target, &patch);
            assert_eq!(target, expected, "{name}");
        }
    }

    #[test]
    fn bad_bodies_answer_as_recorded() {
        for (body, message) in [
            (
                "[1]",
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            (
                "\"str\"",
                "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
            ),
            ("{\"spec\":", "error decoding patch: unexpected end of JSON input"),
            ("", "error decoding patch: unexpected end of JSON input"),
            ("null", "Invalid JSON Patch"),
        ] {
            let error = decode(body.as_bytes(), Decoding::Checked).expect_err(body);
            assert_eq!((error.code, error.message.as_str()), (400, message), "{body}");
        }
    }
}
