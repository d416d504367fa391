//! Records by add-on, each found again by a key of its own.
//!
//! Decides to which clusters of an add-on a change of a record happened.

use std::collections::BTreeMap;

use super::objects::replace;
use crate::record::Meta;
use model::Name;

/// Records by add-on, each found again by a key of its own.
#[derive(Debug)]
pub(crate) struct Filed<K, R> {
    pub(crate) by_addon: BTreeMap<Name, BTreeMap<K, R>>,
    pub(crate) places: BTreeMap<K, Name>,
}

/// A record that is about one cluster.
pub(crate) trait OfCluster: PartialEq {
    /// Identity and revision.
    fn meta(&mut self) -> &mut Meta;
    /// The cluster.
    fn cluster(&self) -> &Name;
}

/// An add-on and a cluster that something has happened to.
pub(crate) type Happened = (Name, Name);

impl<K, R> Default for Filed<K, R> {
    fn default() -> Self {
        Self {
            by_addon: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, R: OfCluster> Filed<K, R> {
    /// Returns the keys of all records, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.places.keys()
    }

    /// Tells whether an add-on has any record.
    pub(crate) fn has(&self, addon: &Name) -> bool {
        self.by_addon.contains_key(addon)
    }

    pub(crate) fn insert(&mut self, key: &K, addon: Name, record: R) -> Vec<Happened> {
        let mut happened = Vec::new();
        if self.places.get(key).is_some_and(|filed| *filed != addon) {
            happened.extend(self.remove(key));
        }
        let filed = self.by_addon.entry(addon.clone()).or_default();
        let mut slot = filed.remove(key);
        let before = slot.as_ref().map(|old| old.cluster().clone());
        let cluster = record.cluster().clone();
        if replace(&mut slot, record, R::meta) {
            let clusters = before.into_iter().chain([cluster]);
            happened.extend(clusters.map(|cluster| (addon.clone(), cluster)));
        }
        filed.extend(slot.map(|record| (key.clone(), record)));
        self.places.insert(key.clone(), addon);
        happened
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<Happened> {
        let addon = self.places.remove(key)?;
        let filed = self.by_addon.get_mut(&addon)?;
        let old = filed.remove(key);
        if filed.is_empty() {
            self.by_addon.remove(&addon);
        }
        old.map(|old| (addon, old.cluster().clone()))
    }

    pub(crate) fn of(&self, addon: &Name) -> Option<&BTreeMap<K, R>> {
        self.by_addon.get(addon)
    }

    pub(crate) fn at(&self, key: &K) -> Option<&R> {
        self.of(self.places.get(key)?)?.get(key)
    }
}
