//! Reading objects of a hub without types of them: a neighbour looks at few fields of many kinds.

use serde_json::Value;

/// Returns the text at a pointer, or "".
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns the list at a pointer, or an empty one.
pub(super) fn list<'v>(object: &'v Value, pointer: &str) -> &'v [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns an annotation.
pub(super) fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

/// Returns a label, or "".
pub(super) fn label<'v>(object: &'v Value, key: &str) -> &'v str {
    let labels = object.pointer("/metadata/labels");
    labels
        .and_then(|labels| labels.get(key)?.as_str())
        .unwrap_or_default()
}

/// Returns the condition of a type.
pub(super) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    list(object, "/status/conditions")
        .iter()
        .find(|one| text(one, "/type") == kind)
}

/// Returns the status of a condition, or "".
pub(super) fn says<'v>(object: &'v Value, kind: &str) -> &'v str {
    condition(object, kind).map_or("", |one| text(one, "/status"))
}

/// Returns whether an object is being deleted.
pub(super) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}
