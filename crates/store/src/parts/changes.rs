//! What has changed for each owner: single clusters, or anything that concerns all of them.
//!
//! Decides to which cluster a change is attributed. Whatever is not attributed to one counts as a change for all: a plan that is
//! computed again without need costs time, a plan that is not computed again would be wrong.

use std::collections::{BTreeMap, BTreeSet};

use crate::kind::{Owner, Touched};
use model::Name;

/// The changes of a store, numbered in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    last: u64,
    owners: BTreeMap<Owner, Log>,
    /// The owners to whose clusters the event at hand was attributed.
    attributed: BTreeSet<Owner>,
}

/// The changes of one owner.
#[derive(Debug, Default)]
struct Log {
    /// The last change that concerns all clusters.
    common: u64,
    /// The last change of each cluster.
    clusters: BTreeMap<Name, u64>,
    /// Changes of clusters up to this one may be forgotten.
    forgotten: u64,
}

impl Changes {
    /// Returns the log of an owner, with the number of a new change.
    fn log(&mut self, owner: &Owner) -> (&mut Log, u64) {
        self.last = self.last.saturating_add(1);
        let number = self.last;
        // What came before the first entry is not known: it counts as a change for all.
        let log = self.owners.entry(owner.clone()).or_insert_with(|| Log {
            common: number,
            ..Log::default()
        });
        (log, number)
    }

    /// Notes that a change concerns one cluster of an owner.
    pub(crate) fn of_cluster(&mut self, owner: &Owner, cluster: &Name) {
        self.attributed.insert(owner.clone());
        let (log, number) = self.log(owner);
        log.clusters.insert(cluster.clone(), number);
    }

    /// Notes that a change concerns all clusters of an owner.
    pub(crate) fn of_all(&mut self, owner: &Owner) {
        let (log, number) = self.log(owner);
        log.common = number;
    }

    /// Notes that a change concerns the owner itself and no cluster.
    pub(crate) fn of_none(&mut self, owner: &Owner) {
        self.attributed.insert(owner.clone());
    }

    /// Ends an event: it concerns all clusters of those that it touched, unless it was attributed.
    pub(crate) fn close(&mut self, touched: &Touched) {
        let attributed = std::mem::take(&mut self.attributed);
        for owner in touched.difference(&attributed) {
            self.of_all(owner);
        }
    }

    /// Forgets which clusters of an owner have changed up to a change: a plan has been made since.
    pub(crate) fn forget_until(&mut self, owner: &Owner, until: u64) {
        if let Some(log) = self.owners.get_mut(owner) {
            log.clusters.retain(|_, number| *number > until);
            log.forgotten = log.forgotten.max(until);
        }
    }

    /// Returns the number of the last change.
    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    /// Returns the clusters of an owner that have changed after a change; `None` if that may be any of them.
    pub(crate) fn since(&self, owner: &Owner, change: u64) -> Option<BTreeSet<Name>> {
        let log = self.owners.get(owner)?;
        if log.common > change || log.forgotten > change {
            return None;
        }
        let later = log.clusters.iter().filter(|(_, number)| **number > change);
        Some(later.map(|(cluster, _)| cluster.clone()).collect())
    }

    /// Removes a deleted owner.
    pub(crate) fn forget(&mut self, owner: &Owner) {
        self.owners.remove(owner);
    }
}
