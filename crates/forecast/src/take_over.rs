//! What taking a hub over from another manager would write.
//!
//! Decides what counts: the writes of the first plans, until agents have to answer, on a hub in memory. Works that only look
//! different are not among them. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::difference::{Difference, of_works};
use super::world::{Moves, World};
use api::names::conditions::MANIFEST_APPLIED;
use offline::Hub;
use snapshot::{Kind, ObjectKey, Settings};

/// The most plans in a row: agents answer none of them.
const MOST_WRITES: usize = 16;
/// What the instance says whose template cannot be rendered.
const UNRENDERED: &str = "ManifestWorkApplyFailed";

/// What would happen to a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is made.
    Created,
    /// It is written, with these differences.
    Written(Vec<Difference>),
    /// It goes.
    Deleted,
}

/// What taking over one add-on would write.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TakeOver {
    /// The add-on.
    pub addon: String,
    /// How many works it has.
    pub works: usize,
    /// The works that would not stay as they are, by namespace and name.
    pub changed: BTreeMap<(String, String), Fate>,
    /// How many objects of other kinds would be written.
    pub others: BTreeMap<&'static str, usize>,
    /// Clusters for which no work can be made, with the reason; theirs stay as they are.
    pub unrendered: BTreeMap<String, String>,
}

/// Returns what taking over every add-on of a hub would write, sorted by name.
pub fn take_over(hub: &Hub, settings: Settings, now: Timestamp) -> Vec<TakeOver> {
    let mut world = World::new(hub, settings, now);
    let addons: Vec<String> = world.store.addons().map(ToString::to_string).collect();
    addons.iter().map(|addon| one(hub, &mut world, addon)).collect()
}

fn one(hub: &Hub, world: &mut World<'_>, addon: &str) -> TakeOver {
    let mut touched: BTreeSet<ObjectKey> = BTreeSet::new();
    let mut moves = Moves::default();
    for _ in 0..MOST_WRITES {
        let Some(view) = world.store.view(addon) else {
            break;
        };
        let plan = plan::addon(&view, world.now);
        touched.extend(plan.actions.iter().map(|action| action.object().clone()));
        if !world.write(&plan, &mut moves) {
            break;
        }
    }
    let mut told = TakeOver {
        addon: addon.to_owned(),
        unrendered: unrendered(world, addon),
        ..TakeOver::default()
    };
    if let Some(view) = world.store.view(addon) {
        let instances = view.instances();
        told.works = instances
            .map(|instance| view.works(&instance.cluster).count())
            .sum();
    }
    for key in touched {
        let (old, new) = (hub.object(&key), world.objects.get(&key));
        if key.kind != Kind::Work {
            let is_written = changed(old) != changed(new);
            *told.others.entry(key.kind.address().kind).or_default() += usize::from(is_written);
        } else if let Some(fate) = fate(old, new) {
            told.changed
                .insert((key.namespace.to_string(), key.name.to_string()), fate);
        }
    }
    told.others.retain(|_, count| *count > 0);
    told
}

/// Returns an object without its revision, which moves with every write in memory.
fn changed(object: Option<&Value>) -> Option<Value> {
    let mut object = object?.clone();
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.map(|metadata| metadata.remove("resourceVersion"));
    Some(object)
}

/// Returns what becomes of a work; nothing when it stays as it is.
pub(super) fn fate(old: Option<&Value>, new: Option<&Value>) -> Option<Fate> {
    match (old, new) {
        (None, None) => None,
        (None, Some(_)) => Some(Fate::Created),
        (Some(_), None) => Some(Fate::Deleted),
        (Some(_), Some(new)) if new.pointer("/metadata/deletionTimestamp").is_some() => Some(Fate::Deleted),
        (Some(old), Some(new)) => {
            let is_written = changed(Some(old)) != changed(Some(new));
            is_written.then(|| Fate::Written(of_works(old, new)))
        }
    }
}

/// Returns the clusters for which no work can be made.
fn unrendered(world: &World<'_>, addon: &str) -> BTreeMap<String, String> {
    let instances = world
        .objects
        .iter()
        .filter(|(key, _)| key.kind == Kind::Instance && &*key.name == addon);
    let refused = instances.filter_map(|(key, instance)| {
        let conditions = instance.pointer("/status/conditions").and_then(Value::as_array);
        let text = |condition: &Value, field: &str| {
            let text = condition.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let says = conditions.into_iter().flatten().find(|condition| {
            text(condition, "type") == MANIFEST_APPLIED && text(condition, "reason") == UNRENDERED
        })?;
        Some((key.namespace.to_string(), text(says, "message")))
    });
    refused.collect()
}
