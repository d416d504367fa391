//! What a forecast would change on clusters: what they are given, and the works that carry it.
//!
//! Decides what is compared: a hub as it is, with the end of what would happen on it. Works are compared field by field, form and status
//! aside. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::course::course;
use super::take_over::{Fate, fate};
use super::world::World;
use api::names::labels;
use offline::Hub;
use snapshot::{Kind, ObjectKey, Settings};

/// What clusters are given instead of something else; nothing where they had, or will have, none of that type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigChange {
    /// The configuration before.
    pub old: Option<String>,
    /// The configuration after.
    pub new: Option<String>,
}

/// What would change for one add-on.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Changes {
    /// The add-on.
    pub addon: String,
    /// Changes of what clusters are given, with the clusters.
    pub configs: BTreeMap<ConfigChange, BTreeSet<String>>,
    /// The works that would not stay as they are, by namespace and name.
    pub works: BTreeMap<(String, String), Fate>,
}

/// Returns what every add-on of a hub would change until nothing is left to do, sorted by name; `before` is the hub as it is, `after` the
/// same with what is applied to it.
pub fn changes(before: &Hub, after: &Hub, settings: Settings, now: Timestamp) -> Vec<Changes> {
    let mut world = World::new(after, settings, now);
    let addons: Vec<String> = world.store.addons().map(ToString::to_string).collect();
    let each = addons.into_iter().map(|addon| {
        world.now = now;
        let _told = course(&mut world, &addon, now);
        of_addon(before, &world, addon)
    });
    each.collect()
}

fn of_addon(before: &Hub, world: &World<'_>, addon: String) -> Changes {
    let keys: BTreeSet<&ObjectKey> = before.objects().keys().chain(world.objects.keys()).collect();
    let mut changes = Changes {
        addon,
        ..Changes::default()
    };
    for key in keys {
        let (old, new) = (before.object(key), world.objects.get(key));
        if key.kind == Kind::Instance && *key.name == *changes.addon {
            for change in config_changes(old, new) {
                let clusters = changes.configs.entry(change).or_default();
                clusters.insert(key.namespace.to_string());
            }
        }
        let is_own = |work: &Value| {
            let labels = work.pointer("/metadata/labels");
            labels.and_then(|labels| labels.get(labels::ADDON_NAME)) == Some(&json!(changes.addon))
        };
        if key.kind == Kind::Work
            && (old.is_some_and(is_own) || new.is_some_and(is_own))
            && let Some(fate) = fate(old, new)
        {
            let place = (key.namespace.to_string(), key.name.to_string());
            changes.works.insert(place, fate);
        }
    }
    changes
}

fn config_changes(old: Option<&Value>, new: Option<&Value>) -> Vec<ConfigChange> {
    let (old, new) = (given(old), given(new));
    let types: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |of: &String| ConfigChange {
        old: old.get(of).cloned(),
        new: new.get(of).cloned(),
    };
    let all = types.into_iter().map(change);
    all.filter(|change| change.old != change.new).collect()
}

/// What a cluster is given of each type, with the first letters of its hash: content that is edited in place is another one.
fn given(instance: Option<&Value>) -> BTreeMap<String, String> {
    let references = instance.and_then(|instance| instance.pointer("/status/configReferences"));
    let each = references.and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value, pointer: &str| {
        let text = value.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let named = each.map(|reference| {
        let of = text(reference, "/resource");
        let (namespace, name) = (
            text(reference, "/desiredConfig/namespace"),
            text(reference, "/desiredConfig/name"),
        );
        let slash = if namespace.is_empty() { "" } else { "/" };
        let hash: String = text(reference, "/desiredConfig/specHash")
            .chars()
            .take(8)
            .collect();
        let hash = if hash.is_empty() {
            "not known".to_owned()
        } else {
            hash
        };
        let key = format!("{}.{}", of, text(reference, "/group"));
        (key, format!("{of} {namespace}{slash}{name} ({hash})"))
    });
    named.collect()
}
