//! What reasons need of the objects themselves, beside the store.
//!
//! Decides what is left out: as trees, all objects of a large hub take ten times the memory of the store.

use serde_json::{Value, json};

use store::Kind;

/// Returns what the reasons of add-ons and upgrades need of an object that the store has as well; nothing if they need nothing.
///
/// Of a ManifestWork these are the manifests about which the agent reports a failure or values.
pub fn kept(kind: Kind, object: &Value) -> Option<Value> {
    if [Kind::AddOn, Kind::Profile, Kind::Placement].contains(&kind) {
        return Some(object.clone());
    }
    let deleted = object.pointer("/metadata/deletionTimestamp");
    let manifests: Vec<&Value> = reported(object).collect();
    if kind != Kind::Namespace && deleted.is_none() && manifests.is_empty() {
        return None;
    }
    let name = |field: &str| object.pointer(&format!("/metadata/{field}"));
    let mut metadata = json!({"name": name("name"), "namespace": name("namespace")});
    let mut kept = json!({"apiVersion": kind.api_version(), "kind": kind.address().kind});
    // Each further map takes as much memory as these two.
    let ends = deleted.map(|deleted| ("deletionTimestamp".to_owned(), deleted.clone()));
    metadata.as_object_mut()?.extend(ends);
    let fields = kept.as_object_mut()?;
    fields.insert("metadata".to_owned(), metadata);
    if !manifests.is_empty() {
        let status = json!({"resourceStatus": {"manifests": manifests}});
        fields.insert("status".to_owned(), status);
    }
    Some(kept)
}

/// Returns the manifests of a work about which its agent reports more than success.
fn reported(object: &Value) -> impl Iterator<Item = &Value> {
    let manifests = object
        .pointer("/status/resourceStatus/manifests")
        .and_then(Value::as_array);
    let fails = |manifest: &Value| {
        let conditions = manifest.get("conditions").and_then(Value::as_array);
        let mut each = conditions.into_iter().flatten();
        each.any(|condition| condition.get("status").and_then(Value::as_str) == Some("False"))
    };
    let has_values = |manifest: &Value| manifest.pointer("/statusFeedback/values").is_some();
    manifests
        .into_iter()
        .flatten()
        .filter(move |manifest| fails(manifest) || has_values(manifest))
}
