//! What has changed between two pictures of the fleet, and whom it concerns.
//!
//! Decides which judgements may differ now. Parts that are shared by both pictures are not looked at, so that a picture in
//! which one cluster differs costs next to nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::inputs::{Inputs, Part};
use admission::policy::Fact;
use admission::{Facts, Rulebook};
use store::{ByTwoNames, Name, ObjectKey, PlacementFacts};

/// Facts that only policies ask for.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question that policies ask or do not"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Some policy asks about the cluster of an add-on.
    pub clusters: bool,
    /// Some policy asks how an add-on stands on all clusters.
    pub peers: bool,
    /// Some policy asks how many clusters and groups a placement has.
    pub placements: bool,
    /// Some policy asks for labels or annotations of the namespace.
    pub namespaces: bool,
}

impl Asks {
    /// Returns what the policies of a rulebook ask for.
    pub fn of(rulebook: &Rulebook) -> Self {
        let facts = rulebook.policies.facts();
        Self {
            clusters: facts.contains(&Fact::Cluster),
            peers: facts.contains(&Fact::Peers),
            placements: facts.contains(&Fact::Placements),
            namespaces: rulebook.policies.reads_namespaces(),
        }
    }
}

/// What has changed between two pictures of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// More kinds are known completely: nothing that was said holds any more.
    everything: bool,
    addons: BTreeSet<Name>,
    versions: BTreeSet<Name>,
    clusters: BTreeSet<Name>,
    /// Those of them that have changed for the add-ons on them.
    hosts: BTreeSet<Name>,
    configs: BTreeSet<Name>,
    peers: BTreeSet<Name>,
    namespaces: BTreeSet<Name>,
    /// The parts of which only that is known that something has changed.
    parts: BTreeSet<Part>,
    /// Add-ons of which agents declare other types, on whatever cluster.
    declared_types: BTreeSet<Name>,
    /// Placements with the clusters that they have gained or lost.
    placements: BTreeMap<(Name, Name), BTreeSet<Name>>,
    asks: Asks,
}

impl Shift {
    /// Returns what has changed, as far as rules and these policies may ask for it.
    pub fn between(old: &Facts, new: &Facts, asks: Asks) -> Self {
        let clusters = old.clusters.changed(&new.clusters);
        // Rules ask about the cluster of an add-on only whether it is there, accepted and not being removed. Its labels change with
        // each of its add-ons.
        let state = |facts: &Facts, name: &str| {
            let found = facts.cluster(name);
            found.map(|cluster| (cluster.accepted, cluster.deleting))
        };
        let hosts = clusters.iter();
        let hosts = hosts.filter(|name| asks.clusters || state(old, name) != state(new, name));
        Self {
            hosts: hosts.cloned().collect(),
            everything: old.known != new.known,
            addons: changed(&old.addons, &new.addons),
            versions: changed(&old.versions, &new.versions),
            clusters,
            configs: old.configs.changed(&new.configs),
            peers: if asks.peers {
                changed(&old.peers, &new.peers)
            } else {
                BTreeSet::new()
            },
            namespaces: if asks.namespaces {
                old.namespaces.changed(&new.namespaces)
            } else {
                BTreeSet::new()
            },
            parts: [
                (Part::Roles, differs(&old.hub_roles, &new.hub_roles)),
                (Part::Settings, differs(&old.rollouts, &new.rollouts)),
                (Part::Settings, differs(&old.profiles, &new.profiles)),
                (Part::Checks, !old.checks.keys().eq(new.checks.keys())),
            ]
            .into_iter()
            .filter_map(|(part, differs)| differs.then_some(part))
            .collect(),
            declared_types: changed(&old.declared_types, &new.declared_types),
            placements: placements(old, new),
            asks,
        }
    }

    /// Tells whether nothing has changed that rules and policies may ask for.
    pub fn is_empty(&self) -> bool {
        *self
            == Self {
                asks: self.asks,
                ..Self::default()
            }
    }

    /// Tells whether the judgement of an object may differ now.
    pub fn concerns(&self, key: &ObjectKey, inputs: &Inputs) -> bool {
        let Inputs {
            addon,
            cluster,
            configs,
            placements,
            whole,
        } = inputs;
        let addon = addon.as_ref().is_some_and(|name| {
            self.addons.contains(name)
                || self.versions.contains(name)
                || self.peers.contains(name)
                || self.declared_types.contains(name)
        });
        self.everything
            || addon
            || whole.iter().any(|part| self.changes(*part))
            || cluster.as_ref().is_some_and(|name| self.hosts.contains(name))
            || configs.iter().any(|config| self.configs.contains(config))
            || placements.iter().any(|place| self.moves(place, cluster.as_ref()))
            || self.namespaces.contains(&key.namespace)
    }

    fn changes(&self, part: Part) -> bool {
        match part {
            Part::AddOns => !(self.addons.is_empty() && self.versions.is_empty()),
            Part::Clusters => !self.clusters.is_empty(),
            Part::Configs => !self.configs.is_empty(),
            Part::Placements => !self.placements.is_empty(),
            Part::Roles | Part::Settings | Part::Checks => self.parts.contains(&part),
        }
    }

    /// Rules ask of a placement of an instance only whether it selects the cluster.
    fn moves(&self, place: &(Name, Name), cluster: Option<&Name>) -> bool {
        let Some(moved) = self.placements.get(place) else {
            return false;
        };
        self.asks.placements || cluster.is_none_or(|cluster| moved.contains(cluster))
    }
}

fn differs<T: PartialEq>(old: &Arc<T>, new: &Arc<T>) -> bool {
    !Arc::ptr_eq(old, new) && old != new
}

/// Returns the names whose values differ.
fn changed<T: PartialEq>(
    old: &Arc<BTreeMap<Name, Arc<T>>>,
    new: &Arc<BTreeMap<Name, Arc<T>>>,
) -> BTreeSet<Name> {
    if Arc::ptr_eq(old, new) {
        return BTreeSet::new();
    }
    let same = |a: &Arc<T>, b: &Arc<T>| Arc::ptr_eq(a, b) || a == b;
    differing(old, new, same)
}

/// Returns the names that only one of two maps has, or that are not the same in both.
fn differing<T>(
    old: &BTreeMap<Name, T>,
    new: &BTreeMap<Name, T>,
    same: impl Fn(&T, &T) -> bool,
) -> BTreeSet<Name> {
    let of_old = old
        .iter()
        .filter(|(name, value)| !new.get(*name).is_some_and(|other| same(value, other)));
    let of_new = new.keys().filter(|name| !old.contains_key(*name));
    of_old.map(|(name, _)| name).chain(of_new).cloned().collect()
}

fn changed_by_two<T: PartialEq>(
    old: &Arc<ByTwoNames<T>>,
    new: &Arc<ByTwoNames<T>>,
) -> BTreeSet<(Name, Name)> {
    if Arc::ptr_eq(old, new) {
        return BTreeSet::new();
    }
    let outer = differing(old, new, BTreeMap::eq);
    let none = BTreeMap::new();
    let inner = outer.iter().flat_map(|name| {
        let (old, new) = (old.get(name).unwrap_or(&none), new.get(name).unwrap_or(&none));
        let names = differing(old, new, T::eq).into_iter();
        names.map(|inner| (name.clone(), inner))
    });
    inner.collect()
}

fn placements(old: &Facts, new: &Facts) -> BTreeMap<(Name, Name), BTreeSet<Name>> {
    let moved = |place: (Name, Name)| {
        let clusters = |facts: &Facts| {
            facts
                .placement(&place.0, &place.1)
                .map(|found: &PlacementFacts| Arc::clone(&found.clusters))
                .unwrap_or_default()
        };
        let (was, is) = (clusters(old), clusters(new));
        let moved = was.symmetric_difference(&is).cloned().collect();
        (place, moved)
    };
    let places = changed_by_two(&old.placements, &new.placements);
    places.into_iter().map(moved).collect()
}
