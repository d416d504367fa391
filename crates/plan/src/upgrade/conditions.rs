//! The conditions of an upgrade: those of the proposal, and behind them `Ready`, `Reconciling` and `Stalled`, as for everything that
//! Tidegate drives.
//!
//! Decides their status and words. Never green while a cluster is wanted that is not there.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use api::Condition;
use api::reason::Reason;

use crate::upgrade::blocked::{Blocked, causes};
use crate::upgrade::pace::Hold;
use crate::upgrade::record::{Record, State};
use crate::upgrade::status::{Records, all_done, count, counts, is_done};

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
                "no cluster is selected by the placements or the clusterSelector".to_owned(),
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
        .chain(summary_rows(records, said.whole))
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

/// Returns the conditions of an upgrade that is invalid: those that were told, with the reason why nothing is selected.
pub(crate) fn misunderstood(
    before: &[Condition],
    message: &str,
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    let selected = row("Selected", false, Reason::SpecInvalid, message.to_owned());
    let said = halted(before, generation);
    let others = stalled(before, Reason::SpecInvalid, message, generation, now);
    let others = others.into_iter().filter(|one| one.type_ != "Selected");
    std::iter::once(selected.since(said, now)).chain(others).collect()
}

/// Returns the conditions of an upgrade that stands still for a reason outside of its clusters: those that were told, and the reason.
fn stalled(
    before: &[Condition],
    reason: Reason,
    message: &str,
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

/// What the whole upgrade is in one word, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    /// The word of `status.phase`.
    pub(crate) phase: Reason,
    /// What holds every cluster.
    pub(crate) closed: Option<&'a Hold>,
    /// The stage that is not done, where later ones wait for it.
    pub(crate) stage: Option<&'a Hold>,
    /// What the hub says when the upgrade itself cannot be written.
    pub(crate) refusal: Option<&'a str>,
    /// Why it does not go on, beside that.
    pub(crate) blocked: Option<&'a Blocked>,
}

impl Whole<'_> {
    /// One that is invalid.
    pub(crate) const HALTED: Self = Self {
        phase: Reason::Halted,
        closed: None,
        stage: None,
        refusal: None,
        blocked: None,
    };
}

/// Returns the three conditions.
fn summary_rows(records: &Records<'_>, whole: Whole<'_>) -> [Row; 3] {
    let is_done = whole.phase == Reason::Complete;
    let is_blocked = whole.blocked.is_some_and(Blocked::is_stalled);
    let is_stalled =
        is_blocked || matches!(whole.phase, Reason::Halted | Reason::Failed) || whole.refusal.is_some();
    let message = message(records, whole);
    let reason = whole.blocked.map_or(whole.phase, Blocked::reason);
    let stalled = if is_stalled { reason } else { Reason::NotStalled };
    [
        row("Ready", is_done, reason, message.clone()),
        row("Reconciling", !is_done && !is_stalled, reason, message.clone()),
        row(
            "Stalled",
            is_stalled,
            stalled,
            if is_stalled { message } else { String::new() },
        ),
    ]
}

fn message(records: &Records<'_>, whole: Whole<'_>) -> String {
    let count = |state: State| records.values().filter(|record| record.state == state).count();
    let (total, done, failed) = (records.len(), count(State::Complete), count(State::Failed));
    let underway = count(State::Initialized).saturating_add(count(State::Partial));
    let mut parts: Vec<String> = Vec::new();
    parts.extend(whole.blocked.map(|blocked| blocked.message().to_owned()));
    parts.push(format!("{done} of {total} clusters are upgraded"));
    if underway > 0 {
        parts.push(format!("{underway} upgrading"));
    }
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    parts.extend(
        whole
            .closed
            .map(|hold| format!("no further cluster starts: {}", hold.sentence())),
    );
    let is_waiting = records.values().any(|record| !record.has_begun());
    let stage = whole.stage.filter(|hold| {
        is_waiting
            && matches!(
                hold,
                Hold::Stage(_) | Hold::Soak(_) | Hold::Approval(_) | Hold::Rejected(..) | Hold::Check(..)
            )
    });
    parts.extend(stage.map(|hold| hold.sentence().into_owned()));
    parts.extend(causes(records));
    let refused = records
        .iter()
        .find(|(_, record)| record.reason == Some(Reason::WorkRefused));
    parts.extend(
        refused.map(|(name, record)| format!("the hub rejects the work for {name}: {}", record.message)),
    );
    parts.extend(
        whole
            .refusal
            .map(|why| format!("the hub rejects the change of the upgrade: {why}")),
    );
    parts.join("; ")
}
