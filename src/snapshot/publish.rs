//! From the store to the facts that admission asks: only what changed since the last time is rebuilt.
//!
//! Decides nothing about objects. Facts are complete only when the caller says that every kind was listed once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::{Facts, VersionFacts};
use super::names::Name;
use super::store::{Place, Store};
use crate::model::ConfigType;

/// The facts as they were published last, and what changed since.
#[derive(Debug, Default)]
pub(super) struct Published {
    facts: Facts,
    addons: BTreeSet<Name>,
    placements: BTreeSet<Place>,
    instances: BTreeSet<Place>,
    versions: BTreeSet<Name>,
}

impl Published {
    pub(super) fn addon_changed(&mut self, addon: &Name) {
        self.addons.insert(addon.clone());
    }

    pub(super) fn decisions_changed(&mut self, placement: &Place) {
        self.placements.insert(placement.clone());
    }

    pub(super) fn versions_changed(&mut self, addon: &Name) {
        self.versions.insert(addon.clone());
    }

    pub(super) fn instance_changed(&mut self, cluster: &Name, addon: &Name) {
        self.instances.insert((cluster.clone(), addon.clone()));
    }
}

impl Store {
    /// Returns new facts if anything that admission may ask has changed since the last call.
    pub fn publish(&mut self, complete: bool) -> Option<Facts> {
        let addons = std::mem::take(&mut self.published.addons);
        let placements = std::mem::take(&mut self.published.placements);
        let instances = std::mem::take(&mut self.published.instances);
        let versions = std::mem::take(&mut self.published.versions);
        let before = self.published.facts.clone();
        for addon in &addons {
            self.publish_addon(addon);
        }
        for placement in &placements {
            self.publish_placement(placement);
        }
        for (cluster, addon) in &instances {
            self.publish_declared(cluster, addon);
        }
        for addon in &versions {
            self.publish_versions(addon);
        }
        self.published.facts.complete |= complete;
        (self.published.facts != before).then(|| self.published.facts.clone())
    }

    fn publish_addon(&mut self, name: &Name) {
        let known = &mut self.published.facts.addons;
        match self.addons.get(name) {
            Some(addon) if known.get(name) == Some(&addon.facts) => {}
            Some(addon) => {
                Arc::make_mut(known).insert(name.clone(), Arc::clone(&addon.facts));
            }
            None => {
                Arc::make_mut(known).remove(name);
            }
        }
    }

    fn publish_versions(&mut self, addon: &Name) {
        let versions = self.versions(addon);
        let supported: Vec<Name> = versions
            .supported()
            .map(|offer| Arc::from(offer.text()))
            .collect();
        let known = Arc::make_mut(&mut self.published.facts.versions);
        if supported.is_empty() {
            known.remove(addon);
            return;
        }
        let default = versions.preset().map(|offer| Arc::from(offer.text()));
        known.insert(addon.clone(), Arc::new(VersionFacts { supported, default }));
    }

    fn publish_placement(&mut self, place: &Place) {
        let decisions = self.decisions.get(place).into_iter().flat_map(BTreeMap::values);
        let clusters: BTreeSet<Name> = decisions
            .flat_map(|decision| decision.clusters.iter().cloned())
            .collect();
        let known = Arc::make_mut(&mut self.published.facts.placements);
        let names = known.entry(place.0.clone()).or_default();
        if self.decisions.contains_key(place) {
            names.insert(place.1.clone(), Arc::new(clusters));
        } else {
            names.remove(&place.1);
        }
        if names.is_empty() {
            known.remove(&place.0);
        }
    }

    fn publish_declared(&mut self, cluster: &Name, addon: &Name) {
        let instance = self.instances.get(addon).and_then(|all| all.get(cluster));
        let supported = instance
            .into_iter()
            .flat_map(|instance| instance.supported.iter());
        let types: Arc<[ConfigType]> = supported
            .filter_map(|of| ConfigType::parse(&of.group, &of.resource).ok())
            .collect();
        if self.published.facts.declared(cluster, addon) == &*types {
            return;
        }
        let known = Arc::make_mut(&mut self.published.facts.declared);
        let addons = known.entry(cluster.clone()).or_default();
        if types.is_empty() {
            addons.remove(addon);
        } else {
            addons.insert(addon.clone(), types);
        }
        if addons.is_empty() {
            known.remove(cluster);
        }
    }
}
