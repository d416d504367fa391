//! Which placements of an add-on have decided for a cluster, and in which decision group it stands.
//!
//! Decides that the last placement that selects a cluster is the one that its configuration comes from, as the plan does.

use std::collections::BTreeMap;

use store::{InstallStrategy, PlacementUse, View};

/// A cluster's place in the decisions of a placement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DecidedGroup {
    /// Position of the placement in the install strategy.
    pub(super) placement: usize,
    pub(super) group: u32,
    pub(super) group_name: String,
}

impl DecidedGroup {
    /// Returns the group as people call it.
    pub(super) fn group_text(&self) -> String {
        group_text(self.group, &self.group_name)
    }
}

pub(super) fn group_text(index: u32, name: &str) -> String {
    match name {
        "" => format!("group {index}"),
        name => format!("group {index} {name:?}"),
    }
}

/// The places of all clusters.
#[derive(Debug, Default)]
pub(super) struct DecidedPlacements(BTreeMap<String, Vec<DecidedGroup>>);

impl DecidedPlacements {
    pub(super) fn of(view: &View<'_>) -> Self {
        let mut seats: BTreeMap<String, Vec<DecidedGroup>> = BTreeMap::new();
        // Another strategy may keep placements in the spec; nothing follows them.
        let follows = view.addon.strategy == InstallStrategy::Placements;
        for (placement, used) in view.addon.placements.iter().enumerate().filter(|_| follows) {
            for decision in view.decisions(&used.namespace, &used.name) {
                for cluster in &decision.clusters {
                    let own = seats.entry(cluster.to_string()).or_default();
                    // Of several groups of one placement the first counts.
                    if own.last().is_none_or(|last| last.placement != placement) {
                        own.push(DecidedGroup {
                            placement,
                            group: decision.group_index,
                            group_name: decision.group_name.to_string(),
                        });
                    }
                }
            }
        }
        Self(seats)
    }

    /// Returns the places of a cluster, in the order of the install strategy.
    pub(super) fn of_cluster(&self, cluster: &str) -> &[DecidedGroup] {
        self.0.get(cluster).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the place that a cluster's configuration comes from.
    pub(super) fn home(&self, cluster: &str) -> Option<&DecidedGroup> {
        self.of_cluster(cluster).last()
    }

    /// Returns the clusters that any placement has decided for.
    pub(super) fn clusters(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Returns how many clusters a placement has decided for.
    pub(super) fn count(&self, placement: usize) -> usize {
        let has = |seats: &&Vec<DecidedGroup>| seats.iter().any(|seat| seat.placement == placement);
        self.0.values().filter(has).count()
    }
}

/// Returns what a placement is called.
pub(super) fn place(used: &PlacementUse) -> String {
    format!("{}/{}", used.namespace, used.name)
}
