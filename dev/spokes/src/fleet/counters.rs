//! What a fleet has done so far, for live views and benchmarks.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often a fleet has done what; only ever grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Clusters that have registered.
    pub clusters_registered: u64,
    /// Changes of clusters written after they registered.
    pub clusters_changed: u64,
    /// `PlacementDecisions` written or deleted.
    pub decisions_written: u64,
    /// Statuses of Placements, sets and bindings written.
    pub placements_written: u64,
    /// Works that an agent has taken hold of.
    pub works_taken: u64,
    /// Statuses of works written.
    pub works_reported: u64,
    /// Works that were cleaned up and let go.
    pub works_released: u64,
    /// Statuses of add-ons written.
    pub addons_reported: u64,
    /// Calls that failed and are tried again.
    pub retries: u64,
}

impl Counters {
    /// Returns how many writes the fleet has made.
    pub fn writes(&self) -> u64 {
        [
            self.clusters_registered,
            self.clusters_changed,
            self.decisions_written,
            self.placements_written,
            self.works_taken,
            self.works_reported,
            self.works_released,
            self.addons_reported,
        ]
        .iter()
        .sum()
    }
}

/// Counters while they are counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) clusters_registered: Count,
    pub(super) clusters_changed: Count,
    pub(super) decisions_written: Count,
    pub(super) placements_written: Count,
    pub(super) works_taken: Count,
    pub(super) works_reported: Count,
    pub(super) works_released: Count,
    pub(super) addons_reported: Count,
    pub(super) retries: Count,
}

/// One counter.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally {
    pub(super) fn read(&self) -> Counters {
        Counters {
            clusters_registered: self.clusters_registered.read(),
            clusters_changed: self.clusters_changed.read(),
            decisions_written: self.decisions_written.read(),
            placements_written: self.placements_written.read(),
            works_taken: self.works_taken.read(),
            works_reported: self.works_reported.read(),
            works_released: self.works_released.read(),
            addons_reported: self.addons_reported.read(),
            retries: self.retries.read(),
        }
    }
}
