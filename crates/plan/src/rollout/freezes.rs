//! What the freezes of a hub stop of an add-on.
//!
//! Decides which clusters may not start. What has started finishes, and removals are not stopped.

use std::sync::Arc;

use jiff::Timestamp;
use store::{Cluster, FreezeRecord, View};

use super::candidate::Candidate;
use super::hold_message::Notice;
use crate::types::earliest;

/// The freezes for an add-on.
pub(super) struct Frozen<'v> {
    /// Those in force, each with what a cluster says that waits for its end.
    in_force: Vec<(&'v FreezeRecord, Arc<Notice>)>,
    /// Those that begin later.
    to_come: Vec<&'v FreezeRecord>,
}

impl<'v> Frozen<'v> {
    pub(super) fn of(view: &View<'v>, now: Timestamp) -> Self {
        let in_force =
            |record: &&FreezeRecord| record.freeze.as_ref().map_or(true, |one| one.is_in_force(now));
        let (in_force, others): (Vec<_>, Vec<_>) = view.freezes().partition(in_force);
        let is_to_come = |record: &&FreezeRecord| record.freeze.as_ref().is_ok_and(|one| !one.has_ended(now));
        Self {
            in_force: in_force
                .into_iter()
                .map(|record| (record, Arc::new(Notice::frozen(record))))
                .collect(),
            to_come: others.into_iter().filter(is_to_come).collect(),
        }
    }

    /// Returns the first freeze that stops changes on a cluster, with its message.
    pub(super) fn of_cluster(&self, cluster: Option<&Cluster>) -> Option<&(&'v FreezeRecord, Arc<Notice>)> {
        self.in_force.iter().find(|(record, _)| stops(record, cluster))
    }

    /// Holds what would start on the clusters of a freeze, what is installed for the first time included. Returns when the first freeze of a
    /// waiting cluster ends or begins.
    pub(super) fn hold(&self, candidates: &mut [Candidate<'_>]) -> Option<Timestamp> {
        let mut changes = None;
        if self.in_force.is_empty() && self.to_come.is_empty() {
            return changes;
        }
        for candidate in candidates.iter_mut().filter(|one| one.waits_for_turn()) {
            let cluster = candidate.site.cluster;
            let time = |record: &FreezeRecord, of: fn(&model::Freeze) -> Option<Timestamp>| {
                record.freeze.as_ref().ok().and_then(of)
            };
            let Some((record, notice)) = self.of_cluster(cluster) else {
                let coming = self.to_come.iter().filter(|record| stops(record, cluster));
                let begin = coming
                    .filter_map(|record| time(record, model::Freeze::from))
                    .min();
                changes = earliest(changes, begin);
                continue;
            };
            candidate.blocked.get_or_insert_with(|| Arc::clone(notice));
            changes = earliest(changes, time(record, model::Freeze::until));
        }
        changes
    }
}

/// Returns whether a freeze applies to a cluster.
fn stops(record: &FreezeRecord, cluster: Option<&Cluster>) -> bool {
    match record.freeze.as_ref().map(|one| one.clusters.as_ref()) {
        Ok(Some(selector)) => cluster.is_some_and(|cluster| cluster.is_matched_by(selector)),
        Ok(None) | Err(_) => true,
    }
}

/// Returns the freeze that stops changes of the add-on on a cluster now.
pub fn freeze_of<'v>(view: &View<'v>, cluster: Option<&Cluster>, now: Timestamp) -> Option<&'v FreezeRecord> {
    Frozen::of(view, now)
        .of_cluster(cluster)
        .map(|(record, _)| *record)
}
