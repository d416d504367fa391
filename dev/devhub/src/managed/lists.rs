//! Reading and writing the list in an object's metadata.
//!
//! Decides what a client's own list means: a valid one counts, an empty one forgets all owners, a faulty one is ignored.

use serde_json::{Value, json};

use super::entries::Managers;

const NAME: &str = "managedFields";

/// Returns the list of an object, null if there is none.
pub(crate) fn raw(object: &Value) -> &Value {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(NAME))
        .unwrap_or(&Value::Null)
}

/// Takes the list out of an object.
pub(super) fn take(object: &mut Value) -> Value {
    object
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .and_then(|metadata| metadata.remove(NAME))
        .unwrap_or_default()
}

/// Puts the list into an object; one without entries is left out.
pub(super) fn put(object: &mut Value, managers: &Managers) {
    if managers.is_empty() {
        return;
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(NAME.to_owned(), managers.encode());
    }
}

/// Returns whether a client asks to forget all owners.
fn forgets(list: &Value) -> bool {
    match list.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => *one == json!({}),
        Some(_) | None => false,
    }
}

/// Returns the managers that a write begins with.
pub(super) fn before(given: &Value, stored: &Value) -> Managers {
    if forgets(given) {
        return Managers::default();
    }
    match Managers::decode(given) {
        Ok(managers) if !managers.is_empty() => managers,
        Ok(_) | Err(_) => Managers::decode(stored).unwrap_or_default(),
    }
}
