//! What a forecast would change on clusters: what they are given, and the works that carry it.
//!
//! Decides what is compared: a hub as it is, with the end of what would happen on it. Works are compared field by field, form and status
//! aside. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::course::{Forecast, course};
use super::take_over::{Fates, fate};
use super::world::World;
use crate::offline::Hub;
use api::names::labels;
use plan::Origins;
use store::{ConfigRef, Kind, ObjectKey, Settings, terms};

/// What clusters are given instead of something else; nothing where they had, or will have, none of that type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigChange {
    /// The configuration before.
    pub old: Option<String>,
    /// The configuration after.
    pub new: Option<String>,
}

/// The clusters of each change.
pub type ConfigChanges = BTreeMap<ConfigChange, BTreeSet<String>>;

/// What would change for one add-on.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Changes {
    /// The add-on.
    pub addon: String,
    /// Changes of what clusters are given, with the clusters.
    pub configs: ConfigChanges,
    /// The same for clusters that still wait in the rollout at the end of the forecast.
    pub waiting: ConfigChanges,
    /// The works that would not stay as they are, by namespace and name.
    pub works: Fates,
}

/// Returns what every add-on of a hub would change until nothing is left to do, sorted by name; `before` is the hub as it is, `after` the
/// same with what is applied to it.
pub fn changes(before: &Hub, after: &Hub, settings: Settings, now: Timestamp) -> Vec<Changes> {
    let mut world = World::new(after, settings, now);
    let addons: Vec<String> = world.store.addons().map(ToString::to_string).collect();
    let each = addons.into_iter().map(|addon| {
        world.now = now;
        let forecast = course(&mut world, &addon, now);
        Changes {
            waiting: waiting(&world, &forecast),
            ..of_addon(before, &world, addon)
        }
    });
    each.collect()
}

/// Returns what waiting clusters are given later.
fn waiting(world: &World<'_>, forecast: &Forecast) -> ConfigChanges {
    let waits = forecast.held.iter().filter(|held| held.waits && !held.moved);
    let waits: BTreeSet<&str> = waits.filter_map(|held| held.cluster.as_deref()).collect();
    let mut found = ConfigChanges::new();
    let Some(view) = world.store.view(&forecast.addon).filter(|_| !waits.is_empty()) else {
        return found;
    };
    let (_, outlook) = plan::addon_with_outlook(&view, world.now);
    // Clusters of one placement with the same references get the same: only one of them is looked up, because that takes as long as
    // the add-on has clusters.
    let mut known: BTreeMap<(Option<usize>, [String; 2]), Vec<ConfigChange>> = BTreeMap::new();
    for seen in outlook.iter().flat_map(|outlook| &outlook.clusters) {
        if !waits.contains(&*seen.cluster) {
            continue;
        }
        let instance = world.object(&ObjectKey::new(Kind::Instance, &*seen.cluster, &*forecast.addon));
        let references = ["/spec/configs", "/status/configReferences"].map(|pointer| {
            let part = instance.and_then(|instance| instance.pointer(pointer));
            part.map(Value::to_string).unwrap_or_default()
        });
        let changes = known
            .entry((seen.placement, references))
            .or_insert_with(|| to_come(plan::origins(&view, &seen.cluster)));
        for change in changes {
            let clusters = found.entry(change.clone()).or_default();
            clusters.insert(seen.cluster.to_string());
        }
    }
    found
}

fn to_come(origins: Option<Origins>) -> Vec<ConfigChange> {
    let mut types: BTreeMap<String, [Vec<String>; 2]> = BTreeMap::new();
    for one in origins.into_iter().flat_map(|origins| origins.configs) {
        let told = |config: &ConfigRef, hash: &str| object_text(&config.namespace, &config.name, hash);
        let new = told(&one.config, &one.hash);
        let old = one.until_then.as_ref();
        let old = old.map_or_else(|| new.clone(), |before| told(&before.config, &before.desired));
        let [before, after] = types.entry(one.config.of.resource.to_string()).or_default();
        before.push(old);
        after.push(new);
    }
    let changed = types.into_iter().filter(|(_, [before, after])| before != after);
    let side = |resource: &str, listed: &[String]| Some(format!("{resource} {}", listed.join(", ")));
    let changed = changed.map(|(resource, [before, after])| ConfigChange {
        old: side(&resource, &before),
        new: side(&resource, &after),
    });
    changed.collect()
}

/// A configuration with the first letters of its hash.
fn object_text(namespace: &str, name: &str, hash: &str) -> String {
    let slash = if namespace.is_empty() { "" } else { "/" };
    let hash = if hash.is_empty() {
        "not known".to_owned()
    } else {
        hash.chars().take(8).collect()
    };
    format!("{namespace}{slash}{name} ({hash})")
}

fn of_addon(before: &Hub, world: &World<'_>, addon: String) -> Changes {
    let keys: BTreeSet<&ObjectKey> = before.objects().keys().chain(world.objects.keys()).collect();
    let mut changes = Changes {
        addon,
        ..Changes::default()
    };
    for key in keys {
        let (old, new) = (before.object(key), world.object(key));
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

/// What a cluster is given of each type, in its order, with the first letters of each hash: content that is edited in place is another one, and so
/// are the same objects where all of them count and not the first.
fn given(instance: Option<&Value>) -> BTreeMap<String, String> {
    let list = |pointer: &str| {
        let list = instance.and_then(|instance| instance.pointer(pointer));
        list.and_then(Value::as_array).into_iter().flatten()
    };
    let text = |value: &Value, pointer: &str| {
        let text = value.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let is_merged = |one: &Value| text(one, "/type") == terms::MERGED && text(one, "/status") == "True";
    let is_merged = list("/status/conditions").any(is_merged);
    let mut all: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for reference in list("/status/configReferences") {
        let (namespace, name) = (
            text(reference, "/desiredConfig/namespace"),
            text(reference, "/desiredConfig/name"),
        );
        let hash = text(reference, "/desiredConfig/specHash");
        let of = (text(reference, "/resource"), text(reference, "/group"));
        let listed = all.entry(of).or_default();
        listed.push(object_text(&namespace, &name, &hash));
    }
    let told = all.into_iter().map(|((resource, group), listed)| {
        let all_count = is_merged && listed.len() > 1 && resource == "addondeploymentconfigs";
        let how = if all_count { " merged" } else { "" };
        let told = format!("{resource}{how} {}", listed.join(", "));
        (format!("{resource}.{group}"), told)
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::super::changes_text::changes_text;
    use super::super::course::forecast;
    use super::super::render::text;
    use super::super::test_hub::{GROUP, asked, at_rest, now, pod, put};
    use super::*;
    use kubernetes::field::Listing;

    #[test]
    fn clusters_that_wait_are_listed_with_their_change() {
        let config = |value: &str| json!({"customizedVariables": [{"name": "A", "value": value}]});
        let before = at_rest(&asked(&json!([pod(&json!({}), &json!({}))]), &config("old")));
        let mut after = before.clone();
        put(
            &mut after,
            "tidegate.io/v1alpha1",
            "AddOnRollout",
            &json!({"metadata": {"name": "calm"}, "spec": {"pause": {"reason": "holiday"}}}),
        );
        put(
            &mut after,
            &format!("{GROUP}/v1alpha1"),
            "AddOnDeploymentConfig",
            &json!({"metadata": {"name": "calm", "namespace": "default"}, "spec": config("new")}),
        );
        let all = changes(&before, &after, Settings::default(), now());
        assert!(all[0].configs.is_empty(), "{all:#?}");
        let told = changes_text(&all, Listing::Whole);
        let line = "calm: cluster1 cluster2 cluster3 (waiting): addondeploymentconfigs default/calm (";
        assert!(told.starts_with(line), "{told}");
        let told = text(&forecast(&after, Settings::default(), now()), 0, Listing::Whole);
        assert!(told.contains("3 blocked (--max-moved counts 3)"), "{told}");
    }

    fn instance(names: &[&str], merged: &str) -> Value {
        let reference = |name: &&str| {
            json!({"group": "g", "resource": "addondeploymentconfigs",
                "desiredConfig": {"namespace": "n", "name": name, "specHash": format!("{name}{name}0123456789")}})
        };
        let each: Vec<Value> = names.iter().map(reference).collect();
        json!({"status": {"configReferences": each, "conditions": [{"type": "ConfigurationsMerged", "status": merged}]}})
    }

    #[test]
    fn the_order_of_a_list_and_whether_all_of_it_counts_are_changes() {
        let rows = [
            (
                &["a"][..],
                "False",
                &["b"][..],
                "False",
                "n/a (aa012345) -> n/b (bb012345)",
            ),
            (
                &["a", "b"],
                "False",
                &["b", "a"],
                "False",
                "n/a (aa012345), n/b (bb012345) -> n/b (bb012345), n/a (aa012345)",
            ),
            (
                &["a"],
                "False",
                &["a", "b"],
                "True",
                "n/a (aa012345) -> merged n/a (aa012345), n/b (bb012345)",
            ),
            (
                &["a", "b"],
                "True",
                &["a", "b"],
                "False",
                "merged n/a (aa012345), n/b (bb012345) -> n/a (aa012345), n/b (bb012345)",
            ),
            (&["a"], "True", &["a"], "False", ""),
        ];
        for (old, was, new, is, expected) in rows {
            let changes = config_changes(Some(&instance(old, was)), Some(&instance(new, is)));
            let told = changes.into_iter().map(|one| {
                let side =
                    |side: Option<String>| side.unwrap_or_default().replace("addondeploymentconfigs ", "");
                format!("{} -> {}", side(one.old), side(one.new))
            });
            assert_eq!(told.collect::<Vec<_>>().join("; "), expected, "{old:?} {new:?}");
        }
    }
}
