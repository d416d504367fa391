//! What is told of an upgrade: counts, conditions and clusters, in the words of the proposal.
//!
//! Decides the status. Counts are cumulative, as the proposal's own example has them: who is complete was initialized.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use api::Condition;
use api::cluster::{
    ManagedClustersUpgradeStatus, UpgradeActionSummary, UpgradeClusterStatus, UpgradeSettled,
    UpgradeStateCounts, UpgradeSummary,
};
use api::reason::Reason;
use model::Name;
use model::upgrade::UpgradeSpec;

use crate::upgrade::record::{ActionState, LONGEST_MESSAGE, Phase, Record, State};
use crate::upgrade::summary::{self, Whole};

/// How many clusters stand in the status one by one; the others by their names alone.
const MOST_ENTRIES: usize = 500;
/// How many characters all messages of clusters may have together, beyond the least that each may have.
const MESSAGES: usize = 128 * 1024;
/// What each message may have in any case.
const SHORTEST_LIMIT: usize = 256;
/// How many of those are clusters that are held.
const MOST_HELD: usize = 100;

pub(crate) type Records<'a> = BTreeMap<&'a Name, &'a Record>;

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the counts of clusters.
fn counts(records: &[&Record]) -> UpgradeSummary {
    let of = |state: State| count(records.iter().filter(|record| record.state == state).count());
    UpgradeSummary {
        total: count(records.len()),
        initialized: count(records.iter().filter(|record| record.has_begun()).count()),
        partial_upgrade: of(State::Partial),
        complete: of(State::Complete),
        failed: of(State::Failed),
        pending: of(State::NotStarted),
    }
}

/// Returns the counts of states.
fn state_counts(records: &[&Record]) -> UpgradeStateCounts {
    let of = |state: State| count(records.iter().filter(|record| record.state == state).count());
    UpgradeStateCounts {
        not_started: of(State::NotStarted),
        initialized: of(State::Initialized),
        partial: of(State::Partial),
        complete: of(State::Complete),
        failed: of(State::Failed),
    }
}

/// Returns the counts of an action.
fn action_summary(states: &[ActionState]) -> UpgradeActionSummary {
    let of = |wanted: ActionState| count(states.iter().filter(|state| **state == wanted).count());
    let (told, applied) = (of(ActionState::Progressing), of(ActionState::Applied));
    let (available, degraded) = (of(ActionState::Available), of(ActionState::Degraded));
    UpgradeActionSummary {
        total: told
            .saturating_add(applied)
            .saturating_add(available)
            .saturating_add(degraded),
        applied: applied.saturating_add(available).saturating_add(degraded),
        available,
        progressing: told.saturating_add(applied),
        degraded,
    }
}

/// Puts the counts into a status.
pub(crate) fn tell_counts(
    status: &mut ManagedClustersUpgradeStatus,
    spec: &UpgradeSpec,
    records: &Records<'_>,
) {
    let all: Vec<&Record> = records.values().copied().collect();
    let first: Vec<&Record> = all.iter().copied().filter(|record| record.canary).collect();
    let before: Vec<ActionState> = all.iter().map(|record| record.pre).collect();
    let after: Vec<ActionState> = all.iter().map(|record| record.post).collect();
    status.clusters_summary = Some(counts(&all));
    status.canary_clusters_summary = spec.strategy.canary.as_ref().map(|_| counts(&first));
    status.pre_upgrade_action_summary = spec.before.as_ref().map(|_| action_summary(&before));
    status.post_upgrade_action_summary = spec.after.as_ref().map(|_| action_summary(&after));
    status.state_counts = Some(state_counts(&all));
}

/// Tells whether every cluster is complete, with the action after it.
pub(crate) fn all_done(records: &Records<'_>) -> bool {
    !records.is_empty() && records.values().all(|record| is_done(record))
}

fn is_done(record: &Record) -> bool {
    record.state == State::Complete && record.phase == Phase::Done
}

/// What the conditions say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusInput<'a> {
    pub(crate) applied: bool,
    pub(crate) generation: i64,
    pub(crate) before: &'a [Condition],
    pub(crate) whole: Whole<'a>,
}

/// Returns the conditions, in the order of the proposal.
pub(crate) fn conditions(records: &Records<'_>, said: StatusInput<'_>, now: Timestamp) -> Vec<Condition> {
    let all: Vec<&Record> = records.values().copied().collect();
    let counts = counts(&all);
    let done = all_done(records);
    let has_ended = records.values().all(|record| record.has_ended());
    let (selected, total) = (counts.total > 0, counts.total);
    let in_progress = counts.partial_upgrade > 0;
    let begun = counts.initialized;
    let complete = count(records.values().filter(|record| is_done(record)).count());
    let said_or = |holds: bool, message: &str, missing: String| {
        if holds { message.to_owned() } else { missing }
    };
    let each = [
        Some(row(
            "Selected",
            selected,
            if selected {
                Reason::ManagedClustersSelected
            } else {
                Reason::ManagedClustersNotSelected
            },
            said_or(
                selected,
                &format!("ManagedClusters upgrade select {total} clusters"),
                "no cluster is selected: neither the placements nor the clusterSelector select one"
                    .to_owned(),
            ),
        )),
        Some(row(
            "Applied",
            said.applied,
            Reason::ManagedClustersUpgradeApplied,
            said_or(
                said.applied,
                "ManagedClusters upgrade applied",
                "neither the pre-upgrade action nor the upgrade is applied on any cluster".to_owned(),
            ),
        )),
        Some(row(
            "InProgress",
            in_progress,
            if has_ended && selected {
                Reason::ManagedClustersUpgradeComplete
            } else {
                Reason::ManagedClustersUpgradeInProgress
            },
            said_or(
                in_progress,
                "ManagedClusters upgrade InProgress",
                format!(
                    "no cluster is upgrading: {begun} of {total} clusters have started, {complete} are complete"
                ),
            ),
        )),
        Some(row(
            "Complete",
            done,
            Reason::ManagedClustersUpgradeComplete,
            said_or(
                done,
                "ManagedClusters upgrade Complete",
                format!("{complete} of {total} clusters are complete"),
            ),
        )),
        failed(counts.failed, said.before),
    ];
    each.into_iter()
        .flatten()
        .chain(summary::rows(records, said.whole))
        .map(|row| row.since(said, now))
        .collect()
}

/// Of failures nothing is said until there is one.
fn failed(count: i64, before: &[Condition]) -> Option<Row> {
    let was_told = before.iter().any(|one| one.type_ == "Failed");
    if count > 0 {
        let message = format!("ManagedClusters upgrade failed, count: {count}");
        return Some(row("Failed", true, Reason::ManagedClustersUpgradeFailed, message));
    }
    was_told.then(|| {
        row(
            "Failed",
            false,
            Reason::NoFailure,
            "no cluster has failed".to_owned(),
        )
    })
}

pub(crate) struct Row {
    kind: &'static str,
    holds: bool,
    reason: Reason,
    message: String,
}

/// A condition that is to be told.
pub(crate) fn row(kind: &'static str, holds: bool, reason: Reason, message: String) -> Row {
    Row {
        kind,
        holds,
        reason,
        message,
    }
}

impl Row {
    /// The time is that of the last change of the status, and of nothing else.
    fn since(self, said: StatusInput<'_>, now: Timestamp) -> Condition {
        let status = if self.holds { "True" } else { "False" };
        let before = said
            .before
            .iter()
            .find(|one| one.type_ == self.kind && one.status == status);
        Condition {
            type_: self.kind.to_owned(),
            status: status.to_owned(),
            reason: self.reason.to_string(),
            message: self.message,
            observed_generation: Some(said.generation),
            last_transition_time: before.map_or(Time(now), |before| before.last_transition_time.clone()),
        }
    }
}

/// Puts the clusters into a status: those on their way and those that go first always, then failures, holds, and the last that were done.
pub(crate) fn tell_clusters(status: &mut ManagedClustersUpgradeStatus, records: &Records<'_>) {
    let mut kept: BTreeMap<&Name, &Record> = BTreeMap::new();
    let mut held = 0_usize;
    let mut others: Vec<(&Name, &Record)> = Vec::new();
    for (name, record) in records {
        match rank(record) {
            Rank::Always => {
                kept.insert(name, record);
            }
            Rank::Held if held < MOST_HELD => {
                held = held.saturating_add(1);
                kept.insert(name, record);
            }
            Rank::Ended => others.push((name, record)),
            Rank::Held | Rank::Never => {}
        }
    }
    // Failures first, then the newest; what has no time any more was put away before.
    others.sort_by_key(|(name, record)| {
        let is_failed = record.state == State::Failed;
        (!is_failed, std::cmp::Reverse(record.finished), *name)
    });
    let room = MOST_ENTRIES.saturating_sub(kept.len());
    let mut settled = UpgradeSettled::default();
    for (at, (name, record)) in others.into_iter().enumerate() {
        if at < room && record.finished.is_some() {
            kept.insert(name, record);
        } else if record.state == State::Failed {
            settled.failed.push(name.to_string());
        } else {
            settled.complete.push(name.to_string());
        }
    }
    settled.complete.sort_unstable();
    settled.failed.sort_unstable();
    // Long messages are rare; many of them have to leave room for each other.
    let longest = (MESSAGES / kept.len().max(1)).clamp(SHORTEST_LIMIT, LONGEST_MESSAGE);
    let entries = kept.into_iter().map(|(name, record)| record.told(name, longest));
    status.clusters = entries.collect::<Vec<UpgradeClusterStatus>>();
    status.settled = (settled != UpgradeSettled::default()).then_some(settled);
}

enum Rank {
    Always,
    Held,
    Ended,
    Never,
}

fn rank(record: &Record) -> Rank {
    match (record.state, record.phase) {
        (State::NotStarted, Phase::Queued) if record.tried == 0 && record.pre == ActionState::None => {
            Rank::Never
        }
        (State::NotStarted, Phase::Held) if record.tried == 0 && record.pre == ActionState::None => {
            Rank::Held
        }
        (State::NotStarted | State::Initialized | State::Partial, _) => Rank::Always,
        (State::Complete, phase) if phase != Phase::Done => Rank::Always,
        (State::Complete | State::Failed, _) if record.canary => Rank::Always,
        (State::Complete | State::Failed, _) => Rank::Ended,
    }
}

/// Returns the conditions of an upgrade that has no meaning: those that were told, with the reason why nothing is selected.
pub(crate) fn misunderstood(
    before: &[Condition],
    message: &str,
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    let selected = row("Selected", false, Reason::SpecInvalid, message.to_owned());
    let said = halted(before, generation);
    let others = stalled(before, (Reason::SpecInvalid, message), generation, now);
    let others = others.into_iter().filter(|one| one.type_ != "Selected");
    std::iter::once(selected.since(said, now)).chain(others).collect()
}

/// Returns the conditions of an upgrade that stands still for a reason outside of its clusters: those that were told, and the reason.
fn stalled(
    before: &[Condition],
    (reason, message): (Reason, &str),
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    let others = before
        .iter()
        .filter(|one| !["Ready", "Reconciling", "Stalled"].contains(&one.type_.as_str()))
        .cloned();
    let summary = ["Ready", "Reconciling", "Stalled"]
        .map(|kind| row(kind, kind == "Stalled", reason, message.to_owned()));
    let said = halted(before, generation);
    others
        .chain(summary.into_iter().map(|row| row.since(said, now)))
        .collect()
}

fn halted(before: &[Condition], generation: i64) -> StatusInput<'_> {
    StatusInput {
        applied: false,
        generation,
        before,
        whole: Whole::HALTED,
    }
}
