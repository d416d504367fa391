//! What a field manager has applied to an object before, with the values that stand there now.
//!
//! Decides what a further apply of that manager has to repeat: an API server takes away what a manager has applied before, applies no more
//! and owns alone. Never tells what other managers own.

use serde_json::{Map, Value};

/// Returns the fields of an object that a manager has applied, in the version in which the object was read; an empty object if none.
pub(super) fn applied(object: &Value, manager: &str) -> Value {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let is_its = |entry: &&Value| {
        let says = |key: &str, value: &str| entry.get(key).and_then(Value::as_str) == Some(value);
        let is_of_the_object = entry.get("subresource").is_none();
        says("manager", manager)
            && says("operation", "Apply")
            && entry.get("apiVersion") == object.get("apiVersion")
            && is_of_the_object
    };
    let entry = entries.into_iter().flatten().find(is_its);
    let fields = entry.and_then(|entry| entry.get("fieldsV1"));
    // An apply of an empty spec owns nothing of it, although `{}` is the whole value elsewhere.
    let is_empty = fields.is_some_and(|fields| fields.get("f:spec") == Some(&Value::Object(Map::new())));
    fields
        .filter(|_| !is_empty)
        .and_then(|fields| owned(object, fields))
        .unwrap_or_else(|| Value::Object(Map::new()))
}

/// Returns what of a value a set of fields names, as `fieldsV1` writes it: `{}` is the whole value, `.` the value without what is in it.
pub(super) fn owned(value: &Value, fields: &Value) -> Option<Value> {
    let fields = fields.as_object()?;
    if fields.is_empty() {
        return Some(value.clone());
    }
    match value {
        Value::Object(members) => {
            let kept = fields.iter().filter_map(|(key, below)| {
                let name = key.strip_prefix("f:")?;
                Some((name.to_owned(), owned(members.get(name)?, below)?))
            });
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => {
            let kept = items.iter().filter_map(|item| {
                let mut named = fields.iter();
                named.find_map(|(key, below)| owned_item(item, key, below))
            });
            Some(Value::Array(kept.collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

/// Returns what of an item of a list is named by a key such as `k:{"name":"x"}` or `v:"x"`, if it is this item that is named.
fn owned_item(item: &Value, key: &str, below: &Value) -> Option<Value> {
    if let Some(text) = key.strip_prefix("v:") {
        let value: Value = serde_json::from_str(text).ok()?;
        return (value == *item).then_some(value);
    }
    let keys: Map<String, Value> = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
    if !keys.iter().all(|(key, value)| item.get(key) == Some(value)) {
        return None;
    }
    let mut kept = owned(item, below)?;
    // Without its keys it would be no item of that list.
    kept.as_object_mut()?.extend(keys);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(fields: &Value) -> Value {
        json!({"apiVersion": "a/v1", "metadata": {"managedFields": [
                {"manager": "undo", "operation": "Update", "apiVersion": "a/v1", "fieldsV1": {"f:spec": {"f:other": {}}}},
                {"manager": "undo", "operation": "Apply", "apiVersion": "a/v1", "subresource": "status", "fieldsV1": {"f:status": {}}},
                {"manager": "kubectl", "operation": "Apply", "apiVersion": "a/v1", "fieldsV1": {"f:spec": {"f:other": {}}}},
                {"manager": "undo", "operation": "Apply", "apiVersion": "a/v1", "fieldsV1": {"f:spec": fields}}]},
            "spec": {"other": 1, "list": [{"name": "a", "x": 1, "y": 2}, {"name": "b", "x": 3}], "set": ["s", "t"],
                "whole": {"deep": [1]}}})
    }

    #[test]
    fn what_is_repeated_is_what_was_applied_with_the_values_of_now() {
        for (fields, expected) in [
            (json!({"f:whole": {}}), json!({"whole": {"deep": [1]}})),
            (json!({"f:whole": {".": {}}}), json!({"whole": {}})),
            (
                json!({"f:list": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:x": {}}}}),
                json!({"list": [{"name": "a", "x": 1}]}),
            ),
            (
                json!({"f:list": {"k:{\"name\":\"b\"}": {".": {}}}}),
                json!({"list": [{"name": "b"}]}),
            ),
            (json!({"f:set": {"v:\"t\"": {}}}), json!({"set": ["t"]})),
            // What is not there any more cannot be repeated.
            (
                json!({"f:gone": {}, "f:list": {"k:{\"name\":\"gone\"}": {"f:x": {}}}}),
                json!({"list": []}),
            ),
        ] {
            assert_eq!(
                applied(&object(&fields), "undo"),
                json!({"spec": expected}),
                "{fields}"
            );
        }
    }

    #[test]
    fn a_manager_that_has_applied_nothing_repeats_nothing() {
        let none = json!({});
        assert_eq!(applied(&object(&json!({"f:whole": {}})), "promote"), none);
        assert_eq!(applied(&json!({"metadata": {}}), "undo"), none);
        assert_eq!(
            applied(&object(&none), "undo"),
            none,
            "it has applied an empty spec"
        );
        assert_eq!(
            applied(
                &json!({"metadata": {"managedFields": [{"manager": "undo"}]}}),
                "undo"
            ),
            none
        );
    }
}
