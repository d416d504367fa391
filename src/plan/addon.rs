//! The plan of one add-on, as a sequence of questions.
//!
//! Pure: the same view and the same time always give the same plan. Never writes.

use jiff::Timestamp;

use super::types::{Action, Plan, Wait, WaitOn, earliest};
use super::{
    config, diff, discovery, farewell, health, hook, hook_body, install, kit, progress, registration,
    rollout, rollup, unreachable,
};
use crate::snapshot::View;

/// Returns what the hub should look like next for one add-on, and what it is waiting for.
pub fn addon(view: &View<'_>, now: Timestamp) -> Plan {
    let now = whole_seconds(now);
    let mut plan = if view.addon.meta.deleting {
        let mut plan = farewell::addon(view, now);
        plan.actions.extend(registration::leftovers(view));
        plan
    } else {
        living(view, now)
    };
    let labels = discovery::labels(view, now);
    plan.actions.extend(labels.actions);
    plan.waits.extend(labels.wait);
    plan.waits.sort();
    plan.recheck_at = earliest(plan.recheck_at, labels.recheck_at);
    plan
}

/// Returns the plan of an add-on that is there to stay, the labels of its clusters aside.
fn living(view: &View<'_>, now: Timestamp) -> Plan {
    let wanted = install::wanted(view);
    let configs = config::effective(view, &wanted);
    if !view.addon.managed {
        let summary = rollup::summary(view, &wanted, &configs, &[], now);
        let verdict = health::unmanaged(view, now);
        let addon = diff::addon(view.addon, &summary, verdict);
        return Plan {
            actions: beside(
                registration::unmanaged(view, now),
                unreachable::statuses(view, now),
            )
            .chain(addon)
            .collect(),
            ..Plan::default()
        };
    }
    let membership = install::membership(view, &wanted, now);
    let mut waits = membership.waits;
    let rollout = rollout::next(view, &wanted, &configs, now);
    let mut renderer = kit::Renderer::new(view);
    let mut finalizers = hook::Finalizers::new(view);
    let mut registrar = registration::Registrar::new(view);
    let mut actions = farewell::remains(view);
    let mut recipes = hook_body::Recipes::default();
    let mut recheck_at = None;
    let mut health = health::Health::new(membership.missing);
    for member in &rollout.members {
        // What is going away is neither written to nor counted as done.
        if member.instance.meta.deleting {
            let goodbye = farewell::instance(view, &mut recipes, member.instance, now);
            actions.extend(goodbye.actions);
            waits.extend(goodbye.wait.map(|on| Wait::cluster(&member.instance.cluster, on)));
            recheck_at = earliest(recheck_at, goodbye.recheck_at);
            continue;
        }
        if wanted.is_leaving(&member.instance.cluster) {
            continue;
        }
        // Before the works: what they put on a cluster must not go without its hooks.
        actions.extend(finalizers.keep(member));
        let rendering = renderer.rendering(member);
        let mut report = progress::report(view, &configs, member, &rendering, now);
        registrar.amend(&mut report, member, &rendering, now);
        // Status first: a crash in between leaves an assignment without a work, which the next plan completes.
        actions.extend(diff::instance(&report));
        actions.extend(diff::works(view, &report, &rendering));
        let cluster = &report.instance.cluster;
        waits.extend(report.waits.into_iter().map(|on| Wait::cluster(cluster, on)));
        health.add(cluster, report.standing);
    }
    actions.extend(registrar.finish());
    let summary = rollup::summary(view, &wanted, &configs, &rollout.placed, now);
    let verdict = health::managed(view, &wanted, &health, now);
    let actions = settle(membership.actions, actions)
        .chain(diff::addon(view.addon, &summary, verdict))
        .collect();
    let oddities = configs.versions.oddities.iter().map(ToString::to_string);
    waits.extend(oddities.map(|oddity| Wait::addon(WaitOn::Template(oddity))));
    Plan {
        actions,
        waits,
        recheck_at: earliest(earliest(rollout.recheck_at, membership.recheck_at), recheck_at),
    }
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
