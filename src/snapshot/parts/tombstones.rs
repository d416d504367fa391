//! What is kept of what is gone, for as long as something on the hub still refers to it.
//!
//! Decides nothing; `tombstones` of the store decide when nothing is left.

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::name::Name;
use crate::snapshot::record::{AddOn, Config, ConfigRef};

/// What is gone and not forgotten.
#[derive(Debug, Default)]
pub(in crate::snapshot) struct Tombstones {
    /// Add-ons whose object is gone, while something of theirs remains.
    pub(in crate::snapshot) addons: BTreeMap<Name, AddOn>,
    /// Content that has left the hub, by reference and hash.
    pub(in crate::snapshot) content: BTreeMap<(ConfigRef, Name), Config>,
    /// Clusters that were seen to go, while something on the hub still stands for them.
    pub(in crate::snapshot) clusters: BTreeSet<Name>,
}
