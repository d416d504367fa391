//! What a definition says without saying it.
//!
//! Decides defaults of names and conversion, and the status of a new definition.

use serde_json::{Map, Value, json};

/// Returns the storage version of a definition.
pub(crate) fn storage_version(definition: &Value) -> Option<&str> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
    let storage = versions
        .iter()
        .find(|version| version.get("storage") == Some(&Value::Bool(true)))?;
    storage.get("name").and_then(Value::as_str)
}

/// Completes a new definition.
pub(crate) fn prepare_new(definition: &mut Value) {
    fill(definition);
    let stored: Vec<String> = storage_version(definition)
        .map(str::to_owned)
        .into_iter()
        .collect();
    let stored = if stored.is_empty() {
        Value::Null
    } else {
        json!(stored)
    };
    let status = json!({ "acceptedNames": { "kind": "", "plural": "" }, "conditions": null, "storedVersions": stored });
    if let Some(members) = definition.as_object_mut() {
        members.insert("status".to_owned(), status);
    }
}

/// Completes a changed definition. The status is the hub's own, but a new storage version is noted.
pub(crate) fn prepare_changed(definition: &mut Value, old: &Value) {
    fill(definition);
    let mut status = old.get("status").cloned().unwrap_or_else(|| json!({}));
    let storage = storage_version(definition).map(str::to_owned);
    if let (Some(stored), Some(storage)) = (
        status.get_mut("storedVersions").and_then(Value::as_array_mut),
        storage,
    ) && !stored.contains(&Value::String(storage.clone()))
    {
        stored.push(Value::String(storage));
    }
    if let Some(members) = definition.as_object_mut() {
        members.insert("status".to_owned(), status);
    }
}

/// Fills in what a definition says without saying it.
pub(crate) fn fill(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        fill_names(names);
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({ "strategy": "None" }));
    }
    let service = spec
        .get_mut("conversion")
        .and_then(|conversion| conversion.pointer_mut("/webhook/clientConfig/service"))
        .and_then(Value::as_object_mut);
    if let Some(service) = service {
        service.entry("port").or_insert_with(|| json!(443));
    }
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
}

fn fill_names(names: &mut Map<String, Value>) {
    let kind = names
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if kind.is_empty() {
        return;
    }
    let lacks = |names: &Map<String, Value>, name: &str| {
        names.get(name).and_then(Value::as_str).is_none_or(str::is_empty)
    };
    if lacks(names, "singular") {
        names.insert("singular".to_owned(), Value::String(kind.to_lowercase()));
    }
    if lacks(names, "listKind") {
        names.insert("listKind".to_owned(), Value::String(format!("{kind}List")));
    }
}
