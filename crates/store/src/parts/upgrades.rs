//! What upgrades of whole clusters are planned from beside their objects: their works, and clusters in the form in which they read them.
//!
//! Decides nothing. Keeps clusters in the form in which upgrades read them only while there is an upgrade.

use std::collections::BTreeMap;

use crate::upgrade::WorksByName;
use model::Name;

use crate::kind::Place;
use crate::record::Meta;

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
