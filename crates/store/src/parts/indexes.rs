//! What is found again by something other than its key.
//!
//! Decides nothing. Every entry follows from the records.

use std::collections::{BTreeMap, BTreeSet};

use super::mentions::Mentions;
use super::work_places::WorkPlaces;
use crate::kind::{Owner, Place};
use crate::record::ConfigRef;
use model::Name;

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
    /// The add-ons that have something on a cluster.
    pub(crate) by_cluster: Mentions<Name, Name>,
    /// The placements that have decided for a cluster.
    pub(crate) placements_by_cluster: Mentions<Name, Place>,
}
