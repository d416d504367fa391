//! Approvals: no cluster of a decision group that asks for one starts with a content that is not approved. And checks: none of a later
//! group starts while one has not passed.
//!
//! Decides only what is certain: what a cluster has of its own is no part of what is approved, and the writes for other
//! clusters do not tell what a change of `spec.configuration` has yet to reach. Uses what the plan writes, never by the
//! layers of configurations.

use super::pace::Member;
use super::standing::{AssignedConfig, assigned};
use api::hash::{ConfigKey, content_hash};
use jiff::Timestamp;
use model::{CheckVerdict, ConfigRollout};
use store::{Instance, PinnedContent, PlacementUse, Reference, View};

/// Clusters of a placement start that should wait.
pub(super) fn unapproved(view: &View<'_>, by: &PlacementUse, members: &[Member<'_>]) -> Option<String> {
    let settings = view.rollout();
    if settings.approval_before(&by.namespace, &by.name).is_empty()
        || view.addon.configuration_rollout != Ok(ConfigRollout::UpdateAll)
    {
        return None;
    }
    let place = (&*by.namespace, &*by.name);
    let is_early = |member: &&Member<'_>| {
        let (index, group) = &member.group;
        !is_its_own(member.instance)
            && each_hash(&member.after).iter().all(|hash| {
                let called = if group.is_empty() {
                    index.to_string()
                } else {
                    group.to_string()
                };
                let given = view.approval(&format!("{}/{}", by.namespace, by.name), &called);
                settings.needs_approval(place, (*index, group))
                    && !given.is_some_and(|given| given.approves(hash))
            })
            && (has_anything(member.instance) || !is_run_by_another(member, members))
    };
    let mut starting = members.iter().filter(|member| member.standing.starts);
    let first = starting.find(is_early)?.name();
    Some(format!(
        "{first} starts although what it is given is not approved"
    ))
}

/// Whether a cluster has something of its own, so that what it is given is not what others are.
fn is_its_own(instance: &Instance) -> bool {
    !instance.configs.is_empty() || !instance.desired_version.is_empty()
}

fn has_anything(instance: &Instance) -> bool {
    let given = |one: &Reference| one.applied.is_some() || !one.desired.is_empty();
    instance.references.iter().any(given)
}

/// Whether another cluster of its decision group has been given the same before.
fn is_run_by_another(member: &Member<'_>, members: &[Member<'_>]) -> bool {
    let others = members.iter().filter(|other| other.group == member.group);
    let mut others = others.filter(|other| has_anything(other.instance));
    others.any(|other| {
        is_its_own(other.instance) || each_hash(&assigned(other.instance)) == each_hash(&member.after)
    })
}

/// The hashes that an assignment may be approved by: whether all of its deployment configurations count
/// its references do not say.
fn each_hash(assigned: &[AssignedConfig]) -> [String; 2] {
    let each = assigned.iter().map(|one| {
        let key = ConfigKey {
            resource: one.config.of.resource.to_string(),
            group: one.config.of.group.to_string(),
            namespace: one.config.namespace.to_string(),
            name: one.config.name.to_string(),
        };
        (key, one.hash.to_string())
    });
    let mut all: Vec<(ConfigKey, String)> = each.collect();
    let first_counts = content_hash(&all);
    all.push((ConfigKey::default(), "merged".to_owned()));
    [first_counts, content_hash(&all)]
}

/// A cluster of a later group starts while a check has not passed since the earlier clusters were updated. What is known to be good is
/// read from the condition that records it; clusters that have failed are left out.
pub(super) fn unchecked(
    view: &View<'_>,
    by: &PlacementUse,
    members: &[Member<'_>],
    now: Timestamp,
) -> Option<String> {
    let names = view.rollout().checks(&by.namespace, &by.name);
    if names.is_empty() || view.addon.configuration_rollout != Ok(ConfigRollout::UpdateAll) {
        return None;
    }
    let is_early = |member: &&Member<'_>| {
        let earlier = members.iter().filter(|other| other.stage < member.stage);
        let is_later = earlier.clone().next().is_some();
        let arrived = earlier.filter(|other| !other.standing.failed);
        let arrived = arrived.filter_map(|other| arrival(other.instance)).max();
        let passes = |name| view.check(name).verdict(arrived, now) == CheckVerdict::Passed;
        is_later && has_anything(member.instance) && !is_good(view, by, member) && !names.iter().all(passes)
    };
    let mut starting = members.iter().filter(|member| member.standing.starts);
    let first = starting.find(is_early)?.name();
    Some(format!("{first} starts although a check has not passed"))
}

/// When an agent confirmed what its cluster has.
fn arrival(instance: &Instance) -> Option<Timestamp> {
    let assigned = instance.condition("Assigned")?;
    let is_there = instance.references.iter().all(Reference::is_applied);
    let is_confirmed = &*assigned.reason == "ConfigurationsConfirmed";
    assigned.since().filter(|_| is_there && is_confirmed)
}

/// Whether all that a cluster is given is part of what was last known to be good.
fn is_good(view: &View<'_>, by: &PlacementUse, member: &Member<'_>) -> bool {
    let mut noted = view.addon.progressions.iter().flatten();
    let known = noted.find(|one| one.namespace == by.namespace && one.name == by.name);
    let good = known.and_then(store::Progression::known_good);
    let is_good = |one: &AssignedConfig, good: &PinnedContent| {
        let mut each = good.configs.iter();
        each.any(|known| known.config == one.config && known.hash == one.hash)
    };
    good.is_some_and(|good| member.after.iter().all(|one| is_good(one, &good)))
}
