//! The `metadata` of objects: reading, shaping, and the fields that belong to the server.
//!
//! Decides which members of metadata exist and who owns them; whether their values are legal is decided elsewhere.

use serde_json::{Map, Number, Value, json};

use crate::admission::Warnings;
use crate::builtin;
use crate::hub::timestamp;

/// Returns the metadata of an object.
pub(crate) fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

/// Returns the metadata of an object, made if it is missing.
pub(crate) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let members = object.as_object_mut()?;
    let metadata = members.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut()
}

/// Returns a text of the metadata, empty if absent.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    metadata(object)
        .and_then(|metadata| metadata.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Sets a member of the metadata.
pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert(name.to_owned(), value);
    }
}

/// Removes a member of the metadata.
pub(crate) fn remove(object: &mut Value, name: &str) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.remove(name);
    }
}

/// Returns the texts of a list in the metadata.
pub(crate) fn texts(object: &Value, name: &str) -> Vec<String> {
    let list = metadata(object)
        .and_then(|metadata| metadata.get(name))
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Returns whether the object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// Returns the generation, 0 if there is none.
pub(crate) fn generation(object: &Value) -> i64 {
    metadata(object)
        .and_then(|metadata| metadata.get("generation"))
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// Sets the generation; 0 removes it.
pub(crate) fn set_generation(object: &mut Value, generation: i64) {
    if generation == 0 {
        remove(object, "generation");
    } else {
        set(object, "generation", Value::Number(Number::from(generation)));
    }
}

/// Drops what a client may not say of a new object.
pub(crate) fn wipe(object: &mut Value) {
    for name in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        remove(object, name);
    }
}

/// Fills what the server owns in a new object and drops what a client may not set.
pub(crate) fn fill_new(object: &mut Value) {
    wipe(object);
    remove(object, "generation");
    set(object, "creationTimestamp", Value::String(timestamp()));
    set(object, "uid", Value::String(uuid::Uuid::new_v4().to_string()));
}

/// Keeps what the server owns from the old object.
pub(crate) fn keep_owned(object: &mut Value, old: &Value) {
    let Some(before) = metadata(old) else { return };
    remove(object, "selfLink");
    if let Some(created) = before.get("creationTimestamp") {
        set(object, "creationTimestamp", created.clone());
    }
    set_generation(object, generation(old));
    for name in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let absent = metadata(object).is_none_or(|metadata| !metadata.contains_key(name));
        if let Some(value) = before.get(name).filter(|_| absent) {
            set(object, name, value.clone());
        }
    }
}

/// Drops members that say nothing: nulls, empty texts, empty lists and maps, zero numbers.
pub(crate) fn tidy(object: &mut Value) {
    let Some(metadata) = metadata_mut(object) else {
        return;
    };
    metadata.retain(|name, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        // An empty list of owners asks to forget them.
        Value::Array(list) => !list.is_empty() || name == "managedFields",
        Value::Object(map) => !map.is_empty(),
        Value::Number(number) => name == "deletionGracePeriodSeconds" || number.as_i64() != Some(0),
        Value::Bool(_) => true,
    });
}

/// Drops repeated owner references, with a warning.
pub(crate) fn settle_owners(object: &mut Value, warnings: &mut Warnings) {
    if let Some(metadata) = object.get_mut("metadata") {
        warnings.extend(builtin::owners::drop_duplicates(metadata));
    }
}

/// Returns a name made of a prefix and five random letters.
pub(crate) fn generated_name(prefix: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let cut: String = prefix.chars().take(58).collect();
    let tail: String = (0..5)
        .filter_map(|_| LETTERS.get(rand::random_range(0..LETTERS.len())))
        .map(|letter| char::from(*letter))
        .collect();
    format!("{cut}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_have_five_letters_more() {
        let name = generated_name("web-");
        assert_eq!(name.len(), 9);
        assert!(name.starts_with("web-"));
    }
}
