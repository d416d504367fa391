//! Members of a built-in object that the API server fills in or carries over.
//!
//! Decides how a member is found, filled in and carried over; never which one, and never whether its value is legal.

use serde_json::{Map, Value};

/// Fills in a member that is absent or null.
pub(super) fn fill(map: &mut Map<String, Value>, member: &str, value: Value) {
    if map.get(member).is_none_or(Value::is_null) {
        map.insert(member.to_owned(), value);
    }
}

/// Returns the object at `pointer`.
pub(super) fn at<'a>(value: &'a mut Value, pointer: &str) -> Option<&'a mut Map<String, Value>> {
    value.pointer_mut(pointer)?.as_object_mut()
}

/// Returns the objects of a list.
pub(super) fn items<'a>(
    map: &'a mut Map<String, Value>,
    member: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = map.get_mut(member).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Gives `new` the member that `old` has, or takes it away if `old` has none.
pub(super) fn carry(new: &mut Value, old: &Value, member: &str) {
    let Value::Object(map) = new else { return };
    match old.get(member) {
        Some(value) => map.insert(member.to_owned(), value.clone()),
        None => map.remove(member),
    };
}
