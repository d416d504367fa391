//! Fields of an object that is put together.
//!
//! Decides nothing: objects and lists on the way to a field are made where they are not there.

use serde_json::{Map, Value};

/// Returns the field at a path.
pub(super) fn field<'v>(object: &'v mut Value, path: &[&str]) -> &'v mut Value {
    let mut value = object;
    for name in path {
        value = fields(value).entry(*name).or_insert(Value::Null);
    }
    value
}

/// Returns the fields of an object.
pub(super) fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made an object")
}

/// Returns the entries of a list.
pub(super) fn entries(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut().expect("it was made a list")
}
