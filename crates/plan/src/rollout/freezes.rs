//! What the freezes of a hub stop of an add-on.
//!
//! Decides which clusters may not start. What has started finishes, and removals are not stopped.

use std::sync::Arc;

use jiff::Timestamp;
use store::{Cluster, FreezeRecord, View};

use super::candidate::Candidate;
use super::hold_message::Notice;

/// The freezes that are in force for an add-on, each with what a cluster says that waits for its end.
pub(super) struct Frozen<'v>(Vec<(&'v FreezeRecord, Arc<Notice>)>);

impl<'v> Frozen<'v> {
    pub(super) fn of(view: &View<'v>, now: Timestamp) -> Self {
        let in_force =
            |record: &&FreezeRecord| record.freeze.as_ref().map_or(true, |one| one.is_in_force(now));
        let all = view.freezes().filter(in_force);
        Self(
            all.map(|record| (record, Arc::new(Notice::frozen(record))))
                .collect(),
        )
    }

    /// Returns the first freeze that stops changes on a cluster, with its message.
    pub(super) fn of_cluster(&self, cluster: Option<&Cluster>) -> Option<&(&'v FreezeRecord, Arc<Notice>)> {
        let stops = |record: &FreezeRecord| match record.freeze.as_ref().map(|one| one.clusters.as_ref()) {
            Ok(Some(selector)) => cluster.is_some_and(|cluster| cluster.is_matched_by(selector)),
            Ok(None) | Err(_) => true,
        };
        self.0.iter().find(|(record, _)| stops(record))
    }

    /// Holds what would start on the clusters of a freeze, what is installed for the first time included. Returns when the first of these
    /// freezes ends.
    pub(super) fn hold(&self, candidates: &mut [Candidate<'_>]) -> Option<Timestamp> {
        let mut ends = None;
        if self.0.is_empty() {
            return ends;
        }
        for candidate in candidates.iter_mut().filter(|one| one.waits_for_turn()) {
            let Some((record, notice)) = self.of_cluster(candidate.site.cluster) else {
                continue;
            };
            candidate.blocked.get_or_insert_with(|| Arc::clone(notice));
            let until = record.freeze.as_ref().ok().and_then(model::Freeze::until);
            ends = crate::types::earliest(ends, until);
        }
        ends
    }
}

/// Returns the freeze that stops changes of the add-on on a cluster now.
pub fn freeze_of<'v>(view: &View<'v>, cluster: Option<&Cluster>, now: Timestamp) -> Option<&'v FreezeRecord> {
    Frozen::of(view, now)
        .of_cluster(cluster)
        .map(|(record, _)| *record)
}
