//! A dump without credentials that plans what its hub plans.
//!
//! A template and the works that are made from it do not lose the same letters: a credential may be short, or stand beside other text.
//! So works are compared by the planner itself, on the hub and on the dump: one that the hub leaves as it is becomes what the dump
//! renders, and one that the hub would write keeps a difference.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::course::course;
use super::world::World;
use crate::offline::Hub;
use store::{Kind, Name, ObjectKey, Settings};

/// A work that was made equal may let another one differ, as works of one add-on share manifests.
const MOST_ROUNDS: usize = 4;
/// Takes the place of a text that differs from what is rendered by letters that a dump does not hold.
const DIFFERS: &str = "redacted, and not what is rendered";

/// Makes a redacted copy of a hub plan what the hub itself plans: the same works are written, and the same changes are approved.
pub fn keep_plans(hub: &Hub, redacted: &mut Hub, settings: &Settings, now: Timestamp) {
    keep_approvals(hub, redacted, settings, now);
    let live = specs_written(hub, settings, now);
    for _ in 0..MOST_ROUNDS {
        let there = specs_written(redacted, settings, now);
        let equal = there.iter().filter(|(key, _)| !live.contains_key(*key));
        let mut new: BTreeMap<ObjectKey, Value> =
            equal.map(|(key, spec)| (key.clone(), spec.clone())).collect();
        for (key, spec) in live.iter().filter(|(key, _)| !there.contains_key(*key)) {
            let (old, shown) = (hub.object(key), redacted.object(key));
            let old = old.and_then(|old| old.get("spec")).unwrap_or(&Value::Null);
            let mut shown = shown
                .and_then(|shown| shown.get("spec"))
                .cloned()
                .unwrap_or_default();
            if mark(&mut shown, old, spec) {
                new.insert(key.clone(), shown);
            }
        }
        if new.is_empty() {
            return;
        }
        for (key, spec) in new {
            redacted.set_spec(&key, spec);
        }
    }
}

/// An approval names a hash of everything that is given; content without its credentials has another one.
fn keep_approvals(hub: &Hub, redacted: &mut Hub, settings: &Settings, now: Timestamp) {
    let there = hashes_asked(redacted, settings, now);
    for (place, hash) in hashes_asked(hub, settings, now) {
        let Some(new) = there.get(&place).filter(|new| **new != hash) else {
            continue;
        };
        let all = hub.objects().iter();
        let own = all.filter(|(key, object)| {
            key.kind == Kind::Approval && object.pointer("/spec/addon") == Some(&json!(place.0))
        });
        for (_, object) in own {
            let text = object.to_string().replace(&*hash, new);
            if let Ok(object) = serde_json::from_str(&text) {
                redacted.put(object);
            }
        }
    }
}

/// Returns the hashes that approvals are given to, by add-on and placement.
pub(super) fn hashes_asked(
    hub: &Hub,
    settings: &Settings,
    now: Timestamp,
) -> BTreeMap<(String, usize), Name> {
    let store = hub.store(settings.clone());
    let mut all = BTreeMap::new();
    for addon in store.addons() {
        let outlook = store
            .view(addon)
            .and_then(|view| plan::addon_with_outlook(&view, now).1);
        for (at, placement) in outlook.iter().flat_map(|outlook| &outlook.placements).enumerate() {
            if let Some(asked) = &placement.asked {
                all.insert((addon.to_string(), at), Name::clone(&asked.hash));
            }
        }
    }
    all
}

/// Returns the specs of stored works that are other ones when nothing is left to do.
fn specs_written(hub: &Hub, settings: &Settings, now: Timestamp) -> BTreeMap<ObjectKey, Value> {
    let mut world = World::new(hub, settings.clone(), now);
    let addons: Vec<String> = world.store.addons().map(ToString::to_string).collect();
    for addon in &addons {
        world.now = now;
        let _course = course(&mut world, addon, now);
    }
    let works = hub.objects().iter().filter(|(key, _)| key.kind == Kind::Work);
    let written = works.filter_map(|(key, old)| {
        let new = world.objects.get(key)?.get("spec");
        let spec = new.filter(|new| Some(*new) != old.get("spec"))?.clone();
        Some((key.clone(), spec))
    });
    written.collect()
}

/// Changes a text of `shown` in which `old` and `new` differ and that looks alike in both; returns whether there was one.
fn mark(shown: &mut Value, old: &Value, new: &Value) -> bool {
    if old == new {
        return false;
    }
    match (shown, old, new) {
        (Value::Object(shown), Value::Object(old), Value::Object(new)) => {
            let mut fields = shown.iter_mut();
            fields.any(|(name, field)| {
                old.get(name)
                    .zip(new.get(name))
                    .is_some_and(|(old, new)| mark(field, old, new))
            })
        }
        (Value::Array(shown), Value::Array(old), Value::Array(new)) => {
            let mut items = shown.iter_mut().zip(old.iter().zip(new));
            items.any(|(item, (old, new))| mark(item, old, new))
        }
        (shown @ Value::String(_), _, _) => {
            *shown = json!(DIFFERS);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_in_what_is_hidden_stays_one() {
        let work = |key: &str, name: &str| json!({"args": ["x", format!("--key={key}")], "name": name});
        let mut shown = work("redacted", "a");
        assert!(mark(&mut shown, &work("1111", "a"), &work("2222", "a")));
        assert_eq!(shown, json!({"args": ["x", DIFFERS], "name": "a"}));
        let mut same = work("redacted", "a");
        assert!(!mark(&mut same, &work("1111", "a"), &work("1111", "a")));
        assert_eq!(same, work("redacted", "a"));
    }
}
