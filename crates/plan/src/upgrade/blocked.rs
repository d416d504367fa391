//! Why an upgrade does not go on until an administrator acts, where `status.phase` alone would not show it.
//!
//! Decides two cases: a placement that does not exist, and clusters none of which can start. What pauses or halts a rollout on
//! purpose is decided in `pace.rs`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use api::reason::Reason;
use model::Name;
use model::upgrade::UpgradeSpec;

use crate::upgrade::pace::{Hold, Turns};
use crate::upgrade::record::{Phase, Record, State};
use crate::upgrade::status::Records;
use store::upgrade::View;

/// How long a placement that does not exist may still arrive: delivery tools apply one object after the other.
const GRACE: SignedDuration = SignedDuration::from_secs(10);
/// How many reasons are named in a message, and how many clusters of each.
const NAMED: usize = 3;

/// Why an upgrade does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// A placement of the spec does not exist.
    Placement {
        /// Which.
        message: String,
        /// Until when it may still arrive; absent when an administrator has to act.
        until: Option<Timestamp>,
    },
    /// No cluster can start: the reason that they share.
    Clusters(Reason),
}

impl Blocked {
    /// Returns what blocks an upgrade.
    pub(crate) fn of(
        view: &View<'_>,
        spec: &UpgradeSpec,
        records: &Records<'_>,
        turns: &Turns,
        now: Timestamp,
    ) -> Option<Self> {
        missing_placement(view, spec, now).or_else(|| held_clusters(records, turns).map(Self::Clusters))
    }

    /// Returns the reason of the conditions.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Placement { .. } => Reason::PlacementNotFound,
            Self::Clusters(reason) => *reason,
        }
    }

    /// Returns the beginning of the message of the conditions.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Placement { message, .. } => message,
            Self::Clusters(_) => "no cluster can start until an administrator acts",
        }
    }

    /// Returns which placements do not exist, in a sentence.
    pub(crate) fn missing_placements(self) -> Option<String> {
        match self {
            Self::Placement { message, .. } => Some(message),
            Self::Clusters(_) => None,
        }
    }

    /// Returns until when time may end it.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Placement { until, .. } => *until,
            Self::Clusters(_) => None,
        }
    }

    /// Returns whether an administrator has to act.
    pub(crate) fn is_stalled(&self) -> bool {
        self.until().is_none()
    }
}

fn missing_placement(view: &View<'_>, spec: &UpgradeSpec, now: Timestamp) -> Option<Blocked> {
    let missing = spec
        .placements
        .iter()
        .filter(|place| !view.placements.contains_key(place));
    let names: Vec<String> = missing
        .map(|place| format!("{}/{}", place.namespace, place.name))
        .collect();
    let message = match names.as_slice() {
        [] => return None,
        [one] => format!("placement {one} does not exist"),
        all => format!("placements {} do not exist", all.join(", ")),
    };
    let stated = |kind: &str| {
        let mut all = view.upgrade.status.conditions.iter();
        all.find(|one| one.type_ == kind && one.status == "True")
    };
    let since = stated("Reconciling").map_or(now, |one| one.last_transition_time.0);
    let until = since.checked_add(GRACE).unwrap_or(Timestamp::MAX);
    let until = Some(until).filter(|until| now < *until && stated("Stalled").is_none());
    Some(Blocked::Placement { message, until })
}

/// Returns the reason for which no cluster that has not ended can start; several reasons are one of their own.
fn held_clusters(records: &Records<'_>, turns: &Turns) -> Option<Reason> {
    // These are meant so, or bring clusters that can start.
    let is_meant = |hold: &Hold| {
        matches!(
            hold,
            Hold::Preview | Hold::Paused | Hold::PausedByProfile(_) | Hold::Changing | Hold::Undecided
        )
    };
    if turns.closed.as_ref().is_some_and(is_meant) {
        return None;
    }
    let mut shared: Option<Reason> = None;
    let open = records.iter().filter(|(_, record)| !record.has_ended());
    for (name, record) in open {
        let is_held = record.phase == Phase::Held || record.reason == Some(Reason::NotUpgradeable);
        let reason = record.needs_admin().filter(|_| is_held);
        let is_behind = record.phase == Phase::Queued
            && matches!(
                turns.waits.get(*name),
                Some(Hold::Canary | Hold::Stage(_) | Hold::Slot)
            );
        match (reason, shared) {
            (Some(reason), None) => shared = Some(reason),
            (Some(reason), Some(other)) if reason != other => shared = Some(Reason::ClustersHeld),
            (Some(_), Some(_)) => {}
            // It waits for clusters that cannot start.
            (None, _) if is_behind => {}
            (None, _) => return None,
        }
    }
    shared
}

/// Returns whether a cluster has started and has not ended.
pub(crate) fn is_underway(record: &Record) -> bool {
    match record.state {
        State::NotStarted => record.phase == Phase::PreAction,
        State::Initialized | State::Partial => true,
        State::Complete => record.phase != Phase::Done,
        State::Failed => false,
    }
}

/// Returns the clusters that do not go on, by reason: `ClusterIDUnknown (2): c1, c2: neither a label nor …`.
pub(crate) fn causes(records: &Records<'_>) -> Option<String> {
    let mut each: BTreeMap<&str, Vec<(&Name, &Record)>> = BTreeMap::new();
    for (name, record) in records {
        let is_held = record.phase == Phase::Held && !record.has_ended();
        // What the hub says of a work that it refuses has a sentence of its own.
        if (is_held || record.needs_admin().is_some()) && record.reason != Some(Reason::WorkRefused) {
            let own = each.entry(record.reason.map_or("", Reason::as_str)).or_default();
            own.push((*name, *record));
        }
    }
    let mut each: Vec<(&str, Vec<(&Name, &Record)>)> = each.into_iter().collect();
    each.sort_by_key(|(_, clusters)| std::cmp::Reverse(clusters.len()));
    let parts = each.iter().take(NAMED).map(|(reason, clusters)| {
        let names: Vec<&str> = clusters.iter().take(NAMED).map(|(name, _)| &***name).collect();
        let more = if clusters.len() > NAMED { ", …" } else { "" };
        let cause = clusters.first().map_or("", |(_, record)| record.message.as_str());
        format!(
            "{reason} ({}): {}{more}: {cause}",
            clusters.len(),
            names.join(", ")
        )
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
