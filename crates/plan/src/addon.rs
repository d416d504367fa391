//! The plan of one add-on, as a sequence of questions.
//!
//! Pure: the same view and the same time always give the same plan. Never writes.

use jiff::Timestamp;

use super::census::{Census, Time};
use super::conditions::addon;
use super::instances::Rounds;
use super::memo::Memo;
use super::outlook::Outlook;
use super::settled::{Heard, Others};
use super::types::{Action, Plan, Wait, WaitOn, earliest};
use super::{
    addon_status, approval_objects, config, diff, discovery, install, kept_content, own_status, registration,
    rollout, uninstall,
};
use store::View;

/// Returns the next writes for one add-on, and what it is waiting for.
pub fn addon(view: &View<'_>, now: Timestamp) -> Plan {
    addon_with(view, now, &mut Memo::default())
}

/// Returns the same plan as [`addon()`], and looks only at what may have changed since the plan that is in the memo.
pub fn addon_with(view: &View<'_>, now: Timestamp, memo: &mut Memo) -> Plan {
    let now = whole_seconds(now);
    let (plan, heard) = match memo.open(view, now) {
        Some((scope, others)) => made(&view.within(&scope), &others, None, now),
        None => made(view, &Others::default(), None, now),
    };
    memo.close(view, heard, now);
    plan
}

/// Returns the same plan as [`addon()`], and what it has decided about the rollout: nothing where nothing is rolled out, because
/// the add-on is not managed here or is being deleted.
pub fn addon_with_outlook(view: &View<'_>, now: Timestamp) -> (Plan, Option<Outlook>) {
    let mut outlook = None;
    let (plan, _) = made(view, &Others::default(), Some(&mut outlook), whole_seconds(now));
    (plan, outlook)
}

/// Returns what there is to say about an add-on while the time is not known: that nothing is planned.
pub fn timeless(view: &View<'_>, now: Timestamp) -> Plan {
    if view.addon.meta.deleting || !view.addon.managed {
        return Plan::default();
    }
    conditions_only(view, addon::timeless(view, whole_seconds(now)))
}

/// Returns what there is to say about an add-on while an object cannot be read on which all of it depends.
pub fn unread(view: &View<'_>, now: Timestamp) -> Plan {
    if view.addon.meta.deleting || !view.addon.managed || view.is_anothers() {
        return Plan::default();
    }
    conditions_only(view, addon::unread(view, whole_seconds(now)))
}

/// Returns a plan that writes the conditions of an add-on and nothing else.
fn conditions_only(view: &View<'_>, verdict: addon::Verdict<'_>) -> Plan {
    let recheck_at = verdict.recheck_at;
    let summary = addon_status::unchanged(view);
    let own = own_status::timeless(view, &verdict.conditions);
    Plan {
        actions: diff::addon(view.addon, &summary, verdict)
            .into_iter()
            .chain(own)
            .collect(),
        recheck_at,
        ..Plan::default()
    }
}

/// Returns the plan, and what it found out about the clusters that it looked at where that will help the next one.
fn made(
    view: &View<'_>,
    others: &Others,
    seen: Option<&mut Option<Outlook>>,
    now: Timestamp,
) -> (Plan, Option<Heard>) {
    if view.is_anothers() {
        let plan = Plan {
            actions: registration::of_others(view, now)
                .into_iter()
                .chain(own_status::unmanaged(view))
                .collect(),
            ..Plan::default()
        };
        return (plan, None);
    }
    let (mut plan, mut heard) = if view.addon.meta.deleting {
        let mut plan = uninstall::addon(view, now);
        let grants = if outlives_its_addon(view) {
            registration::of_others(view, now)
        } else {
            registration::unmanaged(view, now)
        };
        plan.actions = beside(plan.actions, grants).collect();
        (plan, None)
    } else if view.addon.managed {
        let (plan, heard) = managed(view, others, seen, now);
        (plan, Some(heard))
    } else {
        (unmanaged(view, now), None)
    };
    let labels = discovery::labels(view, now);
    plan.actions.extend(labels.actions);
    plan.waits.extend(labels.wait);
    plan.waits.sort();
    plan.recheck_at = earliest(plan.recheck_at, labels.recheck_at);
    if let Some(heard) = &mut heard {
        labels
            .early
            .into_iter()
            .for_each(|cluster| heard.note_loud(cluster));
        heard.note(&plan);
    }
    (plan, heard)
}

/// Whether agents still need what an add-on gave them whose `ClusterManagementAddOn` the hub does not show: its instances go with
/// it, unless they were orphaned when it was deleted, or unless it is not there yet (backups bring instances before add-ons).
fn outlives_its_addon(view: &View<'_>) -> bool {
    view.addon.meta.uid.is_empty() && view.all_instances().any(|instance| !instance.meta.deleting)
}

/// Returns the plan of an add-on that manages itself, the labels of its clusters aside.
fn unmanaged(view: &View<'_>, now: Timestamp) -> Plan {
    let wanted = install::wanted(view, &Others::default());
    let configs = config::effective(view, &wanted);
    let summary = addon_status::summary(view, &wanted, &configs, &[], now);
    let verdict = addon::unmanaged(view, now);
    let addon = diff::addon(view.addon, &summary, verdict);
    Plan {
        actions: beside(
            registration::unmanaged(view, now),
            diff::unreachable_statuses(view, now),
        )
        .chain(addon)
        .chain(own_status::unmanaged(view))
        .collect(),
        ..Plan::default()
    }
}

/// Returns the plan of an add-on that the hub manages, the labels of its clusters aside.
fn managed(
    view: &View<'_>,
    others: &Others,
    seen: Option<&mut Option<Outlook>>,
    now: Timestamp,
) -> (Plan, Heard) {
    let wanted = install::wanted(view, others);
    let configs = config::effective(view, &wanted);
    let membership = install::membership(view, &wanted, now);
    let rollout = rollout::next(view, &wanted, &configs, others, now);
    let mut census = Census::new(membership.missing, others);
    census.holding = membership.holding;
    census.unmade = membership.unmade;
    let mut rounds = Rounds::new(view, &configs, &membership.kept, now);
    let mut outlook = seen
        .is_some()
        .then(|| Outlook::begin(view, &wanted, &configs, &rollout.placed));
    for member in &rollout.members {
        let standing = rounds.see_to(member);
        if let Some(outlook) = &mut outlook {
            outlook.note(member, standing);
        }
        if let Some(standing) = standing {
            census.add(&member.instance.cluster, standing);
        }
    }
    let arrives = rounds.arrives;
    let (seen_to, heard) = rounds.finish();
    let summary = addon_status::summary(view, &wanted, &configs, &rollout.placed, now);
    if let Some(outlook) = &mut outlook {
        outlook.note_undone(&summary);
    }
    let time = if arrives || rollout.recheck_at.is_some() {
        Time::Runs
    } else {
        Time::Stands
    };
    let verdict = addon::managed(view, &wanted, &summary, &census, time, now);
    if let Some(outlook) = &mut outlook {
        outlook.note_conditions(&verdict.conditions);
    }
    if let Some(seen) = seen {
        *seen = outlook;
    }
    let recheck_at = earliest(verdict.recheck_at, summary.recheck_at);
    let own = own_status::managed(view, &verdict.conditions, &summary, &census);
    let uses = wanted.placements.iter().map(|selected| selected.by);
    let placed: Vec<_> = uses.zip(&rollout.placed).collect();
    let approvals = approval_objects::managed(view, &placed, summary.progressions.as_deref(), now);
    let oddities = configs.versions.oddities.iter().map(ToString::to_string);
    let oddities = oddities.map(|oddity| Wait::addon(WaitOn::Template(oddity)));
    let plan = Plan {
        actions: settle(membership.actions, seen_to.actions)
            .chain(diff::addon(view.addon, &summary, verdict))
            .chain(own)
            .chain(approvals)
            .chain(kept_content::actions(view))
            .collect(),
        waits: membership
            .waits
            .into_iter()
            .chain(seen_to.waits)
            .chain(oddities)
            .collect(),
        postponed: Vec::new(),
        recheck_at: earliest(
            earliest(rollout.recheck_at, membership.recheck_at),
            earliest(seen_to.recheck_at, recheck_at),
        ),
    };
    (plan, heard)
}

/// A list is patched as a whole: what writes the conditions of an instance again waits for the next plan.
fn beside(first: Vec<Action>, second: Vec<Action>) -> impl Iterator<Item = Action> {
    let taken: std::collections::BTreeSet<_> = first.iter().map(|action| action.object().clone()).collect();
    let rest = second
        .into_iter()
        .filter(move |action| !taken.contains(action.object()));
    first.into_iter().chain(rest)
}

/// Membership comes first, and nothing else is planned for an object that it writes: the next plan sees the new revision.
fn settle(
    membership: Vec<super::types::Action>,
    rest: Vec<super::types::Action>,
) -> impl Iterator<Item = super::types::Action> {
    let taken: std::collections::BTreeSet<_> = membership
        .iter()
        .map(|action| (action.object().namespace.clone(), action.object().name.clone()))
        .collect();
    let clusters: std::collections::BTreeSet<_> = taken.into_iter().map(|(namespace, _)| namespace).collect();
    membership.into_iter().chain(
        rest.into_iter()
            .filter(move |action| !clusters.contains(&action.object().namespace)),
    )
}

/// Conditions carry whole seconds; anything finer would differ after the first round trip.
fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
