//! What upgrades of whole clusters are planned from: they themselves, their works, and the sets that they select from.
//!
//! Decides nothing. Keeps clusters in the form in which upgrades read them only while there is an upgrade.

use std::collections::BTreeMap;

use api::cluster::{ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus};
use model::{Name, Selector};
use upgrade::WorksByName;

use crate::kind::Place;
use crate::record::Meta;

/// The records that only upgrades read.
#[derive(Debug, Default)]
pub(crate) struct Upgrades {
    /// By namespace and name.
    pub(crate) all: BTreeMap<Place, UpgradeRecord>,
    /// By cluster and name.
    pub(crate) works: BTreeMap<Name, WorksByName>,
    /// Identity and revision of each work.
    pub(crate) work_metas: BTreeMap<Place, Meta>,
    /// By name.
    pub(crate) sets: BTreeMap<Name, ClusterSet>,
    /// By namespace and name.
    pub(crate) bindings: BTreeMap<Place, SetBinding>,
    /// By name; empty while there is no upgrade.
    pub(crate) clusters: BTreeMap<Name, upgrade::Cluster>,
}

/// A `ManagedClustersUpgrade`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UpgradeRecord {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// The annotation that asks for another try; empty when absent.
    pub(crate) retry: String,
    /// `metadata.finalizers`
    pub(crate) finalizers: Vec<String>,
    /// What is asked.
    pub(crate) spec: ManagedClustersUpgradeSpec,
    /// What was told.
    pub(crate) status: ManagedClustersUpgradeStatus,
}

/// A `ManagedClusterSet`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClusterSet {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// Which clusters are in it.
    pub(crate) members: Members,
}

/// How a set finds its clusters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Members {
    /// By the label with which a cluster names its set.
    Label,
    /// By a selector.
    Selector(Selector),
    /// By one that nobody understands: none are in it.
    Unreadable,
}

/// A `ManagedClusterSetBinding`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetBinding {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// The set.
    pub(crate) set: Name,
}
