//! A limit on the memory of stored objects whose authors may make them large.
//!
//! An object is left out that would take more than half of the remaining budget: of too many objects, the largest are left out.
//! Objects that agents write have a budget for each namespace, so that one cluster takes no memory from the others.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kind::{Kind, Memory, ObjectKey};
use kubernetes::bounds::tree_size;
use model::Name;

/// Bytes for all templates and configurations, of which the store keeps trees.
const OF_CONTENT: usize = 128 << 20;
/// Bytes for what the agents of a namespace write, and for what they write outside of namespaces, by kind.
const OF_AGENTS: usize = 16 << 20;
/// Bytes for all copies of content that ran well.
const OF_COPIES: usize = 32 << 20;
/// Content that takes less is not counted.
const SMALL_CONTENT: usize = 32 << 10;
/// An object of an agent that takes less is not counted: nearly none takes more, and a fleet has many.
const SMALL: usize = 256 << 10;

type Share = (Kind, Name);

/// The memory that is in use, and the objects that are left out.
#[derive(Debug, Default)]
pub(crate) struct MemoryBudget {
    taken: BTreeMap<Share, usize>,
    sizes: BTreeMap<ObjectKey, usize>,
    /// What is left out, and what it would take.
    left_out: BTreeMap<ObjectKey, usize>,
}

impl MemoryBudget {
    /// Reserves memory for an object, in place of its previous state.
    ///
    /// # Errors
    ///
    /// Why the budget is exceeded.
    pub(crate) fn take(&mut self, key: &ObjectKey, object: &Value) -> Result<(), String> {
        let Some((share, all, small)) = share(key) else {
            return Ok(());
        };
        let size = size(key.kind, object);
        let before = self.sizes.get(key).copied().unwrap_or_default();
        let taken = self.taken.get(&share).copied().unwrap_or_default() - before;
        let left = all.saturating_sub(taken);
        if size > small && size > left / 2 {
            self.left_out.insert(key.clone(), size);
            return Err(format!(
                "it takes {} KiB of memory, and an object may take half of what is left, which is {} KiB; split it, or delete \
                 other large objects",
                size >> 10,
                left >> 10
            ));
        }
        self.left_out.remove(key);
        if size > small {
            self.sizes.insert(key.clone(), size);
            self.taken.insert(share, taken + size);
        } else if before > 0 {
            self.sizes.remove(key);
            self.taken.insert(share, taken);
        }
        Ok(())
    }

    /// Releases the memory of an object that was deleted.
    pub(crate) fn free(&mut self, key: &ObjectKey) {
        self.left_out.remove(key);
        let (Some(size), Some((share, ..))) = (self.sizes.remove(key), share(key)) else {
            return;
        };
        if let Some(taken) = self.taken.get_mut(&share) {
            *taken -= size;
        }
    }

    /// Returns the kinds of which objects are left out that fit now.
    pub(crate) fn fitting(&self) -> impl Iterator<Item = Kind> {
        let fits = |(key, size): &(&ObjectKey, &usize)| {
            share(key).is_some_and(|(share, all, _)| {
                let taken = self.taken.get(&share).copied().unwrap_or_default();
                **size <= all.saturating_sub(taken) / 2
            })
        };
        self.left_out.iter().filter(fits).map(|(key, _)| key.kind)
    }

    /// Returns whether an object is left out.
    pub(crate) fn is_left_out(&self, key: &ObjectKey) -> bool {
        self.left_out.contains_key(key)
    }
}

/// Returns the budget of an object, its size, and the size below which objects are not counted.
fn share(key: &ObjectKey) -> Option<(Share, usize, usize)> {
    match key.kind.memory() {
        Memory::Unlimited => None,
        Memory::Content => Some(((Kind::Template, Name::from("")), OF_CONTENT, SMALL_CONTENT)),
        Memory::Copies => Some(((key.kind, Name::from("")), OF_COPIES, SMALL_CONTENT)),
        Memory::OfAgents => Some(((key.kind, key.namespace.clone()), OF_AGENTS, SMALL)),
        Memory::OfAgentsLarge => Some(((key.kind, key.namespace.clone()), 4 * OF_AGENTS, SMALL)),
    }
}

/// Returns what the store keeps of an object at most. Of the spec of a work it keeps a digest.
fn size(kind: Kind, object: &Value) -> usize {
    let without_spec = matches!(kind, Kind::Work | Kind::UpgradeWork);
    let fields = object.as_object().into_iter().flatten();
    let kept = fields.filter(|(name, _)| !(without_spec && *name == "spec"));
    kept.map(|(_, field)| tree_size(field)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Settings, Store};
    use serde_json::{Map, json};

    /// A list whose tree takes about 90 times its text.
    fn dense(maps: usize) -> Value {
        json!(vec![json!({"a": 0}); maps])
    }

    fn object(name: &str, namespace: &str, field: &str, content: &Value) -> Value {
        let mut object = json!({"metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1",
            "labels": {"open-cluster-management.io/addon-name": "hello"}}, "spec": {"addonName": "hello"}});
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "x": content});
        object[field]["agentSpec"] = json!({"workload": {"manifests": [manifest]}});
        object
    }

    fn apply(store: &mut Store, kind: Kind, object: Value) -> bool {
        let key = ObjectKey::of(kind, &object);
        drop(store.apply(Event::Applied { kind, object }));
        store.left_out(&key).is_none()
    }

    fn kept(store: &Store) -> usize {
        let sizes = store
            .objects
            .configs
            .values()
            .map(|config| match &*config.content {
                crate::Content::Template(template) => tree_size(&template.agent),
                crate::Content::Deployment(_) | crate::Content::Hub => 0,
            });
        sizes.sum()
    }

    #[test]
    fn a_thousand_templates_stay_within_their_budget_and_small_ones_are_read() {
        let mut store = Store::bounded(Settings::default());
        // Ten just under the bound of values, and many that are a fiftieth of it.
        let (largest, large, small) = (dense(49_900), dense(1_000), dense(20));
        let mut read = 0;
        for index in 0..1_000 {
            let content = if index < 10 { &largest } else { &large };
            let template = object(&format!("t{index}"), "", "spec", content);
            read += usize::from(apply(&mut store, Kind::Template, template));
        }
        assert!(kept(&store) <= OF_CONTENT, "{} MiB", kept(&store) >> 20);
        assert!((50..1_000).contains(&read), "{read} are read");
        assert_eq!(store.faults().len(), 1_000 - read, "every other one is reported");
        let (name, why) = store.faults().iter().next().expect("a fault");
        assert!(why.contains("KiB of memory"), "{name}: {why}");
        assert!(apply(
            &mut store,
            Kind::Template,
            object("small", "", "spec", &small)
        ));
        assert!(store.faults().keys().all(|key| *key.name != *"small"));
    }

    #[test]
    fn objects_of_an_agent_take_no_memory_from_other_clusters() {
        let mut store = Store::bounded(Settings::default());
        let status = dense(8_000);
        let mut work = |namespace: &str, name: &str, field: &str| {
            apply(&mut store, Kind::Work, object(name, namespace, field, &status))
        };
        let read = (0..50).filter(|index| work("c1", &format!("w{index}"), "status"));
        assert!((1..10).contains(&read.count()));
        assert!(work("c2", "w", "status"), "another cluster has its own budget");
        assert!(work("c1", "w", "spec"), "of a spec a digest is kept");
    }

    #[test]
    fn released_memory_is_available_to_another_object() {
        let mut store = Store::bounded(Settings::default());
        let (large, small) = (dense(49_900), Value::Object(Map::new()));
        let template = |name: &str, content: &Value| object(name, "", "spec", content);
        assert!(apply(&mut store, Kind::Template, template("a", &large)));
        assert!(!apply(&mut store, Kind::Template, template("b", &large)));
        assert_eq!(store.fitting().len(), 0);
        assert!(
            apply(&mut store, Kind::Template, template("a", &large)),
            "its own place is no obstacle"
        );
        assert!(apply(&mut store, Kind::Template, template("a", &small)));
        assert_eq!(store.fitting().into_iter().collect::<Vec<_>>(), [Kind::Template]);
        assert!(apply(&mut store, Kind::Template, template("b", &large)));
        assert!(!apply(&mut store, Kind::Template, template("c", &large)));
        let kind = Kind::Template;
        let object = template("b", &large);
        drop(store.apply(Event::Deleted { kind, object }));
        assert_eq!(store.fitting().len(), 1);
        let keys = [ObjectKey::new(kind, "", "a")].into();
        drop(store.apply(Event::ListEnded { kind, keys }));
        assert_eq!(
            (store.fitting().len(), store.faults().len()),
            (0, 0),
            "an object that no list shows waits for no memory"
        );
    }
}
