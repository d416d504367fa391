//! The facts as they were published last, and what has changed since.
//!
//! Decides nothing about objects.

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::facts::{Facts, Peer, PeerFacts};
use crate::snapshot::kind::{ObjectKey, Place};
use crate::snapshot::name::Name;
use crate::snapshot::record::{ConfigRef, Instance};

/// The facts as they were published last, and what changed since.
#[derive(Debug, Default)]
pub(in crate::snapshot) struct Published {
    pub(in crate::snapshot) facts: Facts,
    pub(in crate::snapshot) changed: Changed,
    /// Counts as they are now; those of `changed.peers` are not published yet.
    pub(in crate::snapshot) peers: BTreeMap<Name, PeerFacts>,
}

/// What must be looked at when facts are published.
#[derive(Debug, Default)]
pub(in crate::snapshot) struct Changed {
    pub(in crate::snapshot) addons: BTreeSet<Name>,
    pub(in crate::snapshot) placements: BTreeSet<Place>,
    pub(in crate::snapshot) instances: BTreeSet<Place>,
    pub(in crate::snapshot) versions: BTreeSet<Name>,
    pub(in crate::snapshot) clusters: BTreeSet<Name>,
    pub(in crate::snapshot) namespaces: BTreeSet<Name>,
    pub(in crate::snapshot) configs: BTreeSet<ConfigRef>,
    pub(in crate::snapshot) hub_roles: BTreeSet<ObjectKey>,
    pub(in crate::snapshot) peers: BTreeSet<Name>,
}

impl Published {
    pub(in crate::snapshot) fn addon_changed(&mut self, addon: &Name) {
        self.changed.addons.insert(addon.clone());
    }

    /// A placement or what was decided for it has changed.
    pub(in crate::snapshot) fn decisions_changed(&mut self, placement: &Place) {
        self.changed.placements.insert(placement.clone());
    }

    pub(in crate::snapshot) fn versions_changed(&mut self, addon: &Name) {
        self.changed.versions.insert(addon.clone());
    }

    pub(in crate::snapshot) fn cluster_changed(&mut self, cluster: &Name) {
        self.changed.clusters.insert(cluster.clone());
    }

    pub(in crate::snapshot) fn namespace_changed(&mut self, namespace: &Name) {
        self.changed.namespaces.insert(namespace.clone());
    }

    pub(in crate::snapshot) fn hub_role_changed(&mut self, role: &ObjectKey) {
        self.changed.hub_roles.insert(role.clone());
    }

    pub(in crate::snapshot) fn config_changed(&mut self, config: &ConfigRef) {
        self.changed.configs.insert(config.clone());
    }

    /// An instance was one thing, or nothing, and is another.
    pub(in crate::snapshot) fn instance_changed(&mut self, old: Option<&Instance>, new: Option<&Instance>) {
        let Some(either) = new.or(old) else { return };
        let (addon, cluster) = (&either.addon, &either.cluster);
        self.changed.instances.insert((cluster.clone(), addon.clone()));
        let (old, new) = (old.map(Peer::of), new.map(Peer::of));
        if old == new {
            return;
        }
        let peers = self.peers.entry(addon.clone()).or_default();
        peers.count(cluster, old.as_ref(), new.as_ref());
        if peers.clusters == 0 {
            self.peers.remove(addon);
        }
        self.changed.peers.insert(addon.clone());
    }
}
