//! The roll-up of an add-on in Tidegate's own kind, `AddOnRollout`: it has the health of an add-on on a hub whose
//! ClusterManagementAddOn keeps no conditions.
//!
//! Decides when it is created, written and deleted. `conditions/addon.rs`, `census` and `addon_status` decide its content; where the
//! ClusterManagementAddOn keeps the same fields, both have the same values.

use serde_json::{Map, Value, json};

use super::addon_status::Summary;
use super::census::Census;
use super::types::{Action, Payload, Revision};
use super::{conditions, owners};
use store::{Condition, Kind, ObjectKey, Progression, RollUp, Status, View, terms};

/// The conditions that are copied; others of the ClusterManagementAddOn stay there.
const COPIED: [&str; 3] = ["Ready", "Reconciling", "Stalled"];
/// What a placement has in the order of what matters most.
const OF_PLACEMENTS: [&str; 2] = ["Stalled", "Paused"];

/// Returns the write that makes the roll-up of an add-on that is managed here what it should be.
pub(super) fn managed(
    view: &View<'_>,
    said: &[Condition],
    summary: &Summary,
    census: &Census,
) -> Option<Action> {
    write(view, said, |_| {
        let mut status = Map::from_iter([("clusters".to_owned(), census.counted())]);
        status.insert("addonGeneration".to_owned(), view.addon.meta.generation.into());
        if let Some(profile) = view.default_profile() {
            status.insert("defaultProfile".to_owned(), Value::from(&**profile));
        }
        if let Some((supported, default)) = &summary.versions {
            if !default.is_empty() {
                status.insert("defaultVersion".to_owned(), Value::from(&**default));
            }
            if !supported.is_empty() {
                let texts = supported.iter().map(|version| Value::from(&**version));
                status.insert("supportedVersions".to_owned(), texts.collect());
            }
        }
        let placements: Vec<Value> = summary.progressions.iter().flatten().map(placement).collect();
        if !placements.is_empty() {
            status.insert("placements".to_owned(), placements.into());
        }
        status
    })
}

/// Returns the write that says why nothing is planned, and leaves the rest as it is.
pub(super) fn timeless(view: &View<'_>, said: &[Condition]) -> Option<Action> {
    write(view, said, |known| {
        known.map(|known| known.status.clone()).unwrap_or_default()
    })
}

/// Returns the removal of the roll-up of an add-on that is not managed here any more, unless it has settings.
pub(super) fn unmanaged(view: &View<'_>) -> Option<Action> {
    let is_empty = |known: &RollUp| known.settings.as_ref().is_ok_and(|settings| settings.is_empty());
    let known = view
        .roll_up()
        .filter(|known| !known.meta.deleting && is_empty(known))?;
    view.keeps_roll_ups().then(|| Action::Delete {
        object: key(view),
        before: Revision::from(&known.meta),
        why: "the add-on is not managed here",
    })
}

fn key(view: &View<'_>) -> ObjectKey {
    ObjectKey::new(Kind::Rollout, "", view.addon.name.clone())
}

/// A roll-up of a deleted ClusterManagementAddOn of the same name is deleted with it, unless it is adopted first.
fn write(
    view: &View<'_>,
    said: &[Condition],
    rest: impl FnOnce(Option<&RollUp>) -> Map<String, Value>,
) -> Option<Action> {
    let name = &view.addon.name;
    if !view.keeps_roll_ups() || view.addon.meta.uid.is_empty() {
        return None;
    }
    let Some(known) = view.roll_up() else {
        return Some(create(view));
    };
    if known.meta.deleting {
        return None;
    }
    let owned = owners::adopted(view.addon, &known.owners);
    if owned.is_some() || known.addon != *name {
        let mut patch = json!({"spec": {"addon": &**name}});
        if let Some((fields, owned)) = patch.as_object_mut().zip(owned) {
            fields.insert("metadata".to_owned(), json!({"ownerReferences": owned}));
        }
        return Some(Action::Replace {
            object: key(view),
            before: Revision::from(&known.meta),
            patch: patch.into(),
            why: "the roll-up belongs to its add-on",
        });
    }
    let mut wanted = rest(Some(known));
    wanted.insert("observedGeneration".to_owned(), known.meta.generation.into());
    let mut status = differing(&known.status, wanted);
    let conditions = copied(said, known);
    if conditions != known.conditions {
        status.insert("conditions".to_owned(), conditions::render(&conditions));
    }
    (!status.is_empty()).then(|| Action::Status {
        object: key(view),
        before: Revision::from(&known.meta),
        patch: Payload::of_status(status),
        notes: Vec::new(),
        notifications: Vec::new(),
    })
}

fn create(view: &View<'_>) -> Action {
    let name = &*view.addon.name;
    let mut metadata = json!({"name": name, "ownerReferences": [owners::of_addon(view.addon, true)]});
    if let Some(fields) = metadata.as_object_mut().filter(|_| view.lacks_settings()) {
        let annotations = json!({(terms::SETTINGS_DELETED): "true"});
        fields.insert("annotations".to_owned(), annotations);
    }
    Action::Create {
        object: key(view),
        body: json!({
            "apiVersion": Kind::Rollout.api_version(),
            "kind": Kind::Rollout.address().kind,
            "metadata": metadata,
            "spec": {"addon": name},
        })
        .into(),
        why: "the roll-up of the add-on",
    }
}

/// What a merge patch must say so that `known` becomes `wanted`.
fn differing(known: &Map<String, Value>, wanted: Map<String, Value>) -> Map<String, Value> {
    let past = known.keys().filter(|field| !wanted.contains_key(*field));
    let mut patch: Map<String, Value> = past.map(|field| (field.clone(), Value::Null)).collect();
    let news = wanted
        .into_iter()
        .filter(|(field, value)| known.get(field) != Some(value));
    patch.extend(news);
    patch
}

/// The generation is that of the object that holds a condition: so delivery tools compare it. Where the ClusterManagementAddOn holds no
/// conditions, they seem new there in every plan; how long they have stood is known here.
fn copied(said: &[Condition], known: &RollUp) -> Vec<Condition> {
    let each = said.iter().filter(|condition| COPIED.contains(&&*condition.kind));
    let each = each.map(|condition| {
        let mut stated = known.conditions.iter();
        let before = stated.find(|before| before.kind == condition.kind && before.status == condition.status);
        let since = before.and_then(Condition::since).or_else(|| condition.since());
        Condition::new(condition.said.clone(), since, Some(known.meta.generation))
    });
    each.collect()
}

fn placement(progression: &Progression) -> Value {
    let stated = &progression.conditions;
    let holds = |kind: &&str| {
        let mut all = stated.iter();
        all.find(|one| *one.kind == **kind && one.status == Status::True)
    };
    let brake = OF_PLACEMENTS.iter().find_map(holds);
    let told = brake.or_else(|| stated.iter().find(|one| &*one.kind == "Progressing"));
    let mut line = json!({"namespace": &*progression.namespace, "name": &*progression.name});
    if let Some((fields, told)) = line.as_object_mut().zip(told) {
        fields.insert("reason".to_owned(), Value::from(&*told.reason));
        fields.insert("message".to_owned(), Value::from(&*told.message));
    }
    line
}
