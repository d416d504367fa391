//! The patch operations of a mutation, and which of them a policy can use.
//!
//! Without `allowOverwrite` only absent fields are added, so that a mutation never changes what a client wrote, and adds nothing to its
//! own result. The fields that identify an object never change.

use json_patch::{AddOperation, Patch, PatchOperation, ReplaceOperation, jsonptr::PointerBuf};
use serde_json::{Map, Value};

/// Whether existing fields of the object can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Only absent fields are added.
    AbsentOnly,
    /// Every field can be changed.
    Overwrite,
}

/// Bytes that the operations of one mutation may add: a copy of a copy of a copy grows without end.
const MOST_GROWN: usize = 1 << 20;

/// Fields that identify the object or that the API server manages.
const KEPT: [&str; 9] = [
    "/apiVersion",
    "/kind",
    "/metadata/name",
    "/metadata/generateName",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/metadata/deletionTimestamp",
];

/// Returns the operations of an expression that change `object`. If a `test` operation fails there are no operations, and this is no
/// fault: with `test` a JSONPatch is conditional, as in Kubernetes.
pub(super) fn operations(made: &Value, object: &Value, leave: Leave) -> Result<Vec<PatchOperation>, String> {
    let Patch(wanted) = serde_json::from_value::<Patch>(made.clone())
        .map_err(|error| format!("is not a list of patch operations: {error}"))?;
    let mut draft = object.clone();
    let mut kept = Vec::new();
    let mut remaining = MOST_GROWN;
    for operation in wanted {
        touched(&operation)?;
        remaining = grown(&operation, &draft, remaining)?;
        if let PatchOperation::Test(test) = &operation {
            if draft.pointer(test.path.as_str()).unwrap_or(&Value::Null) != &test.value {
                return Ok(Vec::new());
            }
            // The test passed for this object, so the API server does not need to repeat it.
            continue;
        }
        if leave == Leave::AbsentOnly && !adds(&operation, &draft)? {
            continue;
        }
        json_patch::patch(&mut draft, std::slice::from_ref(&operation))
            .map_err(|error| format!("cannot be applied: {}", one_line(&error.to_string())))?;
        kept.push(operation);
    }
    Ok(kept)
}

/// Returns the operations that merge the fields of `made` into `object`.
pub(super) fn merged(made: &Value, object: &Value, leave: Leave) -> Result<Vec<PatchOperation>, String> {
    let Value::Object(fields) = made else {
        return Err("is not an Object".to_owned());
    };
    let mut operations = Vec::new();
    merge(fields, object, &PointerBuf::root(), leave, &mut operations)?;
    operations.iter().try_for_each(touched)?;
    Ok(operations)
}

fn merge(
    fields: &Map<String, Value>,
    object: &Value,
    at: &PointerBuf,
    leave: Leave,
    operations: &mut Vec<PatchOperation>,
) -> Result<(), String> {
    for (name, wanted) in fields {
        let mut path = at.clone();
        path.push_back(name.as_str());
        let there = object.get(name).filter(|value| !value.is_null());
        match (wanted, there) {
            (wanted, Some(there)) if wanted == there => {}
            (Value::Array(_), _) => {
                return Err(format!("{path}: lists cannot be merged: use a JSONPatch"));
            }
            (Value::Object(inner), Some(there)) if there.is_object() => {
                merge(inner, there, &path, leave, operations)?;
            }
            (wanted, None) if holds_list(wanted) => {
                return Err(format!("{path}: lists cannot be merged: use a JSONPatch"));
            }
            (wanted, None) => operations.push(PatchOperation::Add(AddOperation {
                path,
                value: wanted.clone(),
            })),
            (wanted, Some(_)) => {
                if leave == Leave::Overwrite {
                    operations.push(PatchOperation::Replace(ReplaceOperation {
                        path,
                        value: wanted.clone(),
                    }));
                }
            }
        }
    }
    Ok(())
}

fn holds_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(members) => members.values().any(holds_list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns whether an operation adds an absent field, or why the operation is not allowed.
fn adds(operation: &PatchOperation, object: &Value) -> Result<bool, String> {
    match operation {
        PatchOperation::Test(_) => Ok(true),
        PatchOperation::Add(add) => {
            let path = add.path.to_string();
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            if object.pointer(parent).is_some_and(Value::is_array) {
                return Err(format!("{path}: must not change a list without allowOverwrite"));
            }
            Ok(object.pointer(&path).is_none_or(Value::is_null))
        }
        PatchOperation::Remove(_)
        | PatchOperation::Replace(_)
        | PatchOperation::Move(_)
        | PatchOperation::Copy(_) => Err(format!(
            "{}: only add and test are possible without allowOverwrite",
            operation.path()
        )),
    }
}

/// Returns how many bytes can still be added after an operation.
fn grown(operation: &PatchOperation, object: &Value, remaining: usize) -> Result<usize, String> {
    let added = match operation {
        PatchOperation::Add(add) => Some(&add.value),
        PatchOperation::Replace(replace) => Some(&replace.value),
        PatchOperation::Copy(copy) => object.pointer(copy.from.as_str()),
        PatchOperation::Test(_) | PatchOperation::Remove(_) | PatchOperation::Move(_) => None,
    };
    let left = remaining.checked_sub(added.map_or(0, size));
    left.ok_or_else(|| format!("{}: adds more than {MOST_GROWN} bytes in total", operation.path()))
}

/// Returns the approximate size of a value in bytes.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len().saturating_add(2),
        Value::Array(items) => items.iter().map(size).fold(2, usize::saturating_add),
        Value::Object(fields) => {
            let members = fields
                .iter()
                .map(|(name, value)| name.len().saturating_add(size(value)));
            members.fold(2, usize::saturating_add)
        }
    }
}

fn touched(operation: &PatchOperation) -> Result<(), String> {
    if let PatchOperation::Test(_) = operation {
        return Ok(());
    }
    let path = operation.path().to_string();
    let inside =
        |kept: &str| path == kept || path.strip_prefix(kept).is_some_and(|rest| rest.starts_with('/'));
    let whole = path.is_empty() || path == "/metadata";
    if whole || KEPT.iter().any(|kept| inside(kept)) || inside("/status") {
        return Err(format!("{path}: must not be changed by a policy"));
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(operations: Result<Vec<PatchOperation>, String>, object: &Value) -> Result<Value, String> {
        let mut object = object.clone();
        json_patch::patch(&mut object, &operations?).map_err(|error| error.to_string())?;
        Ok(object)
    }

    #[test]
    fn without_leave_only_absent_fields_are_added() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"a": 1, "list": [1]}});
        let run = |made: Value| result(operations(&made, &object, Leave::AbsentOnly), &object);
        let add = |path: &str| json!([{"op": "add", "path": path, "value": 2}]);
        assert_eq!(
            run(add("/spec/b")).map(|new| new["spec"].clone()),
            Ok(json!({"a": 1, "b": 2, "list": [1]}))
        );
        assert_eq!(run(add("/spec/a")).as_ref(), Ok(&object), "what is there stays");
        assert!(run(add("/spec/list/-")).is_err());
        assert!(run(json!([{"op": "replace", "path": "/spec/a", "value": 2}])).is_err());
        assert!(run(add("/spec/x/y")).is_err(), "an absent parent is not created");
    }

    #[test]
    fn a_test_that_fails_takes_everything_back_and_is_no_fault() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"a": 1}});
        let run = |path: &str, value: Value| {
            let made = json!([{"op": "add", "path": "/spec/b", "value": 2}, {"op": "test", "path": path, "value": value}]);
            result(operations(&made, &object, Leave::Overwrite), &object).map(|new| new["spec"].clone())
        };
        assert_eq!(run("/spec/a", json!(1)), Ok(json!({"a": 1, "b": 2})));
        assert_eq!(run("/spec/a", json!(2)), Ok(json!({"a": 1})));
        assert_eq!(run("/spec/c", json!(2)), Ok(json!({"a": 1})), "absent is not two");
        assert_eq!(
            run("/spec/c", Value::Null),
            Ok(json!({"a": 1, "b": 2})),
            "absent is null"
        );
    }

    #[test]
    fn identity_is_never_changed() {
        let object = json!({"metadata": {"name": "a"}, "spec": {}});
        for path in [
            "/metadata/name",
            "/kind",
            "/metadata",
            "",
            "/status/a",
            "/metadata/managedFields/0",
        ] {
            let made = json!([{"op": "add", "path": path, "value": {}}]);
            assert!(operations(&made, &object, Leave::Overwrite).is_err(), "{path}");
        }
        let label = json!([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]);
        assert!(operations(&label, &object, Leave::AbsentOnly).is_ok());
    }

    #[test]
    fn objects_are_merged_field_by_field() {
        let object = json!({"spec": {"a": 1, "in": {"x": 1}}});
        let made = json!({"spec": {"a": 2, "in": {"y": 2}, "b": 3}});
        let absent = result(merged(&made, &object, Leave::AbsentOnly), &object);
        assert_eq!(
            absent,
            Ok(json!({"spec": {"a": 1, "b": 3, "in": {"x": 1, "y": 2}}}))
        );
        let over = result(merged(&made, &object, Leave::Overwrite), &object);
        assert_eq!(
            over,
            Ok(json!({"spec": {"a": 2, "b": 3, "in": {"x": 1, "y": 2}}}))
        );
        assert!(merged(&json!({"spec": {"l": [1]}}), &object, Leave::Overwrite).is_err());
    }

    #[test]
    fn a_mutation_adds_nothing_to_its_own_result() {
        let object = json!({"spec": {}});
        let made = json!([{"op": "add", "path": "/spec/a", "value": {}}, {"op": "add", "path": "/spec/a/b", "value": 1}]);
        let once = result(operations(&made, &object, Leave::AbsentOnly), &object).expect("it fits");
        assert_eq!(operations(&made, &once, Leave::AbsentOnly), Ok(Vec::new()));
    }
}
