//! What spectators are told of an upgrade.
//!
//! Decides which changes are worth an event. What has not changed is never told twice, because what was told is in the
//! status.

use std::collections::BTreeMap;

use api::cluster::ManagedClustersUpgradeStatus;
use api::reason::Reason;
use model::Name;

use crate::upgrade::record::{Phase, Record, State};
use crate::upgrade::status::Records;

/// How an event is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// It goes as it should.
    Normal,
    /// An administrator should look.
    Warning,
}

/// What a spectator is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// How to take it.
    pub grade: Grade,
    /// In one word.
    pub reason: Reason,
    /// The cluster that it is about; the whole upgrade where there is none.
    pub cluster: Option<Name>,
    /// In a sentence.
    pub message: String,
}

/// Returns what has changed.
pub(crate) fn events(
    before: &BTreeMap<Name, Record>,
    status: &ManagedClustersUpgradeStatus,
    after: &Records<'_>,
    told: &ManagedClustersUpgradeStatus,
) -> Vec<Event> {
    let nothing = Record::default();
    let mut all: Vec<Event> = after
        .iter()
        .filter_map(|(name, record)| of_cluster(name, before.get(*name).unwrap_or(&nothing), record))
        .collect();
    if status.phase != told.phase {
        all.extend(of_phase(&told.phase));
    }
    all
}

fn of_cluster(name: &Name, before: &Record, after: &Record) -> Option<Event> {
    let (grade, reason, message) = match (after.state, after.phase) {
        _ if (before.state, before.phase, &before.reason) == (after.state, after.phase, &after.reason) => {
            return None;
        }
        (State::Failed, _) => (Grade::Warning, Reason::ClusterUpgradeFailed, why(after)),
        (State::Initialized, _) if before.state == State::NotStarted => (
            Grade::Normal,
            Reason::ClusterUpgradeStarted,
            "the upgrade of the cluster has begun".to_owned(),
        ),
        (State::Complete, Phase::Done) => (
            Grade::Normal,
            Reason::ClusterUpgradeCompleted,
            "the upgrade of the cluster is complete".to_owned(),
        ),
        (State::NotStarted, Phase::Held)
            if matches!(after.reason, Some(Reason::PreActionDegraded | Reason::Conflict)) =>
        {
            (Grade::Warning, Reason::ClusterHeld, why(after))
        }
        (State::NotStarted | State::Initialized | State::Partial | State::Complete, _) => return None,
    };
    Some(Event {
        grade,
        reason,
        cluster: Some(name.clone()),
        message: format!("{name}: {message}"),
    })
}

fn why(record: &Record) -> String {
    let reason = record.reason.map_or("", Reason::as_str);
    format!("{reason}: {}", record.message)
}

fn of_phase(phase: &str) -> Option<Event> {
    let (grade, reason, message) = match phase {
        "Complete" => (Grade::Normal, Reason::RunCompleted, "all clusters are upgraded"),
        "Failed" => (
            Grade::Warning,
            Reason::RunFailed,
            "every cluster has ended, and not all are upgraded",
        ),
        "Halted" => (Grade::Warning, Reason::Halted, "nothing new starts"),
        "Paused" => (
            Grade::Normal,
            Reason::Paused,
            "nothing new starts until somebody resumes the upgrade",
        ),
        _ => return None,
    };
    Some(Event {
        grade,
        reason,
        cluster: None,
        message: message.to_owned(),
    })
}
