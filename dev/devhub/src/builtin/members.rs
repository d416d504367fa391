//! Members of a built-in object that the API server carries over.

use serde_json::Value;

/// Gives `new` the member that `old` has, or takes it away if `old` has none.
pub(super) fn carry(new: &mut Value, old: &Value, member: &str) {
    let Value::Object(map) = new else { return };
    match old.get(member) {
        Some(value) => map.insert(member.to_owned(), value.clone()),
        None => map.remove(member),
    };
}
