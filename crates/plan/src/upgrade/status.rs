//! The status of an upgrade without its conditions: counts and clusters, in the words of the proposal.
//!
//! Decides the status. Counts are cumulative, as the proposal's own example has them: who is complete was initialized.

use std::collections::BTreeMap;

use api::cluster::{
    ManagedClustersUpgradeStatus, UpgradeActionSummary, UpgradeClusterStatus, UpgradeSettled,
    UpgradeStageStatus, UpgradeStateCounts, UpgradeSummary,
};
use api::reason::Reason;
use model::Name;
use model::upgrade::UpgradeSpec;

use crate::upgrade::pace::Hold;
use crate::upgrade::record::{ActionState, LONGEST_MESSAGE, Phase, Record, State};

/// How many clusters stand in the status one by one; the others by their names alone.
const MOST_ENTRIES: usize = 500;
/// How many characters all messages of clusters may have together, beyond the least that each may have.
const MESSAGES: usize = 128 * 1024;
/// What each message may have in any case.
const SHORTEST_LIMIT: usize = 256;
/// How many of those are clusters that are held.
const MOST_HELD: usize = 100;

pub(crate) type Records<'a> = BTreeMap<&'a Name, &'a Record>;

pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the counts of clusters.
pub(super) fn counts(records: &[&Record]) -> UpgradeSummary {
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

/// Returns the stages of an upgrade.
pub(crate) fn stages(
    spec: &UpgradeSpec,
    records: &Records<'_>,
    open: Option<&Hold>,
) -> Vec<UpgradeStageStatus> {
    let mut has_passed = true;
    let each = spec.strategy.stages.iter().map(|stage| {
        let own = records.values().filter(|record| record.is_of_stage(&stage.name));
        let own: Vec<&Record> = own.copied().collect();
        let counts = counts(&own);
        let phase = match open {
            Some(Hold::Stage(name)) if *name == stage.name => Reason::Upgrading.as_str(),
            Some(Hold::Soak(name)) if *name == stage.name => "Soaking",
            Some(hold @ (Hold::Approval(name) | Hold::Rejected(name, _) | Hold::Check(name, _)))
                if *name == stage.name =>
            {
                hold.word()
            }
            Some(Hold::Canary) => Reason::Waiting.as_str(),
            None => Reason::Complete.as_str(),
            Some(_) if has_passed => Reason::Complete.as_str(),
            Some(_) => Reason::Waiting.as_str(),
        };
        has_passed &= phase == Reason::Complete.as_str();
        UpgradeStageStatus {
            name: stage.name.to_string(),
            phase: phase.to_owned(),
            total: counts.total,
            complete: counts.complete,
            failed: counts.failed,
        }
    });
    each.collect()
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

pub(super) fn is_done(record: &Record) -> bool {
    record.state == State::Complete && record.phase == Phase::Done
}

/// Puts the clusters into a status: clusters in progress and canary clusters always, then failures,
/// holds, and the clusters that completed last.
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
    let remaining = MOST_ENTRIES.saturating_sub(kept.len());
    let mut settled = UpgradeSettled::default();
    for (at, (name, record)) in others.into_iter().enumerate() {
        if at < remaining && record.finished.is_some() {
            kept.insert(name, record);
        } else if record.state == State::Failed {
            settled.failed.push(name.to_string());
        } else {
            settled.complete.push(name.to_string());
        }
    }
    settled.complete.sort_unstable();
    settled.failed.sort_unstable();
    // Long messages are rare; many of them share the size limit of the status.
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
