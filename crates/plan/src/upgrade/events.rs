//! The events of an upgrade, and the notification about it.
//!
//! An event is published when a status changes. An unchanged status publishes no second event.

use std::collections::BTreeMap;

use api::cluster::ManagedClustersUpgradeStatus;
use api::reason::Reason;
use jiff::Timestamp;
use model::Name;
use serde_json::json;

use crate::notification::{Notification, NotificationKind};
use crate::upgrade::record::{Phase, Record, State};
use crate::upgrade::status::Records;
use store::upgrade::Upgrade;

/// Whether an event needs attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// An expected change.
    Normal,
    /// An administrator should check it.
    Warning,
}

/// An event of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether it needs attention.
    pub grade: Grade,
    /// The reason.
    pub reason: Reason,
    /// The cluster that it is about; the whole upgrade where there is none.
    pub cluster: Option<Name>,
    /// The message.
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
            "the upgrade of the cluster has started".to_owned(),
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
            "all clusters have finished, but not all are upgraded",
        ),
        "Halted" => (
            Grade::Warning,
            Reason::Halted,
            "no further cluster starts; see the condition Stalled",
        ),
        "Paused" => (
            Grade::Normal,
            Reason::Paused,
            "no further cluster starts until spec.suspend is removed",
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

/// Returns the notification about an upgrade as a whole that is due when its status is written.
pub(crate) fn notification(
    upgrade: &Upgrade<'_>,
    events: &[Event],
    status: &ManagedClustersUpgradeStatus,
    now: Timestamp,
) -> Option<Notification> {
    let event = events.iter().rfind(|event| event.cluster.is_none())?;
    let kinds = [
        (Reason::RunCompleted, NotificationKind::Completed),
        (Reason::Halted, NotificationKind::Stopped),
        (Reason::RunFailed, NotificationKind::UpgradeFailed),
    ];
    let (_, kind) = kinds.into_iter().find(|(reason, _)| *reason == event.reason)?;
    let ready = status.conditions.iter().find(|one| one.type_ == "Ready");
    let words = ready.map_or((event.reason.as_str(), event.message.as_str()), |ready| {
        (&ready.reason, &ready.message)
    });
    let place = format!("{}/{}", upgrade.namespace, upgrade.name);
    let data = json!({"upgrade": place, "content": status.run, "clusters": status.clusters_summary});
    let about = json!([upgrade.uid, status.run, status.retried]);
    Some(Notification::new(
        kind,
        format!("upgrades/{place}"),
        &about,
        now,
        words,
        &data,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Condition;
    use api::cluster::ManagedClustersUpgradeSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    /// The notification about an upgrade that gets this phase.
    fn due(phase: &str, run: &str) -> Option<Notification> {
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().expect("a time");
        let (spec, before) = (
            ManagedClustersUpgradeSpec::default(),
            ManagedClustersUpgradeStatus::default(),
        );
        let upgrade = Upgrade {
            namespace: "default",
            name: "to-412",
            uid: "u",
            generation: 1,
            retry: "",
            record: "",
            deleting: false,
            held: true,
            spec: &spec,
            status: &before,
        };
        let ready = Condition {
            type_: "Ready".to_owned(),
            status: "False".to_owned(),
            reason: phase.to_owned(),
            message: "1 of 2 clusters are upgraded; 1 failed".to_owned(),
            observed_generation: None,
            last_transition_time: Time(now),
        };
        let status = ManagedClustersUpgradeStatus {
            phase: phase.to_owned(),
            run: run.to_owned(),
            conditions: vec![ready],
            ..ManagedClustersUpgradeStatus::default()
        };
        let events = events(&BTreeMap::new(), &before, &Records::new(), &status);
        notification(&upgrade, &events, &status, now)
    }

    #[test]
    fn an_upgrade_that_ends_or_stops_is_notified_with_its_status() {
        for (phase, kind) in [
            ("Complete", Some(NotificationKind::Completed)),
            ("Failed", Some(NotificationKind::UpgradeFailed)),
            ("Halted", Some(NotificationKind::Stopped)),
            ("Paused", None),
            ("Upgrading", None),
        ] {
            assert_eq!(due(phase, "run").map(|one| one.kind), kind, "{phase}");
        }
        let failed = due("Failed", "run").expect("it is due");
        assert_eq!(failed.subject, "upgrades/default/to-412");
        assert_eq!(failed.data["reason"], "Failed");
        assert_eq!(failed.data["message"], "1 of 2 clusters are upgraded; 1 failed");
        assert_eq!(failed.data["content"], "run");
        let other = due("Failed", "other").expect("it is due");
        assert_ne!(other.id, failed.id);
    }
}
