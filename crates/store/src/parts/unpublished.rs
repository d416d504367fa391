//! The facts as they were published last, and what has changed since.
//!
//! Decides nothing about objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::facts::{Facts, Peer, PeerFacts, PeerInstance};
use crate::kind::{ObjectKey, Place};
use crate::names::Table;
use crate::record::{ConfigRef, Instance};
use model::{ConfigType, Name};

/// The facts as they were published last, and what changed since.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) facts: Facts,
    pub(crate) changed: Changed,
    /// Counts as they are now; those of `changed.peers` are not published yet.
    pub(crate) peers: BTreeMap<Name, PeerFacts>,
    /// What instances say for themselves: thousands say the same.
    sayings: Table<PeerInstance>,
    /// How many instances declare a type, by add-on.
    declarers: BTreeMap<Name, BTreeMap<ConfigType, usize>>,
}

/// What must be looked at when facts are published.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub(crate) addons: BTreeSet<Name>,
    pub(crate) placements: BTreeSet<Place>,
    /// Add-ons whose instances declare other types of configurations.
    pub(crate) declared: BTreeSet<Name>,
    pub(crate) versions: BTreeSet<Name>,
    pub(crate) clusters: BTreeSet<Name>,
    pub(crate) namespaces: BTreeSet<Name>,
    pub(crate) configs: BTreeSet<ConfigRef>,
    pub(crate) hub_roles: BTreeSet<ObjectKey>,
    pub(crate) peers: BTreeSet<Name>,
    pub(crate) profiles: BTreeSet<Name>,
    pub(crate) checks: BTreeSet<Name>,
    /// Whether any upgrade of clusters has.
    pub(crate) upgrades: bool,
}

/// The types that an instance declares, without those that are none.
fn declared(instance: Option<&Instance>) -> Vec<ConfigType> {
    let types = instance
        .into_iter()
        .flat_map(|instance| instance.supported.iter());
    types
        .filter_map(|of| ConfigType::parse(&of.group, &of.resource).ok())
        .collect()
}

impl Published {
    pub(crate) fn addon_changed(&mut self, addon: &Name) {
        self.changed.addons.insert(addon.clone());
    }

    /// A placement or what was decided for it has changed.
    pub(crate) fn decisions_changed(&mut self, placement: &Place) {
        self.changed.placements.insert(placement.clone());
    }

    pub(crate) fn versions_changed(&mut self, addon: &Name) {
        self.changed.versions.insert(addon.clone());
    }

    pub(crate) fn cluster_changed(&mut self, cluster: &Name) {
        self.changed.clusters.insert(cluster.clone());
    }

    pub(crate) fn namespace_changed(&mut self, namespace: &Name) {
        self.changed.namespaces.insert(namespace.clone());
    }

    pub(crate) fn hub_role_changed(&mut self, role: &ObjectKey) {
        self.changed.hub_roles.insert(role.clone());
    }

    pub(crate) fn check_changed(&mut self, check: &Name) {
        self.changed.checks.insert(check.clone());
    }

    pub(crate) fn config_changed(&mut self, config: &ConfigRef) {
        self.changed.configs.insert(config.clone());
    }

    /// Returns the types that any instance of an add-on declares; nothing if none declares any.
    pub(crate) fn declared_by(&self, addon: &Name) -> Option<Arc<BTreeSet<ConfigType>>> {
        let types = self.declarers.get(addon)?.keys().cloned().collect();
        Some(Arc::new(types))
    }

    /// Counts the types that an instance declares now, and no longer.
    fn count_declared(&mut self, addon: &Name, old: &[ConfigType], new: &[ConfigType]) {
        let counts = self.declarers.entry(addon.clone()).or_default();
        let before = counts.len();
        let mut differs = false;
        for of in new {
            let count = counts.entry(of.clone()).or_insert(0);
            differs |= *count == 0;
            *count += 1;
        }
        for of in old {
            if let Some(count) = counts.get_mut(of) {
                *count = count.saturating_sub(1);
            }
        }
        counts.retain(|_, count| *count > 0);
        differs |= counts.len() != before;
        if counts.is_empty() {
            self.declarers.remove(addon);
        }
        if differs {
            self.changed.declared.insert(addon.clone());
        }
    }

    /// An instance was one thing, or nothing, and is another.
    pub(crate) fn instance_changed(&mut self, old: Option<&Instance>, new: Option<&Instance>) {
        let Some(either) = new.or(old) else { return };
        let (addon, cluster) = (&either.addon, &either.cluster);
        if old.map(|old| &old.supported) != new.map(|new| &new.supported) {
            self.count_declared(addon, &declared(old), &declared(new));
        }
        let (old, new) = (old.map(Peer::of), new.map(Peer::of));
        if old == new {
            return;
        }
        let new = new.map(|peer| peer.shared(&mut self.sayings));
        let peers = self.peers.entry(addon.clone()).or_default();
        peers.count(cluster, old.as_ref(), new.as_ref());
        if peers.clusters == 0 {
            self.peers.remove(addon);
        }
        self.changed.peers.insert(addon.clone());
    }
}
