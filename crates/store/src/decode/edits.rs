//! Who edited a part of an object last, and when, as its field managers say.
//!
//! Decides which records of field managers are kept: those of the spec of a configuration, and those of the pauses of an
//! AddOnRollout. An edit that changes no value of a field is not recorded.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::kind::Kind;
use crate::names::Names;
use crate::record::{Edit, PauseEdit};

const SPEC: &str = "f:spec";
const PAUSE: &str = "f:pause";
const PLACEMENTS: &str = "f:placements";
/// Kinds whose author is known by their spec.
const CONFIGS: [Kind; 3] = [Kind::Template, Kind::DeploymentConfig, Kind::HubConfig];

/// Returns whether anything of the records of field managers is kept of an object of this kind.
pub fn has_owners(kind: &str) -> bool {
    let mut known = [Kind::Instance, Kind::Rollout].into_iter().chain(CONFIGS);
    known.any(|known| known.address().kind == kind)
}

/// Returns the records of field managers that are kept of an object, in the form of `metadata.managedFields`; nothing if there are none.
pub fn kept_editors(object: &Value) -> Option<Value> {
    let kind = object.get("kind").and_then(Value::as_str)?;
    let is_config = CONFIGS.iter().any(|known| known.address().kind == kind);
    if !is_config && kind != Kind::Rollout.address().kind {
        return None;
    }
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let kept = entries.iter().filter_map(|entry| {
        let fields = entry.get("fieldsV1")?;
        let fields = if is_config {
            fields.get(SPEC)?;
            json!({SPEC: {}})
        } else {
            json!({SPEC: pauses_only(fields.get(SPEC)?.as_object()?)?})
        };
        let known = ["manager", "operation", "subresource", "time"];
        let known = known
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), entry.get(key)?.clone())));
        let mut entry: Map<String, Value> = known.collect();
        entry.insert("fieldsV1".to_owned(), fields);
        Some(Value::Object(entry))
    });
    let kept: Vec<Value> = kept.collect();
    (!kept.is_empty()).then_some(Value::Array(kept))
}

/// Returns the fields of pauses alone.
fn pauses_only(spec: &Map<String, Value>) -> Option<Value> {
    let mut kept = Map::new();
    if spec.contains_key(PAUSE) {
        kept.insert(PAUSE.to_owned(), json!({}));
    }
    let places = spec.get(PLACEMENTS).and_then(Value::as_object);
    let paused = places
        .into_iter()
        .flatten()
        .filter(|(_, fields)| fields.get(PAUSE).is_some());
    let paused: Map<String, Value> = paused.map(|(key, _)| (key.clone(), json!({PAUSE: {}}))).collect();
    if !paused.is_empty() {
        kept.insert(PLACEMENTS.to_owned(), Value::Object(paused));
    }
    (!kept.is_empty()).then_some(Value::Object(kept))
}

/// Returns the last edit of the spec of an object.
pub(crate) fn edit_of_spec(metadata: &ObjectMeta, names: &mut Names) -> Option<Edit> {
    let edits = entries(metadata).filter(|(_, _, fields)| fields.get(SPEC).is_some());
    let (manager, at, _) = edits.max_by_key(|(_, at, _)| *at)?;
    Some(Edit {
        manager: names.share(manager),
        at,
    })
}

/// Returns the last edit of every pause of an AddOnRollout.
pub(crate) fn edits_of_pauses(metadata: &ObjectMeta, names: &mut Names) -> Vec<PauseEdit> {
    let mut all: Vec<PauseEdit> = Vec::new();
    for (manager, at, fields) in entries(metadata) {
        let spec = fields.get(SPEC);
        let of_all = spec.and_then(|spec| spec.get(PAUSE)).map(|_| None);
        let places = spec
            .and_then(|spec| spec.get(PLACEMENTS))
            .and_then(Value::as_object);
        let places = places.into_iter().flatten();
        let paused = places
            .filter(|(_, fields)| fields.get(PAUSE).is_some())
            .filter_map(|(key, _)| Some(Some(place(key)?)));
        for place in of_all.into_iter().chain(paused) {
            let edit = Edit {
                manager: names.share(manager),
                at,
            };
            match all.iter_mut().find(|known| known.place == place) {
                Some(known) if known.edit.at < at => known.edit = edit,
                Some(_) => {}
                None => all.push(PauseEdit { place, edit }),
            }
        }
    }
    all
}

/// The key of an item: `k:{"name":"all","namespace":"default"}`.
fn place(key: &str) -> Option<(String, String)> {
    let keys: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
    let text = |key: &str| keys.get(key).and_then(Value::as_str).map(str::to_owned);
    Some((text("namespace")?, text("name")?))
}

/// Returns the field managers of an object itself, with the time and the fields of their last write.
fn entries(metadata: &ObjectMeta) -> impl Iterator<Item = (&str, Timestamp, &Value)> {
    let all = metadata.managed_fields.iter().flatten();
    let own = all.filter(|entry| entry.subresource.as_deref().unwrap_or_default().is_empty());
    own.filter_map(|entry| {
        let fields = &entry.fields_v1.as_ref()?.0;
        Some((entry.manager.as_deref()?, entry.time.as_ref()?.0, fields))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(object: &Value) -> ObjectMeta {
        serde_json::from_value(object["metadata"].clone()).expect("metadata")
    }

    fn object(kind: &str, entries: &Value) -> Value {
        json!({"kind": kind, "metadata": {"name": "x", "managedFields": entries}})
    }

    #[test]
    fn the_last_edit_of_a_spec_counts() {
        let entries = json!([
            {"manager": "flux", "operation": "Apply", "time": "2030-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:a": {}}}},
            {"manager": "kubectl-edit", "operation": "Update", "time": "2030-01-02T00:00:00Z", "fieldsV1": {"f:spec": {"f:b": {}}}},
            {"manager": "labeller", "operation": "Update", "time": "2030-01-03T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
        ]);
        let mut object = object("AddOnDeploymentConfig", &entries);
        let edit = edit_of_spec(&metadata(&object), &mut Names::default()).expect("an edit");
        assert_eq!(
            (&*edit.manager, edit.at.to_string().as_str()),
            ("kubectl-edit", "2030-01-02T00:00:00Z")
        );
        let kept = kept_editors(&object).expect("editors");
        assert_eq!(kept.as_array().map(Vec::len), Some(2));
        object["metadata"]["managedFields"] = kept;
        assert_eq!(
            edit_of_spec(&metadata(&object), &mut Names::default()),
            Some(edit)
        );
        object["kind"] = json!("ManagedCluster");
        assert_eq!(kept_editors(&object), None);
    }

    #[test]
    fn every_pause_has_its_own_author() {
        let key = r#"k:{"namespace":"default","name":"edge"}"#;
        let entries = json!([
            {"manager": "tidegate-rollout-pause", "operation": "Update", "time": "2030-01-01T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:pause": {".": {}, "f:reason": {}}, "f:addon": {}}}},
            {"manager": "argocd", "operation": "Apply", "time": "2030-01-02T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:placements": {key: {"f:pause": {}, "f:windows": {}}}}}},
        ]);
        let mut object = object("AddOnRollout", &entries);
        object["metadata"]["managedFields"] = kept_editors(&object).expect("editors");
        let pauses = edits_of_pauses(&metadata(&object), &mut Names::default());
        let told: Vec<(Option<&str>, &str)> = pauses
            .iter()
            .map(|one| {
                (
                    one.place.as_ref().map(|(_, name)| name.as_str()),
                    &*one.edit.manager,
                )
            })
            .collect();
        assert_eq!(told, [(None, "tidegate-rollout-pause"), (Some("edge"), "argocd")]);
    }
}
