//! How the clusters of a rollout stand, from what the hub says and what the plan writes: who is there, who is in progress, who
//! has failed, and who would start.
//!
//! Decides by the words of `docs/rollout.md`, never by asking the engine. What is written down in `tests/pure/convergence/README.md` holds
//! here: a fact of the hub counts from the plan that sees it on, not from the plan after the one that records it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use api::hash::parse_config_spec_hash;
use api::reason::Reason;
use model::ProgressDeadline;
use plan::{Action, Plan};
use store::{
    ClusterConfigs, ConfigRef, ConfigType, Failures, Instance, Kind, Name, Reference, Signal, Status, View,
    Work,
};

/// Condition with the time at which the present configuration was assigned.
const ASSIGNED: &str = "Assigned";

/// What the plan assigns, by cluster.
pub(super) type Written<'p> = BTreeMap<&'p Name, Vec<AssignedConfig>>;

/// One configuration as a status assigns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AssignedConfig {
    pub(super) config: ConfigRef,
    pub(super) hash: Name,
    is_confirmed: bool,
}

/// How a cluster stands before the plan and after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(super) struct InstanceStanding {
    /// It was told to move, has not failed, is not late and has not arrived.
    pub(super) was_sent: bool,
    /// The same, and it can arrive: certainly in progress.
    pub(super) was_moving: bool,
    /// The same after the plan.
    pub(super) moves: bool,
    /// The plan tells it to move, by a change that is rolled out.
    pub(super) starts: bool,
    /// The update to its assignment has failed, and stays failed.
    pub(super) failed: bool,
}

/// Returns what the plan assigns.
pub(super) fn written(plan: &Plan) -> Written<'_> {
    plan.actions.iter().filter_map(assignment).collect()
}

/// The write that assigns a configuration to a cluster.
fn assignment(action: &Action) -> Option<(&Name, Vec<AssignedConfig>)> {
    match action {
        Action::Status { object, patch, .. } if object.kind == Kind::Instance => {
            let patch = patch.value();
            let entries = patch.pointer("/status/configReferences")?.as_array()?;
            Some((
                &object.namespace,
                entries.iter().map(AssignedConfig::read).collect(),
            ))
        }
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Status { .. }
        | Action::Delete { .. }
        | Action::Certify { .. } => None,
    }
}

impl AssignedConfig {
    fn read(entry: &Value) -> Self {
        let text =
            |pointer: &str| Name::from(entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
        Self {
            config: ConfigRef {
                of: ConfigType {
                    group: text("/group"),
                    resource: text("/resource"),
                },
                namespace: text("/desiredConfig/namespace"),
                name: text("/desiredConfig/name"),
            },
            hash: text("/desiredConfig/specHash"),
            is_confirmed: entry.get("desiredConfig") == entry.get("lastAppliedConfig"),
        }
    }

    fn of(reference: &Reference) -> Self {
        Self {
            config: reference.config.clone(),
            hash: reference.desired.clone(),
            is_confirmed: reference.is_applied(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        self.config == other.config && self.hash == other.hash
    }
}

/// Returns what an instance is assigned before the plan.
pub(super) fn assigned(instance: &Instance) -> Vec<AssignedConfig> {
    instance.references.iter().map(AssignedConfig::of).collect()
}

/// Returns the instance of a cluster that takes part in rollouts: neither it nor its cluster goes.
pub(super) fn there<'v>(view: &View<'v>, cluster: &str) -> Option<&'v Instance> {
    let instance = view.instance(cluster).filter(|one| !one.meta.deleting)?;
    let found = view.cluster(cluster).filter(|found| !found.meta.deleting)?;
    // What a user gave, or another field manager applies, stays, although the cluster opts out.
    let is_ours = !instance.installed_by.is_empty() && instance.claims.adopter.is_empty();
    let goes = found.opts_out_of(&view.addon.name) && is_ours;
    (!goes).then_some(instance)
}

/// What else a standing depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) deadline: ProgressDeadline,
    /// Whether the rollout is paused: then nothing passes it by.
    pub(super) paused: bool,
    pub(super) now: Timestamp,
}

/// Returns how an instance stands; `after` is what the plan assigns to it, if it assigns anything.
pub(super) fn standing(
    view: &View<'_>,
    instance: &Instance,
    after: Option<&Vec<AssignedConfig>>,
    terms: Terms,
) -> InstanceStanding {
    let before = assigned(instance);
    let is_known = before.iter().all(|one| !one.hash.is_empty());
    let is_confirmed = before.iter().all(|one| one.is_confirmed) && !is_unheard(view, instance);
    let is_done = after.is_some_and(|after| after.iter().all(|one| one.is_confirmed));
    let changes = after.is_some_and(|after| !is_same(after, &before));
    let starts = changes && !is_done && !passes(view, instance, (&before, after), terms);
    let failed = !is_confirmed && has_failed(view, instance, terms.now);
    let late = is_late(instance, terms);
    let is_sent = !is_confirmed && !failed && late == Some(false);
    // Content that is neither on the hub nor in a work cannot be in progress, but a cluster that was told to take it has its slot.
    let was_moving = is_sent && is_known && can_arrive(view, instance);
    let was_sent = is_sent || (is_confirmed && starts_up(view, instance, terms.now));
    let failed = failed || (!is_confirmed && late == Some(true));
    InstanceStanding {
        was_sent,
        was_moving,
        moves: starts || (was_moving && !is_done),
        starts,
        failed: failed && !changes && !is_done,
    }
}

/// Whether the agent has yet to confirm the last assignment, although it is one that was confirmed before: the record says so,
/// and a work is of something else or its agent has yet to speak about it.
fn is_unheard(view: &View<'_>, instance: &Instance) -> bool {
    let is_heard = |work: &Work| {
        let says = |signal: &Option<Signal>| {
            let signal = signal.as_ref();
            signal.is_some_and(|signal| signal.current && signal.status == Status::True)
        };
        carries(work, &instance.references) && says(&work.applied) && says(&work.available)
    };
    let record = instance.condition(ASSIGNED);
    let mut works = view.works(&instance.cluster);
    record.is_some_and(|record| *record.reason == Reason::ConfigurationsAssigned)
        && works.any(|work| deploys(instance, work) && !is_heard(work))
}

/// Returns whether two assignments are the same.
pub(super) fn is_same(one: &[AssignedConfig], other: &[AssignedConfig]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is(other))
}

/// Whether a change is only one of the content of the cluster's own configurations, which passes rollouts by.
fn passes(
    view: &View<'_>,
    instance: &Instance,
    (before, after): (&[AssignedConfig], Option<&Vec<AssignedConfig>>),
    terms: Terms,
) -> bool {
    let after = after.map(Vec::as_slice).unwrap_or_default();
    let is_own = |one: &AssignedConfig, other: &AssignedConfig| {
        one.is(other) || (one.config == other.config && instance.configs.contains(&one.config))
    };
    view.settings().cluster_configs == ClusterConfigs::AtOnce
        && !terms.paused
        && before.len() == after.len()
        && before.iter().zip(after).all(|(one, other)| is_own(one, other))
}

/// Whether an instance takes longer than it may; nothing where it is not noted since when it is in progress.
fn is_late(instance: &Instance, terms: Terms) -> Option<bool> {
    let ProgressDeadline::After(length) = terms.deadline else {
        return Some(false);
    };
    let since = instance.condition(ASSIGNED)?.since()?;
    Some(lasts(since, length, terms.now))
}

/// Whether something has lasted for so long, whenever within its recorded second it began.
fn lasts(since: Timestamp, length: Duration, now: Timestamp) -> bool {
    let length = SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
    now.duration_since(since) >= length.saturating_add(SignedDuration::from_secs(1))
}

/// Whether an instance that is under way has failed, by the table "What counts as a failure" of `docs/rollout.md`. Where only the
/// deadline is a failure, nothing that an agent reports is one.
fn has_failed(view: &View<'_>, instance: &Instance, now: Timestamp) -> bool {
    if view.settings().failures == Failures::Deadline {
        return false;
    }
    let works: Vec<&Work> = view
        .works(&instance.cluster)
        .filter(|work| deploys(instance, work))
        .collect();
    let carries = |work: &&Work| carries(work, &instance.references);
    let applied = |work: &Work, status| {
        let signal = work.applied.as_ref();
        signal.is_some_and(|signal| signal.current && signal.status == status)
    };
    let cannot_be = |work: &&Work| applied(work, Status::False) && carries(work);
    if works.iter().any(cannot_be) {
        return true;
    }
    let assigned = instance.condition(ASSIGNED).and_then(store::Condition::since);
    let said = |kind: &str, status| instance.condition(kind).filter(|one| one.status == status);
    let is_new =
        |since: Option<Timestamp>| since.is_some_and(|since| assigned.is_none_or(|then| since >= then));
    let hosted =
        said("HostingManifestApplied", Status::False).filter(|_| !instance.hosting_cluster.is_empty());
    let unmade = hosted.or_else(|| said("ManifestApplied", Status::False).filter(|_| !is_ours(instance)));
    let degraded = said("Degraded", Status::True);
    if unmade.is_some_and(|one| is_new(one.since())) || degraded.is_some_and(|one| is_new(one.since())) {
        return true;
    }
    let runs = !works.is_empty()
        && works
            .iter()
            .all(|work| applied(work, Status::True) && carries(work));
    if runs && degraded.is_some() {
        return true;
    }
    if let Some(down) = said("Available", Status::False).filter(|_| runs) {
        let began = down.since().max(assigned).unwrap_or(now);
        return lasts(began, view.settings().startup, now);
    }
    // What the last plan has found out, and nothing above speaks against.
    instance
        .condition("Progressing")
        .is_some_and(|said| said.reason.ends_with("Failed"))
}

/// Whether the add-on is made from a template there: then what its manifests are said to be is this program's own word.
fn is_ours(instance: &Instance) -> bool {
    let mut references = instance.references.iter();
    references
        .any(|one| Kind::of_config(&one.config.of.group, &one.config.of.resource) == Some(Kind::Template))
}

/// Whether an instance has confirmed what it is assigned, and its agent has not been available since: it
/// may take its time to start.
fn starts_up(view: &View<'_>, instance: &Instance, now: Timestamp) -> bool {
    let down = instance
        .condition("Available")
        .filter(|one| one.status == Status::False);
    let since = |kind: &str| instance.condition(kind).and_then(store::Condition::since);
    let arrived = since(ASSIGNED).or_else(|| since("Progressing"));
    down.zip(arrived).is_some_and(|(down, arrived)| {
        down.since().is_none_or(|since| since <= arrived) && !lasts(arrived, view.settings().startup, now)
    })
}

/// Whether what an instance is assigned is still on the hub, or is in a work: else nothing is in progress.
fn can_arrive(view: &View<'_>, instance: &Instance) -> bool {
    let is_there = |one: &Reference| {
        Kind::of_config(&one.config.of.group, &one.config.of.resource).is_none()
            || view.content(&one.config, &one.desired).is_some()
    };
    let mut works = view.works(&instance.cluster);
    instance.references.iter().all(is_there)
        || works.any(|work| deploys(instance, work) && carries(work, &instance.references))
}

/// Whether a work brings the add-on: hooks and works with a mere label of it do not, nor does what is left
/// where it is no longer hosted.
pub(super) fn deploys(instance: &Instance, work: &Work) -> bool {
    let addon = &instance.addon;
    if work.hosted && work.namespace != instance.hosting_cluster {
        return false;
    }
    let is_hook = work.name.starts_with(&format!("addon-{addon}-pre-delete"));
    let is_named = work.name.starts_with(&format!("addon-{addon}-deploy"));
    !is_hook && (is_named || work.owners.iter().any(|owner| owner.uid == instance.meta.uid))
}

/// Whether a work carries what is assigned: what its agent says about anything else is news of the past.
fn carries(work: &Work, assigned: &[Reference]) -> bool {
    if work.hashes.is_empty() {
        return assigned.is_empty();
    }
    let Ok(carried) = parse_config_spec_hash(&work.hashes) else {
        return false;
    };
    let is_assigned = |reference: &Reference| {
        let config = &reference.config;
        let mut all = carried.iter();
        all.any(|(key, hash)| {
            key.resource == *config.of.resource
                && key.group == *config.of.group
                && key.namespace == *config.namespace
                && key.name == *config.name
                && *hash == *reference.desired
                && !hash.is_empty()
        })
    };
    carried.len() == assigned.len() && assigned.iter().all(is_assigned)
}
