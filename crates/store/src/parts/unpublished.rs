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
    /// The types that agents declare: thousands declare the same.
    pub(crate) declarations: Table<[ConfigType]>,
    /// How many instances declare a type, by add-on.
    declarers: BTreeMap<Name, BTreeMap<ConfigType, usize>>,
}

/// What must be looked at when facts are published.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    pub(crate) addons: BTreeSet<Name>,
    pub(crate) placements: BTreeSet<Place>,
    /// Cluster and name of those that declare other types of configurations.
    pub(crate) instances: BTreeSet<Place>,
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

    /// Counts the types that an instance declares now, and no longer; returns whether the types that any instance of the add-on
    /// declares are others now.
    pub(crate) fn count_declared(&mut self, addon: &Name, old: &[ConfigType], new: &[ConfigType]) -> bool {
        let counts = self.declarers.entry(addon.clone()).or_default();
        let mut differs = false;
        for of in new {
            let count = counts.entry(of.clone()).or_insert(0);
            differs |= *count == 0;
            *count += 1;
        }
        for of in old {
            let Some(count) = counts.get_mut(of) else {
                continue;
            };
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(of);
                differs = true;
            }
        }
        if differs {
            let types = Arc::new(counts.keys().cloned().collect::<BTreeSet<_>>());
            let known = Arc::make_mut(&mut self.facts.declared_types);
            if types.is_empty() {
                known.remove(addon);
                self.declarers.remove(addon);
            } else {
                known.insert(addon.clone(), types);
            }
        }
        differs
    }

    /// An instance was one thing, or nothing, and is another.
    pub(crate) fn instance_changed(&mut self, old: Option<&Instance>, new: Option<&Instance>) {
        let Some(either) = new.or(old) else { return };
        let (addon, cluster) = (&either.addon, &either.cluster);
        if old.map(|old| &old.supported) != new.map(|new| &new.supported) {
            self.changed.instances.insert((cluster.clone(), addon.clone()));
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
