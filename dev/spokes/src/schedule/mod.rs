//! The scheduler: which clusters a Placement gets, and in which groups. A pure function on values; it never asks the
//! hub, the clock or chance. Simulated: predicates over labels and claims, cluster sets, taints, the number of clusters
//! (clusters already chosen stay chosen), decision groups. Not simulated: scores, CEL selectors (refused), spreading.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod decide;
mod groups;
mod pick;
mod sets;
mod taints;

pub(crate) use decide::set_condition;
pub use decide::{DecisionObject, Schedule, schedule};
pub use groups::Group;
pub(crate) use sets::{binding_condition, emptiness_condition};

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;

use crate::wire::{ManagedClusterSet, ManagedClusterSetBinding, Taint};

/// A cluster as the scheduler sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What it says about itself.
    pub claims: BTreeMap<String, String>,
    /// What keeps placements away.
    pub taints: Vec<Taint>,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// Everything besides the Placement that a schedule depends on.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// All clusters of the hub, in any order.
    pub clusters: &'a [Cluster],
    /// All cluster sets of the hub.
    pub sets: &'a [ManagedClusterSet],
    /// All bindings of the hub; only those of the Placement's namespace count.
    pub bindings: &'a [ManagedClusterSetBinding],
    /// The clusters that the Placement has now.
    pub chosen: &'a BTreeSet<String>,
    /// The moment, for tolerations that expire.
    pub now: Timestamp,
}
