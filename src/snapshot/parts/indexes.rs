//! What is found again by something other than its key.
//!
//! Decides nothing. Every entry follows from the records.

use std::collections::{BTreeMap, BTreeSet};

use super::mentions::Mentions;
use crate::snapshot::kind::{Owner, Place};
use crate::snapshot::name::Name;
use crate::snapshot::record::ConfigRef;

/// The indexes over the records.
#[derive(Debug, Default)]
pub(in crate::snapshot) struct Indexes {
    /// Where each work is filed: add-on and cluster.
    pub(in crate::snapshot) work_places: BTreeMap<Place, (Name, Name)>,
    /// The placement under which each decision is filed.
    pub(in crate::snapshot) decision_places: BTreeMap<Place, Place>,
    /// The templates with a version, by the add-on that they are for.
    pub(in crate::snapshot) templates: BTreeMap<Name, BTreeSet<Name>>,
    /// The labels by which clusters tell which add-ons they have: by add-on, then by cluster.
    pub(in crate::snapshot) features: BTreeMap<Name, BTreeMap<Name, Name>>,
    /// Who refers to a placement.
    pub(in crate::snapshot) by_placement: Mentions<Place, Owner>,
    /// Who refers to a configuration.
    pub(in crate::snapshot) by_config: Mentions<ConfigRef, Owner>,
    /// The add-ons that have something on a cluster.
    pub(in crate::snapshot) by_cluster: Mentions<Name, Name>,
    /// The placements that have decided for a cluster.
    pub(in crate::snapshot) placements_by_cluster: Mentions<Name, Place>,
}
