//! Content that clusters may have to go back to, kept in ControllerRevisions: it is still there when the object was edited or deleted.
//!
//! Decides what is kept and where, and what is deleted again. Never copies a Secret. What is kept is used only by its hash
//! (`View::content`).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::owners;
use super::types::{Action, Revision};
use api::hash::{ConfigKey, content_hash};
use store::{Config, ConfigRef, KeptContent, Kind, Name, ObjectKey, Place, View, terms};

/// A larger content is not copied: a hub stores no object above 1.5 MiB, and there are several copies.
const LARGEST: usize = 512 * 1024;
/// Number of characters reserved for the digits behind the name of an add-on in the name of an object.
const LONGEST_NAME: usize = 200;
/// The longest value of a label.
const LONGEST_LABEL: usize = 63;

/// Returns where a content of an add-on is kept.
pub(crate) fn place(view: &View<'_>, config: &ConfigRef, hash: &Name) -> Place {
    let key = ConfigKey {
        resource: config.of.resource.to_string(),
        group: config.of.group.to_string(),
        namespace: config.namespace.to_string(),
        name: config.name.to_string(),
    };
    let name: String = view.addon.name.chars().take(LONGEST_NAME).collect();
    let digits = content_hash(&[(key, hash.to_string())]);
    let name = format!("{}-{digits}", name.trim_end_matches(['-', '.']));
    let namespace = if config.namespace.is_empty() {
        &view.settings().namespace
    } else {
        &config.namespace
    };
    (namespace.clone(), name.into())
}

/// Returns what makes the copies of an add-on what they should be.
pub(super) fn actions(view: &View<'_>) -> Vec<Action> {
    if !view.keeps_content() || view.addon.meta.uid.is_empty() {
        return Vec::new();
    }
    let needed = needed(view);
    let mut kept: Vec<(&Place, &KeptContent)> =
        view.all_kept().filter(|(_, kept)| !kept.meta.deleting).collect();
    kept.sort_by_key(|(_, kept)| std::cmp::Reverse(kept.revision));
    let mut last = kept.first().map_or(0, |(_, kept)| kept.revision);
    let mut actions = Vec::new();
    let mut places = BTreeSet::new();
    for (config, hash) in &needed {
        let place = place(view, config, hash);
        // Without the object itself there is nothing to copy.
        if let Some(found) = view.config(config).filter(|found| found.hash == *hash) {
            let wanted = copy(config, found);
            match view.kept(&place) {
                None if view.lacks_namespace(&place.0) => {}
                None => {
                    last = last.saturating_add(1);
                    actions.push(create(view, &place, &wanted, last, found));
                }
                Some(known) if is_copy(known, config, hash, &wanted) || known.meta.deleting => {}
                // Another object in its place: the next plan makes the copy.
                Some(known) => actions.push(delete(
                    &place,
                    known,
                    "the object does not have the content that was kept",
                )),
            }
        }
        places.insert(place);
    }
    let surplus = kept
        .iter()
        .skip(view.rollout().revision_history_limit())
        .filter(|(place, _)| !places.contains(*place));
    actions.extend(surplus.map(|(place, known)| delete(place, known, "newer content is kept")));
    actions
}

/// The contents that clusters of the add-on may have to go back to, as far as Tidegate renders them.
fn needed(view: &View<'_>) -> BTreeSet<(ConfigRef, Name)> {
    let mut all = BTreeSet::new();
    for progression in view.addon.progressions.iter().flatten() {
        let good = progression.known_good().into_iter().flat_map(|good| good.configs);
        let mut contents: Vec<(ConfigRef, Name)> = good.map(|one| (one.config, one.hash)).collect();
        for reference in &progression.references {
            contents.extend(reference.known_good.iter().map(|good| {
                let config = ConfigRef {
                    of: reference.config.of.clone(),
                    namespace: good.namespace.clone(),
                    name: good.name.clone(),
                };
                (config, good.hash.clone())
            }));
        }
        contents.retain(|(config, hash)| kind(config).is_some() && !hash.is_empty());
        if contents
            .iter()
            .any(|(config, _)| kind(config) == Some(Kind::Template))
        {
            all.extend(contents);
        }
    }
    all
}

fn kind(config: &ConfigRef) -> Option<Kind> {
    Kind::of_config(&config.of.group, &config.of.resource)
}

/// Whether an object is the copy that would be made now, or says for the same reason why there is none.
fn is_copy(known: &KeptContent, config: &ConfigRef, hash: &Name, wanted: &Value) -> bool {
    match &known.content {
        Ok((of, content)) => of == config && content.hash == *hash,
        Err(why) => wanted.get(terms::NOT_KEPT).and_then(Value::as_str) == Some(why),
    }
}

/// Returns the copy of a content, or the reason why there is none.
fn copy(config: &ConfigRef, found: &Config) -> Value {
    let object = found.object(config);
    let why = if found.text.len() > LARGEST {
        let (size, most) = (found.text.len() / 1024, LARGEST / 1024);
        format!("it has {size} KiB, and at most {most} KiB are kept")
    } else if holds_secret(&object) {
        "it holds a Secret, which is never copied".to_owned()
    } else {
        return object;
    };
    let head = ["apiVersion", "kind", "metadata"].map(|field| (field.to_owned(), object.get(field).cloned()));
    let head = head
        .into_iter()
        .map(|(field, value)| (field, value.unwrap_or_default()));
    head.chain([(terms::NOT_KEPT.to_owned(), json!(why))]).collect()
}

/// Whether a manifest is a Secret with anything in it: who may read copies need not be allowed to read Secrets.
fn holds_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let is = |field: &str, text: &str| fields.get(field).and_then(Value::as_str) == Some(text);
            let has = |field: &str| {
                fields
                    .get(field)
                    .and_then(Value::as_object)
                    .is_some_and(|all| !all.is_empty())
            };
            let is_secret = is("kind", "Secret") && is("apiVersion", "v1");
            (is_secret && (has("data") || has("stringData"))) || fields.values().any(holds_secret)
        }
        Value::Array(items) => items.iter().any(holds_secret),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Who wrote the content, when and why, as the object says when the copy is made.
fn origin(found: &Config) -> Map<String, Value> {
    let edit = found.edit.as_ref();
    let origin = [
        (terms::EDITED_BY, edit.map(|edit| edit.manager.to_string())),
        (terms::EDITED_AT, edit.map(|edit| edit.at.to_string())),
        (terms::CHANGE_CAUSE, found.cause.as_ref().map(ToString::to_string)),
    ];
    let known = origin
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), json!(value?))));
    known.collect()
}

fn create(view: &View<'_>, place: &Place, data: &Value, revision: i64, found: &Config) -> Action {
    let addon = &view.addon.name;
    let label = if addon.len() > LONGEST_LABEL { "" } else { &**addon };
    let mut metadata = json!({
        "namespace": &*place.0,
        "name": &*place.1,
        "labels": {(terms::KEPT_CONTENT): label},
        "ownerReferences": [owners::of_addon(view.addon, true)],
    });
    let origin = origin(found);
    if let Some(metadata) = metadata.as_object_mut().filter(|_| !origin.is_empty()) {
        metadata.insert("annotations".to_owned(), Value::Object(origin));
    }
    Action::Create {
        object: ObjectKey::at(Kind::KeptContent, place),
        body: json!({
            "apiVersion": Kind::KeptContent.api_version(),
            "kind": Kind::KeptContent.address().kind,
            "metadata": metadata,
            "data": data,
            "revision": revision,
        })
        .into(),
        why: "clusters can be rolled back to this content",
    }
}

fn delete(place: &Place, known: &KeptContent, why: &'static str) -> Action {
    Action::Delete {
        object: ObjectKey::at(Kind::KeptContent, place),
        before: Revision::from(&known.meta),
        why,
    }
}

/// Says which object a content is kept in.
pub fn told(place: &Place, kept: &KeptContent) -> String {
    format!(
        "ControllerRevision {}/{} (revision {})",
        place.0, place.1, kept.revision
    )
}

/// Says why no copy replaces a content that the object itself no longer has.
pub fn lost(view: &View<'_>, config: &ConfigRef, hash: &Name) -> String {
    if kind(config).is_none() || !is_rendered(view) {
        return "another program reads it by its name, so no copy is kept".to_owned();
    }
    let place = place(view, config, hash);
    match view.kept(&place) {
        Some(known) => match &known.content {
            Ok(_) => format!(
                "{} is not used: its content has another hash",
                told(&place, known)
            ),
            Err(why) => format!("{} has no copy of it: {why}", told(&place, known)),
        },
        None if !view.keeps_content() => {
            "no copy is kept, because the controllers cannot read ControllerRevisions on the hub".to_owned()
        }
        None => view
            .trouble(&ObjectKey::at(Kind::KeptContent, &place))
            .map_or_else(
                || "no copy was kept".to_owned(),
                |why| format!("no copy could be kept: {why}"),
            ),
    }
}

fn is_rendered(view: &View<'_>) -> bool {
    let mut references = view
        .addon
        .progressions
        .iter()
        .flatten()
        .flat_map(|one| &one.references);
    references.any(|one| kind(&one.config) == Some(Kind::Template))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Event, Settings, Store};

    const GROUP: &str = "addon.open-cluster-management.io";

    /// What is kept of a template with these manifests that clusters have run well.
    fn kept(addon: &str, manifests: &Value) -> Value {
        let mut store = Store::new(Settings::default());
        let listed = |kind, objects| Event::Listed { kind, objects };
        let meta = |name: &str| json!({"name": name, "uid": name, "resourceVersion": "1"});
        store.apply(listed(Kind::KeptContent, Vec::new()));
        store.apply(listed(
            Kind::Namespace,
            vec![json!({"metadata": meta("tidegate")})],
        ));
        let spec = json!({"addonName": addon, "agentSpec": {"workload": {"manifests": manifests}}});
        let template = json!({"metadata": meta("t"), "spec": spec});
        let hash = api::hash::SpecHash::of(&template).to_string();
        let content = json!({"name": "t", "specHash": hash});
        let reference = json!({"group": GROUP, "resource": "addontemplates", "desiredConfig": content,
            "lastKnownGoodConfig": content});
        let placement = json!({"namespace": "default", "name": "all"});
        let mut progression = placement.clone();
        progression["configReferences"] = json!([reference]);
        let install = json!({"type": "Placements", "placements": [placement]});
        let object = json!({"metadata": meta(addon), "spec": {"installStrategy": install},
            "status": {"installProgressions": [progression]}});
        for (kind, object) in [(Kind::Template, template), (Kind::AddOn, object)] {
            store.apply(Event::Applied { kind, object });
        }
        let view = store.view(addon).expect("the add-on");
        match actions(&view).as_slice() {
            [Action::Create { body, .. }] => body.value(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_secret_and_what_is_too_large_are_not_copied() {
        let secret = |data: Value| json!([{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret", "data": data}]}]);
        let text = "x".repeat(LARGEST);
        let rows = [
            (
                secret(json!({"key": "a2V5"})),
                "it holds a Secret, which is never copied",
            ),
            (
                json!([{"kind": "ConfigMap", "data": {"text": text}}]),
                "it has 512 KiB, and at most 512 KiB are kept",
            ),
        ];
        for (manifests, why) in rows {
            let data = kept("hello", &manifests)["data"].take();
            assert_eq!(data[terms::NOT_KEPT], why);
            assert_eq!(data.get("spec"), None);
        }
        let data = kept("hello", &secret(json!({})))["data"].take();
        assert_eq!(
            (data.get(terms::NOT_KEPT), &data["spec"]["addonName"]),
            (None, &json!("hello"))
        );
    }

    #[test]
    fn a_copy_has_a_name_that_a_hub_takes() {
        let addon = format!("{}.{}", "a".repeat(199), "b".repeat(53));
        let copy = kept(&addon, &json!([]));
        let name = copy["metadata"]["name"].as_str().expect("a name");
        assert!(
            name.starts_with(&format!("{}-", "a".repeat(199))) && name.len() < 253,
            "{name}"
        );
        assert_eq!(copy["metadata"]["labels"][terms::KEPT_CONTENT], "");
        assert_eq!(copy["metadata"]["ownerReferences"][0]["name"], addon);
    }
}
