//! What is known about one placement.
//!
//! Decides nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::Limit;
use model::Name;

/// What is known about one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementFacts {
    /// Whether its object exists; decisions may outlive it.
    pub exists: bool,
    /// Whether there is a `PlacementDecision` of it yet.
    pub decided: bool,
    /// The clusters that it selects.
    pub clusters: Arc<BTreeSet<Name>>,
    /// Its decision groups, in order of their positions.
    pub groups: Vec<GroupFacts>,
    /// Its own size of groups, `decisionStrategy.groupStrategy.clustersPerDecisionGroup`.
    pub per_group: Option<Limit>,
}

/// One decision group of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFacts {
    /// Position of the group.
    pub index: u32,
    /// Name of the group, "" when it has none.
    pub name: Name,
    /// Its clusters.
    pub clusters: Arc<[Name]>,
}
