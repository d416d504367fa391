//! The records of what is on the hub.
//!
//! Decides nothing. Never keeps what has gone (`tombstones`).

use std::collections::{BTreeMap, BTreeSet};

use super::filed::Filed;
use crate::snapshot::kind::{Kind, ObjectKey, Place};
use crate::snapshot::name::Name;
use crate::snapshot::record::{
    AddOn, Cluster, Config, ConfigRef, Decision, Instance, Namespace, Placement, RollUp, Work,
};
use crate::snapshot::registration::grants::Grant;
use crate::snapshot::registration::requests::Request;
use crate::snapshot::registration::role_facts::HubRole;

/// The works of one cluster, sorted by namespace and name. Nearly always there is one, for which a map would keep room for many.
pub(in crate::snapshot) type Works = Vec<Work>;

/// The records, each kind in the place in which plans look for it.
#[derive(Debug, Default)]
pub(in crate::snapshot) struct Objects {
    /// By name.
    pub(in crate::snapshot) addons: BTreeMap<Name, AddOn>,
    /// By add-on and cluster; in boxes: a map keeps room for more records than it holds.
    pub(in crate::snapshot) instances: BTreeMap<Name, BTreeMap<Name, Box<Instance>>>,
    /// By add-on and cluster.
    pub(in crate::snapshot) works: BTreeMap<Name, BTreeMap<Name, Works>>,
    /// By name.
    pub(in crate::snapshot) clusters: BTreeMap<Name, Cluster>,
    /// By name.
    pub(in crate::snapshot) namespaces: BTreeMap<Name, Namespace>,
    /// By namespace and name.
    pub(in crate::snapshot) placements: BTreeMap<Place, Placement>,
    /// By placement and name.
    pub(in crate::snapshot) decisions: BTreeMap<Place, BTreeMap<Name, Decision>>,
    /// By reference.
    pub(in crate::snapshot) configs: BTreeMap<ConfigRef, Config>,
    /// Service accounts, roles and role bindings of the tide's own, by add-on.
    pub(in crate::snapshot) grants: Filed<ObjectKey, Grant>,
    /// Certificate signing requests by add-on and name.
    pub(in crate::snapshot) requests: Filed<Name, Request>,
    /// Roles that agents may have.
    pub(in crate::snapshot) hub_roles: BTreeMap<ObjectKey, HubRole>,
    /// Roll-ups in a kind of our own, by add-on.
    pub(in crate::snapshot) roll_ups: BTreeMap<Name, RollUp>,
    /// Whether the hub shows that kind: nobody writes to one that it lacks.
    pub(in crate::snapshot) shows_roll_ups: bool,
    /// Kinds that the hub does not show.
    pub(in crate::snapshot) withheld: BTreeSet<Kind>,
}

impl Objects {
    /// Returns the works of one add-on on one cluster.
    pub(in crate::snapshot) fn works_of(&self, addon: &str, cluster: &str) -> &[Work] {
        let works = self.works.get(addon).and_then(|all| all.get(cluster));
        works.map(Vec::as_slice).unwrap_or_default()
    }
}
