//! What a registration that has failed does to `Ready` of an instance: an agent without its permissions or its tokens does not do
//! what the add-on is for, whatever its works say.
//!
//! Decides `Ready`, `Reconciling` and `Stalled` of an instance that would be done otherwise, and how it counts for the add-on. Whether
//! the registration has failed is decided in `registrar.rs`, or by the program that registers the agent.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::census::InstanceTally;
use crate::change_event::Note;
use crate::conditions::reconciling::Arrival;
use crate::conditions::{Wish, merge};
use crate::report::Report;
use crate::types::earliest;
use api::names::conditions;
use api::reason::Reason;
use store::{Condition, Status, View};

/// The conditions that report a registration, the one that tells most first.
const REGISTERED: [&str; 2] = [
    conditions::REGISTRATION_APPLIED,
    conditions::TOKEN_INFRASTRUCTURE_READY,
];
/// The reasons that are known here; other programs have their own, which are quoted.
const KNOWN: [Reason; 3] = [
    Reason::PermissionConfigPending,
    Reason::SetPermissionFailed,
    Reason::TokenInfrastructureApplyFailed,
];

/// Has the report of an instance that would be done say that its registration has failed.
pub(super) fn amend(view: &View<'_>, report: &mut Report<'_>, now: Timestamp) {
    let is_done = match report.standing {
        InstanceTally::Ready
        | InstanceTally::Kept { .. }
        | InstanceTally::Unreachable
        | InstanceTally::Unavailable => true,
        InstanceTally::Moving
        | InstanceTally::Waiting(_)
        | InstanceTally::Stalled(_)
        | InstanceTally::Leaving { .. } => false,
    };
    let failed = REGISTERED.iter().find_map(|kind| {
        let mut all = report.conditions.iter();
        all.find(|one| *one.kind == **kind && one.status == Status::False)
    });
    let Some(failed) = failed.filter(|_| is_done).cloned() else {
        return;
    };
    // Where the hub does not show what permissions are judged by, what stands there says more than what is concluded here.
    if !view.shows_permissions() && stood_well(report, &failed) {
        return;
    }
    put(view, report, &failed, now);
}

fn stood_well(report: &Report<'_>, failed: &Condition) -> bool {
    let before = report.instance.condition(&failed.kind);
    before.is_some_and(|before| before.status == Status::True)
}

fn put(view: &View<'_>, report: &mut Report<'_>, failed: &Condition, now: Timestamp) {
    let reason = KNOWN
        .into_iter()
        .find(|known| *failed.reason == *known)
        .unwrap_or(Reason::RegistrationNotApplied);
    let refers = format!(
        "the registration of the agent is not applied; see the condition {}",
        failed.kind
    );
    let instance = report.instance;
    let generation = instance.meta.generation;
    let arrival = Arrival::of(reason, &instance.conditions, generation, view.settings(), now);
    let is_pending = reason == Reason::PermissionConfigPending;
    let message = failed.message.to_string();
    let ready = Wish::new("Ready", Status::False, reason, message).quoting(&failed.reason);
    let wishes = match arrival {
        Some(arrival) => [ready, arrival.wish(reason, &refers), unmoved("Stalled")],
        None if is_pending => [
            ready,
            Wish::new("Reconciling", Status::True, reason, refers.as_str()),
            unmoved("Stalled"),
        ],
        None => [
            ready,
            unmoved("Reconciling"),
            Wish::new("Stalled", Status::True, reason, refers.as_str()).quoting(&failed.reason),
        ],
    };
    report.standing = if arrival.is_some() || is_pending {
        InstanceTally::Waiting(reason)
    } else {
        InstanceTally::Stalled(reason)
    };
    report.recheck_at = earliest(report.recheck_at, arrival.map(|arrival| arrival.until));
    let is_news = |one: &Condition| one.status == Status::True && *one.reason == *failed.reason;
    let was_stalled = report.instance.condition("Stalled").is_some_and(is_news);
    if !was_stalled && matches!(report.standing, InstanceTally::Stalled(_)) {
        report.note = Some(Note::Stuck {
            addon: report.instance.addon.clone(),
            cluster: report.instance.cluster.clone(),
            reason,
            message: failed.message.to_string(),
        });
    }
    let generation = Some(report.instance.meta.generation);
    // The report says already that the instance is ready: the times are those of what stands there.
    let timed = wishes.map(|wish| {
        let before = report.instance.condition(wish.kind());
        let since = before
            .filter(|before| before.status == wish.status())
            .and_then(Condition::since);
        wish.since_unless_given(since.unwrap_or(now))
    });
    let merged = merge(&report.conditions, &timed, generation, now).into_owned();
    report.conditions = Cow::Owned(merged);
}

fn unmoved(kind: &'static str) -> Wish<'static> {
    let reason = if kind == "Stalled" {
        Reason::NotStalled
    } else {
        Reason::Settled
    };
    Wish::new(kind, Status::False, reason, "")
}
