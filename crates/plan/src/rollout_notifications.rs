//! Which notifications about the rollouts of an add-on are due.
//!
//! Compares the stored status with the one that is written next. What is stored is the memory: after a restart nothing is sent twice.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::config::Effective;
use super::notification::{Notification, NotificationKind};
use super::rollout::{AskedGroup, Placed, content_of, rejection};
use api::reason::Reason;
use store::{ApprovalRecord, Condition, Progression, Status, View, terms};

/// Returns the notification about a rollout over a placement that is due when its progression is written.
pub(crate) fn of_placement(
    view: &View<'_>,
    new: &Progression,
    inherited: &Effective,
    placed: &Placed,
    now: Timestamp,
) -> Option<Notification> {
    let mut stored = view.addon.progressions.iter().flatten();
    let old = stored.find(|old| old.namespace == new.namespace && old.name == new.name);
    let retried = view.rollout().retried_at(&new.namespace, &new.name);
    let (kind, said, occasion) = if let Some(said) = begins_undo(old, new) {
        (NotificationKind::Undone, said, json!(said.since()))
    } else if let Some(said) = stops(old, new) {
        (NotificationKind::Stopped, said, json!([confirmed(new), retried]))
    } else {
        let said = completes(old, new)?;
        (NotificationKind::Completed, said, json!(said.since()))
    };
    let why = (kind == NotificationKind::Undone).then(|| new.undone()).flatten();
    let message = why.as_ref().map_or(&said.message, |undone| &undone.why);
    let (place, content) = (format!("{}/{}", new.namespace, new.name), content_of(inherited));
    let counts = &placed.counts;
    let data = json!({
        "addon": &*view.addon.name,
        "placement": place,
        "content": &*content,
        "clusters": {
            "total": placed.configured,
            "done": counts.done,
            "progressing": counts.progressing,
            "waiting": counts.waiting,
            "failed": counts.failed,
            "timedOut": counts.timed_out,
        },
    });
    let about = json!([&*view.addon.meta.uid, &*content, occasion]);
    let time = said.since().unwrap_or(now);
    let words = (&*said.reason, &**message);
    Some(Notification::new(
        kind,
        subject(view, &place),
        &about,
        time,
        words,
        &data,
    ))
}

/// Returns the notification about a decision group, or a stage of an upgrade, whose approval gets another state.
pub(crate) fn of_approval(
    record: &ApprovalRecord,
    state: &str,
    content: &str,
    group: &AskedGroup,
    changes: &[String],
    now: Timestamp,
) -> Option<Notification> {
    let was = |field: &str| record.status.get(field).and_then(Value::as_str);
    if was("state") == Some(state) && was("content") == Some(content) {
        return None;
    }
    let (name, place, upgrade) = (&group.name, &record.placement, &record.upgrade);
    let is_upgrade = !upgrade.is_empty();
    let (kind, reason, message) = match (state, record.rejects(content)) {
        ("Waiting", _) => {
            let change = changes.join("; ");
            let message = if is_upgrade {
                format!("stage {name} of upgrade {upgrade} waits for approval: {change}")
            } else {
                format!("decision group {name} of placement {place} waits for approval: {change}")
            };
            (
                NotificationKind::ApprovalNeeded,
                Reason::WaitingForApproval,
                message,
            )
        }
        // An upgrade is halted then, which has its own notification.
        ("Rejected", Some(decision)) if !is_upgrade => {
            let message = rejection(decision, name, place);
            (NotificationKind::Stopped, Reason::ApprovalRejected, message)
        }
        _ => return None,
    };
    let mut data = json!({"group": &**name, "content": content, "clusters": {"waiting": group.waiting}});
    let (own, subject, approval) = if is_upgrade {
        let approval = api::upgrade_approval_name(upgrade, name);
        (
            json!({"upgrade": &**upgrade}),
            format!("upgrades/{upgrade}"),
            approval,
        )
    } else {
        let subject = format!("addons/{}/placements/{place}", record.addon);
        let own = json!({"addon": &*record.addon, "placement": &**place});
        (own, subject, api::approval_name(&record.addon, place, name))
    };
    if let (Some(data), Value::Object(own)) = (data.as_object_mut(), own) {
        data.extend(own);
        data.insert("approval".to_owned(), approval.into());
    }
    // The generation changes with each decision.
    let about = json!([&*record.meta.uid, content, record.meta.generation]);
    let words = (reason.as_str(), message.as_str());
    Some(Notification::new(kind, subject, &about, now, words, &data))
}

fn subject(view: &View<'_>, place: &str) -> String {
    format!("addons/{}/placements/{place}", view.addon.name)
}

fn holds<'p>(progression: &'p Progression, kind: &str) -> Option<&'p Condition> {
    let mut all = progression.conditions.iter();
    all.find(|one| *one.kind == *kind && one.status == Status::True)
}

fn begins_undo<'p>(old: Option<&Progression>, new: &'p Progression) -> Option<&'p Condition> {
    let before = old.and_then(|old| holds(old, terms::UNDONE));
    holds(new, terms::UNDONE).filter(|said| before.and_then(Condition::since) != said.since())
}

/// Returns what has stopped a rollout. A placement that does not exist yet stops nothing, and an undo has its own notification.
fn stopped(progression: &Progression) -> Option<&Condition> {
    let said = holds(progression, "Stalled")?;
    let is = |reason| *said.reason == reason;
    let is_undone = holds(progression, terms::UNDONE).is_some() && !is(Reason::UndoImpossible);
    let is_absent = is(Reason::PlacementNotFound) || is(Reason::DecisionNotFound);
    (!is_undone && !is_absent).then_some(said)
}

fn stops<'p>(old: Option<&Progression>, new: &'p Progression) -> Option<&'p Condition> {
    let desired = |one: &Progression| -> Vec<_> {
        let each = one.references.iter();
        each.map(|one| (one.config.clone(), one.desired.clone()))
            .collect()
    };
    let was = old.is_some_and(|old| stopped(old).is_some() && desired(old) == desired(new));
    stopped(new).filter(|_| !was)
}

/// Returns the hashes of the contents that all clusters of a placement confirmed last.
fn confirmed(progression: &Progression) -> Vec<String> {
    let each = progression.references.iter().map(|one| {
        let applied = one.applied.as_ref()?;
        Some(format!("{}/{} {}", applied.namespace, applied.name, applied.hash))
    });
    each.map(Option::unwrap_or_default).collect()
}

/// A rollout completes when all clusters have confirmed what is desired. A cluster that joins later changes nothing in that.
fn completes<'p>(old: Option<&Progression>, new: &'p Progression) -> Option<&'p Condition> {
    let is_confirmed = !new.references.is_empty()
        && new.references.iter().all(|one| {
            let (applied, to) = (one.applied.as_ref(), &one.config);
            applied.is_some_and(|it| {
                it.hash == one.desired && it.name == to.name && it.namespace == to.namespace
            })
        });
    let is_news = old.is_none_or(|old| confirmed(old) != confirmed(new));
    let said = new.conditions.iter().find(|one| &*one.kind == "Progressing")?;
    (is_confirmed && is_news && *said.reason == Reason::Completed).then_some(said)
}
