//! The tables of the store: records of kinds that are found in more ways than by their place (`kept`), indexes of them, what is between
//! a plan and the hub, what is kept of deleted objects, and what upgrades read.
//!
//! Decides whether two states of an object differ in anything that a plan reads: a new revision alone touches no plan.

use super::expectations::Expectations;
use super::filed::Filed;
use super::mentions::Mentions;
use super::removals::Removals;
use super::work_places::WorkPlaces;
use crate::kind::{Kind, ObjectKey, Owner, Place, Touched};
use crate::record::{AddOn, Cluster, Config, ConfigRef, Decision, Instance, Meta, Work};
use crate::registration::grants::Grant;
use crate::registration::requests::Request;
use crate::upgrade::WorksByName;
use model::Name;
use std::collections::{BTreeMap, BTreeSet};

/// The works of one cluster, sorted by namespace and name. Nearly always there is one, for which a map would allocate space for many.
pub(crate) type Works = Box<[Work]>;

/// The records, each kind in the place in which plans look for it.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// By name.
    pub(crate) addons: BTreeMap<Name, AddOn>,
    /// By add-on and cluster; in boxes: a map allocates space for more records than it holds.
    pub(crate) instances: BTreeMap<Name, BTreeMap<Name, Box<Instance>>>,
    /// By add-on and cluster.
    pub(crate) works: BTreeMap<Name, BTreeMap<Name, Works>>,
    /// By name.
    pub(crate) clusters: BTreeMap<Name, Cluster>,
    /// By placement and name.
    pub(crate) decisions: BTreeMap<Place, BTreeMap<Name, Decision>>,
    /// By reference.
    pub(crate) configs: BTreeMap<ConfigRef, Config>,
    /// Service accounts, roles and role bindings that the controllers have created, by add-on.
    pub(crate) grants: Filed<ObjectKey, Grant>,
    /// Certificate signing requests by add-on and name.
    pub(crate) requests: Filed<Name, Request>,
    /// Kinds that the hub shows: of a kind that it lacks nothing is written.
    pub(crate) shown: BTreeSet<Kind>,
    /// Kinds that the hub does not show.
    pub(crate) withheld: BTreeSet<Kind>,
}

impl Objects {
    /// Returns the works of one add-on on one cluster.
    pub(crate) fn works_of(&self, addon: &str, cluster: &str) -> &[Work] {
        let works = self.works.get(addon).and_then(|all| all.get(cluster));
        works.map(|all| &**all).unwrap_or_default()
    }
}

/// Puts `new` into `slot` and returns whether anything but the revision differs.
pub(crate) fn replace<T: PartialEq>(slot: &mut Option<T>, mut new: T, meta: fn(&mut T) -> &mut Meta) -> bool {
    let Some(old) = slot else {
        *slot = Some(new);
        return true;
    };
    let version = std::mem::replace(&mut meta(&mut new).version, meta(old).version.clone());
    let differs = *old != new;
    meta(&mut new).version = version;
    *old = new;
    differs
}

/// The indexes over the records.
#[derive(Debug, Default)]
pub(crate) struct Indexes {
    /// Where each work is filed: add-on and cluster.
    pub(crate) work_places: WorkPlaces,
    /// The placement under which each decision is filed.
    pub(crate) decision_places: BTreeMap<Place, Place>,
    /// The templates with a version, by the add-on that they are for.
    pub(crate) templates: BTreeMap<Name, BTreeSet<Name>>,
    /// The labels by which clusters tell which add-ons they have: by add-on, then by cluster.
    pub(crate) features: BTreeMap<Name, BTreeMap<Name, Name>>,
    /// Who refers to a placement.
    pub(crate) by_placement: Mentions<Place, Owner>,
    /// Who refers to a configuration.
    pub(crate) by_config: Mentions<ConfigRef, Owner>,
    /// Where content is kept, by the object and its hash.
    pub(crate) kept: Mentions<(ConfigRef, Name), Place>,
    /// The add-ons that depend on an add-on.
    pub(crate) dependents: Mentions<Name, Name>,
    /// The add-ons whose settings name a check.
    pub(crate) by_check: Mentions<Name, Name>,
    /// The add-ons that have something on a cluster.
    pub(crate) by_cluster: Mentions<Name, Name>,
    /// The placements that have decided for a cluster.
    pub(crate) placements_by_cluster: Mentions<Name, Place>,
}

/// The open ends of the writing side, by owner.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Own writes that the store has yet to see.
    pub(crate) expectations: Expectations,
    /// Those that have waited for the event at hand: it woke them up, and need not have changed anything.
    pub(crate) woken: Touched,
    /// What the hub refuses, by object: what it said.
    pub(crate) troubles: BTreeMap<Owner, BTreeMap<ObjectKey, Name>>,
    /// The reasons for removals that cannot be read again, and what the hub answers.
    pub(crate) unread: BTreeMap<Owner, BTreeMap<ObjectKey, Name>>,
    /// Objects that no list shows and that cannot be read, and what the hub answers.
    pub(crate) unreadable: BTreeMap<ObjectKey, Name>,
    /// The removals of the last minute.
    pub(crate) removals: Removals,
    /// Objects that could not be decoded, and why.
    pub(crate) faults: BTreeMap<ObjectKey, String>,
    /// Those that are not reported yet.
    pub(crate) new_faults: Vec<(ObjectKey, String)>,
}

/// Deleted objects that are still needed.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    /// Add-ons whose object was deleted, while some of their objects remain.
    pub(crate) addons: BTreeMap<Name, AddOn>,
    /// Content that has left the hub, by reference and hash.
    pub(crate) content: BTreeMap<(ConfigRef, Name), Config>,
    /// Clusters that were seen to go, while something on the hub still stands for them.
    pub(crate) clusters: BTreeSet<Name>,
    /// Add-ons whose AddOnRollout was deleted together with settings.
    pub(crate) settings: BTreeSet<Name>,
}

/// The records that only upgrades read.
#[derive(Debug, Default)]
pub(crate) struct Upgrades {
    /// By cluster and name.
    pub(crate) works: BTreeMap<Name, WorksByName>,
    /// Identity and revision of each work.
    pub(crate) work_metas: BTreeMap<Place, Meta>,
    /// By name; empty while there is no upgrade.
    pub(crate) clusters: BTreeMap<Name, crate::upgrade::Cluster>,
}
