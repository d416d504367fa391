//! The view of one add-on: everything its plan may read, sorted.
//!
//! Decides nothing, copies nothing, and shows no other add-on.

use std::collections::BTreeMap;

use super::names::Name;
use super::record::{AddOn, Cluster, Config, ConfigRef, Decision, Instance, Placement, Work};
use super::settings::Settings;
use super::sight::Sights;
use super::store::Store;
use super::versions::Versions;

/// Everything that the plan of one add-on may read.
#[derive(Debug, Clone, Copy)]
pub struct View<'s> {
    pub(super) store: &'s Store,
    /// The add-on.
    pub addon: &'s AddOn,
}

impl<'s> View<'s> {
    pub(super) fn new(store: &'s Store, addon: &'s AddOn) -> Self {
        Self { store, addon }
    }

    /// Returns the operator's choices.
    pub fn settings(&self) -> Settings {
        self.store.settings
    }

    /// Returns the add-on's instances in order of clusters.
    pub fn instances(&self) -> impl Iterator<Item = &'s Instance> + use<'s> {
        self.store
            .instances
            .get(&self.addon.name)
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    /// Returns the add-on's instance on a cluster.
    pub fn instance(&self, cluster: &str) -> Option<&'s Instance> {
        self.store.instances.get(&self.addon.name)?.get(cluster)
    }

    /// Returns a cluster.
    pub fn cluster(&self, name: &str) -> Option<&'s Cluster> {
        self.store.clusters.get(name)
    }

    /// Returns all clusters in order of their names.
    pub fn clusters(&self) -> impl Iterator<Item = (&'s Name, &'s Cluster)> + use<'s> {
        self.store.clusters.iter()
    }

    /// Returns a placement.
    pub fn placement(&self, namespace: &Name, name: &Name) -> Option<&'s Placement> {
        self.store.placements.get(&(namespace.clone(), name.clone()))
    }

    /// Returns the decisions of a placement in order of their names.
    pub fn decisions(&self, namespace: &Name, name: &Name) -> impl Iterator<Item = &'s Decision> + use<'s> {
        let filed = self.store.decisions.get(&(namespace.clone(), name.clone()));
        filed.into_iter().flat_map(BTreeMap::values)
    }

    pub(super) fn sights(&self) -> &'s Sights {
        &self.store.sights
    }

    /// Returns a configuration object.
    pub fn config(&self, config: &ConfigRef) -> Option<&'s Config> {
        self.store.config(config)
    }

    /// Returns the object of a reference only if its present content is the one with `hash`: a cluster is never given
    /// content that its rollout has not assigned to it.
    pub fn content(&self, config: &ConfigRef, hash: &str) -> Option<&'s Config> {
        self.config(config).filter(|found| &*found.hash == hash)
    }

    /// Returns the content that the object of a reference had when its hash was `hash`, even if it has been edited or
    /// deleted since: as long as an instance holds it and this program has seen it.
    pub fn last_content(&self, config: &ConfigRef, hash: &Name) -> Option<&'s Config> {
        let retired = || self.store.retired.get(&(config.clone(), hash.clone()));
        self.store
            .config(config)
            .filter(|found| found.hash == *hash)
            .or_else(retired)
    }

    /// Returns the clusters that tell by a label that they have the add-on, with what they tell, sorted.
    pub fn features(&self) -> impl Iterator<Item = (&'s Name, &'s Name)> + use<'s> {
        self.store.features.get(&self.addon.name).into_iter().flatten()
    }

    /// Returns all works of the add-on with their clusters, sorted by cluster, namespace and name.
    pub fn all_works(&self) -> impl Iterator<Item = (&'s Name, &'s Work)> + use<'s> {
        let clusters = self.store.works.get(&self.addon.name).into_iter().flatten();
        clusters.flat_map(|(cluster, works)| works.values().map(move |work| (cluster, work)))
    }

    /// Returns the versions of the add-on, from the templates that are made for it.
    pub fn versions(&self) -> Versions {
        self.store.versions(&self.addon.name)
    }

    /// Returns the add-on's works for a cluster, sorted by namespace and name.
    pub fn works(&self, cluster: &str) -> impl Iterator<Item = &'s Work> + use<'s> {
        self.store.works_of(&self.addon.name, cluster)
    }
}
