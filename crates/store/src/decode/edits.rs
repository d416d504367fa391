//! Who edited a part of an object last, and when: its field managers, and the users that the webhook records.
//!
//! Kept are the field managers of the spec of a configuration and of a RolloutFreeze, and those of the pauses of an AddOnRollout and
//! of a RolloutProfile. An edit that changes no value of a field is not recorded.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::Name;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::decode::read::annotation;
use crate::kind::Kind;
use crate::names::Names;
use crate::record::{Edit, PauseAuthor, SetBy};
use crate::set_by::{self, SetByLine, WHOLE};
use api::names::annotations::SET_BY;

const SPEC: &str = "f:spec";
const PAUSE: &str = "f:pause";
const PLACEMENTS: &str = "f:placements";
/// Kinds whose author is known by their spec.
const BY_SPEC: [Kind; 4] = [
    Kind::Template,
    Kind::DeploymentConfig,
    Kind::HubConfig,
    Kind::Freeze,
];
/// Kinds whose pauses have an author each.
const BY_PAUSE: [Kind; 2] = [Kind::Rollout, Kind::Profile];

/// Returns whether anything of the records of field managers is kept of an object of this kind.
pub fn has_owners(kind: &str) -> bool {
    let mut known = std::iter::once(Kind::Instance).chain(BY_SPEC).chain(BY_PAUSE);
    known.any(|known| known.address().kind == kind)
}

/// Returns the records of field managers that are kept of an object, in the form of `metadata.managedFields`; nothing if there are none.
pub fn kept_editors(object: &Value) -> Option<Value> {
    let kind = object.get("kind").and_then(Value::as_str)?;
    let is_one_of = |kinds: &[Kind]| kinds.iter().any(|known| known.address().kind == kind);
    let by_spec = is_one_of(&BY_SPEC);
    if !by_spec && !is_one_of(&BY_PAUSE) {
        return None;
    }
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let kept = entries.iter().filter_map(|entry| {
        let fields = entry.get("fieldsV1")?;
        let fields = if by_spec {
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

/// Returns who set a RolloutFreeze.
pub(crate) fn author_of_freeze(metadata: &ObjectMeta, names: &mut Names) -> Option<SetBy> {
    let edit = edit_of_spec(metadata, names);
    let recorded = annotation(metadata, SET_BY).map_or("", String::as_str);
    match (set_by::lines(recorded).get(WHOLE), edit) {
        (Some(line), edit) => Some(recorded_by(line, edit.map(|edit| edit.manager), names)),
        (None, edit) => edit.map(managed),
    }
}

/// Returns who set a RolloutFreeze, of an object as a hub serves it.
pub fn freeze_set_by(object: &Value) -> Option<SetBy> {
    let metadata = ObjectMeta::deserialize(object.get("metadata")?).ok()?;
    author_of_freeze(&metadata, &mut Names::default())
}

/// Returns who set each pause of an AddOnRollout or RolloutProfile.
pub(crate) fn authors_of_pauses(metadata: &ObjectMeta, names: &mut Names) -> Vec<PauseAuthor> {
    let mut all: Vec<PauseAuthor> = Vec::new();
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
            let manager = names.share(manager);
            let set_by = managed(Edit { manager, at });
            match all.iter_mut().find(|known| known.place == place) {
                Some(known) if known.set_by.at < at => known.set_by = set_by,
                Some(_) => {}
                None => all.push(PauseAuthor { place, set_by }),
            }
        }
    }
    let recorded = annotation(metadata, SET_BY).map_or("", String::as_str);
    for (part, line) in set_by::lines(recorded) {
        let place = part.split_once('/');
        let place = place.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
        match all.iter_mut().find(|known| known.place == place) {
            Some(known) => known.set_by = recorded_by(&line, known.set_by.manager.clone(), names),
            None => all.push(PauseAuthor {
                place,
                set_by: recorded_by(&line, None, names),
            }),
        }
    }
    all
}

/// Returns the author that the webhook recorded.
fn recorded_by(line: &SetByLine<'_>, manager: Option<Name>, names: &mut Names) -> SetBy {
    SetBy {
        user: Some(names.share(line.user)),
        manager,
        at: line.at,
    }
}

/// Returns the author that only the field managers show.
fn managed(edit: Edit) -> SetBy {
    SetBy {
        user: None,
        manager: Some(edit.manager),
        at: edit.at,
    }
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
        let shown = |object: &Value| -> Vec<String> {
            let pauses = authors_of_pauses(&metadata(object), &mut Names::default());
            let each = pauses.into_iter().map(|one| {
                let SetBy { user, manager, at } = one.set_by;
                let place = one.place.map_or_else(String::new, |(_, name)| name);
                format!("{place}: {user:?} {manager:?} {at}")
            });
            each.collect()
        };
        let managers = [
            r#": None Some("tidegate-rollout-pause") 2030-01-01T00:00:00Z"#,
            r#"edge: None Some("argocd") 2030-01-02T00:00:00Z"#,
        ];
        assert_eq!(shown(&object), managers);
        object["metadata"]["annotations"] = json!({"tidegate.io/set-by": "* 2030-01-01T00:00:01Z alice\nnot a line\ndefault/west 2030-01-03T00:00:00Z bob b"});
        let users = [
            r#": Some("alice") Some("tidegate-rollout-pause") 2030-01-01T00:00:01Z"#,
            managers[1],
            r#"west: Some("bob b") None 2030-01-03T00:00:00Z"#,
        ];
        assert_eq!(shown(&object), users);
    }

    #[test]
    fn a_freeze_has_the_author_of_its_spec() {
        let entries = json!([{"manager": "kubectl-edit", "operation": "Update", "time": "2030-01-01T00:00:00Z",
            "fieldsV1": {"f:spec": {"f:reason": {}}}}]);
        let mut freeze = object("RolloutFreeze", &entries);
        freeze["metadata"]["managedFields"] = kept_editors(&freeze).expect("editors");
        let author = freeze_set_by(&freeze).expect("an author");
        assert_eq!(
            (author.user, author.manager.as_deref()),
            (None, Some("kubectl-edit"))
        );
        freeze["metadata"]["annotations"] = json!({"tidegate.io/set-by": "* 2030-01-01T00:00:01Z alice"});
        let author = freeze_set_by(&freeze).expect("an author");
        assert_eq!(
            (
                author.user.as_deref(),
                author.manager.as_deref(),
                author.at.as_second() % 60
            ),
            (Some("alice"), Some("kubectl-edit"), 1)
        );
    }
}
