//! `ClusterManagementAddOn`: the indexes of what an add-on refers to.
//!
//! Decides whether a change of an add-on concerns its clusters, or only what its status tells people.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::addon::addon;
use crate::decode::read::parse;
use crate::kind::Owner;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::parts::mentions::Mentioned;
use crate::parts::objects::replace;
use crate::record::{self, ConfigRef, Lifecycle, Meta, Progression};
use crate::settings::{EmptyLifecycle, Fence, Managing, Settings};
use crate::store::Store;
use model::ConfigRollout;
use model::Name;

/// The row of the kind.
pub(crate) struct AddOn;

impl Stored for AddOn {
    type Record = record::AddOn;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        addon(&parse(object)?, &mut store.names)
    }

    fn file(store: &mut Store, _key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let mut record = record;
        record.managed = is_managed(&record.lifecycle, &store.settings);
        let name = record.name.clone();
        let mut slot = store.objects.addons.remove(&name);
        if let Some(old) = &slot {
            index(store, old, Mentioned::NoMore);
        }
        index(store, &record, Mentioned::Now);
        let before = slot.as_ref().map(unspoken);
        if replace(&mut slot, record, |record| &mut record.meta) {
            store.published.addon_changed(&name);
            let owner = Owner::addon(&name);
            if slot.as_ref().map(unspoken) == before {
                store.changes.of_none(&owner);
            }
            touched.insert(owner);
        }
        store.objects.addons.extend(slot.map(|record| (name, record)));
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.objects.addons.get(&key.name).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let names = store.objects.addons.keys();
        names
            .map(|name| ObjectKey::new(Kind::AddOn, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let Some(old) = store.objects.addons.remove(&key.name) else {
            return;
        };
        store.published.addon_changed(&key.name);
        store.tombstones.settings.remove(&key.name);
        index(store, &old, Mentioned::NoMore);
        touched.insert(Owner::addon(&key.name));
    }
}

/// Whether an add-on is managed here.
fn is_managed(lifecycle: &Lifecycle, settings: &Settings) -> bool {
    let all = settings.managing == Managing::All;
    match lifecycle {
        Lifecycle::Tidegate => true,
        Lifecycle::Managed => all && settings.fence == Fence::Open,
        Lifecycle::Empty => all && settings.empty_lifecycle == EmptyLifecycle::Managed,
        Lifecycle::Own(_) => false,
    }
}

impl Store {
    /// Takes note whether OCM's add-on manager is active; returns the owners whose plans that changes.
    pub fn fence(&mut self, fence: Fence) -> Touched {
        let mut touched = Touched::new();
        if std::mem::replace(&mut self.settings.fence, fence) == fence {
            return touched;
        }
        for (name, addon) in &mut self.objects.addons {
            if addon.lifecycle == Lifecycle::Managed {
                addon.managed = is_managed(&addon.lifecycle, &self.settings);
                touched.insert(Owner::addon(name));
            }
        }
        self.changes.close(&touched);
        touched
    }

    /// Looks at the store as it is while OCM's add-on manager is active, or not.
    pub fn seen_behind<T>(&mut self, fence: Fence, look: impl FnOnce(&Self) -> T) -> T {
        let own = self.settings.fence;
        self.fence(fence);
        let seen = look(self);
        self.fence(own);
        seen
    }

    /// Returns whether an add-on is one that OCM's add-on manager would act on.
    pub fn is_stocks(&self, owner: &Owner) -> bool {
        let addon = self.objects.addons.get(&owner.name);
        let addon = addon.filter(|_| owner.kind == Kind::AddOn);
        addon.is_some_and(|addon| addon.lifecycle == Lifecycle::Managed)
    }
}

fn index(store: &mut Store, addon: &record::AddOn, mentioned: Mentioned) {
    let owner = Owner::addon(&addon.name);
    for name in &addon.facts.dependencies {
        mentioned.note(&mut store.indexes.dependents, name, &addon.name);
    }
    if let Ok(ConfigRollout::RollingUpdateWithPlacement(update)) = &addon.configuration_rollout {
        let place = (update.namespace.as_str().into(), update.name.as_str().into());
        mentioned.note(&mut store.indexes.by_placement, &place, &owner);
    }
    for used in &addon.placements {
        let place = (used.namespace.clone(), used.name.clone());
        mentioned.note(&mut store.indexes.by_placement, &place, &owner);
        for config in &used.configs {
            mentioned.note(&mut store.indexes.by_config, config, &owner);
        }
    }
    let defaults = addon
        .supported
        .iter()
        .filter_map(|supported| supported.config.as_ref());
    let common = defaults.chain(&addon.configuration);
    for config in common.clone() {
        mentioned.note(&mut store.indexes.by_config, config, &owner);
    }
    // What clusters may go back to need not be named anywhere else any more.
    let noted = addon.progressions.iter().flatten();
    let good: Vec<ConfigRef> = noted
        .filter_map(Progression::known_good)
        .flat_map(|content| content.configs)
        .map(|pinned| pinned.config)
        .collect();
    for config in &good {
        mentioned.note(&mut store.indexes.by_config, config, &owner);
    }
    let placed = addon.placements.iter().flat_map(|used| &used.configs);
    store
        .sights
        .mention_all(common.chain(placed).chain(&good), mentioned);
}

/// Returns an add-on without what its status tells people; the plan of a cluster reads no more than this.
fn unspoken(addon: &record::AddOn) -> record::AddOn {
    let mut addon = addon.clone();
    addon.meta.version = Name::from("");
    addon.observed = None;
    addon.conditions.clear();
    addon.supported_versions.clear();
    addon.default_version = Name::from("");
    for progression in addon.progressions.iter_mut().flatten() {
        progression.forget_words();
        for reference in &mut progression.references {
            (reference.applied, reference.known_good) = (None, None);
        }
    }
    addon
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Settings};
    use serde_json::json;

    fn addon(store: &mut Store, name: &str, env: &str) {
        let strategy =
            json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": env}}});
        let object = json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"},
            "spec": {"installStrategy": strategy}});
        let kind = Kind::AddOn;
        store.apply(Event::Applied { kind, object });
    }

    fn cluster(store: &mut Store, version: u8, env: &str) -> Vec<String> {
        let metadata = json!({"name": "c1", "uid": "c1", "resourceVersion": version.to_string(), "labels": {"env": env}});
        let object = json!({"metadata": metadata, "spec": {}});
        let kind = Kind::Cluster;
        let touched = store.apply(Event::Applied { kind, object });
        touched.iter().map(|owner| owner.name.to_string()).collect()
    }

    #[test]
    fn labels_of_a_cluster_touch_the_add_ons_that_select_it_now_or_did_before() {
        let mut store = Store::new(Settings::default());
        addon(&mut store, "of-prod", "prod");
        addon(&mut store, "of-stage", "stage");
        assert_eq!(cluster(&mut store, 1, "dev"), [""; 0]);
        assert_eq!(cluster(&mut store, 2, "prod"), ["of-prod"]);
        assert_eq!(cluster(&mut store, 3, "prod"), [""; 0], "a new revision alone");
        assert_eq!(cluster(&mut store, 4, "stage"), ["of-prod", "of-stage"]);
        let object = json!({"metadata": {"name": "c1"}});
        let kind = Kind::Cluster;
        let touched = store.apply(Event::Deleted { kind, object });
        assert_eq!(
            touched.iter().map(|owner| &*owner.name).collect::<Vec<_>>(),
            ["of-stage"]
        );
    }
}
