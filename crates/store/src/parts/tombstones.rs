//! What is kept of what is gone, for as long as something on the hub still refers to it.
//!
//! Decides nothing; `tombstones` of the store decide when nothing is left.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{AddOn, Config, ConfigRef};
use model::Name;

/// What is gone and not forgotten.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    /// Add-ons whose object is gone, while something of theirs remains.
    pub(crate) addons: BTreeMap<Name, AddOn>,
    /// Content that has left the hub, by reference and hash.
    pub(crate) content: BTreeMap<(ConfigRef, Name), Config>,
    /// Clusters that were seen to go, while something on the hub still stands for them.
    pub(crate) clusters: BTreeSet<Name>,
}
