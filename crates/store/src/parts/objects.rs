//! The records of what is on the hub, of the kinds that are found in more ways than by their place (`kept`).
//!
//! Decides nothing. Never keeps what has gone (`tombstones`).

use std::collections::{BTreeMap, BTreeSet};

use super::filed::Filed;
use crate::kind::{Kind, ObjectKey, Place};
use crate::record::{AddOn, Cluster, Config, ConfigRef, Decision, Instance, Work};
use crate::registration::grants::Grant;
use crate::registration::requests::Request;
use model::Name;

/// The works of one cluster, sorted by namespace and name. Nearly always there is one, for which a map would keep room for many.
pub(crate) type Works = Box<[Work]>;

/// The records, each kind in the place in which plans look for it.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// By name.
    pub(crate) addons: BTreeMap<Name, AddOn>,
    /// By add-on and cluster; in boxes: a map keeps room for more records than it holds.
    pub(crate) instances: BTreeMap<Name, BTreeMap<Name, Box<Instance>>>,
    /// By add-on and cluster.
    pub(crate) works: BTreeMap<Name, BTreeMap<Name, Works>>,
    /// By name.
    pub(crate) clusters: BTreeMap<Name, Cluster>,
    /// By placement and name.
    pub(crate) decisions: BTreeMap<Place, BTreeMap<Name, Decision>>,
    /// By reference.
    pub(crate) configs: BTreeMap<ConfigRef, Config>,
    /// Service accounts, roles and role bindings of the tide's own, by add-on.
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
