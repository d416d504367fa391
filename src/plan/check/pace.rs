//! The pace of rollouts: limits, groups and failures of every placement, judged from the view and the writes alone.
//!
//! Decides only what is certain: clusters that failed, that are late or that show trouble are not counted as being on their
//! way, and strategies that cannot be judged from one placement are left out.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::model::{ConfigRollout, Limit, MandatoryGroup, ProgressDeadline, RolloutStrategy, Tolerance};
use crate::plan::types::{Action, Plan};
use crate::snapshot::{Cluster, Instance, Kind, Name, PlacementUse, Reference, Status, View};

/// Condition with the time at which the present configuration was assigned.
const ASSIGNED: &str = "Assigned";

/// Returns every rollout that the plan drives too fast, as sentences.
pub(super) fn broken(view: &View<'_>, plan: &Plan, now: Timestamp) -> Vec<String> {
    if view.addon.configuration_rollout != Ok(ConfigRollout::UpdateAll) {
        return Vec::new();
    }
    let written: BTreeMap<&Name, &Value> = plan.actions.iter().filter_map(assignment).collect();
    if written.is_empty() || !view.addon.placements.iter().all(|by| is_decided(view, by)) {
        return Vec::new();
    }
    let homes = homes(view);
    let mut broken = Vec::new();
    for (index, by) in view.addon.placements.iter().enumerate() {
        let Ok(strategy) = &by.rollout else { continue };
        let paused = view.addon.paused.placement(&by.namespace, &by.name);
        let course = Course::of(strategy, paused);
        let own = homes.iter().filter(|(_, home)| home.index == index);
        let members: Vec<Member<'_>> = own
            .filter_map(|(cluster, home)| member(view, &course, (cluster, home), &written, now))
            .collect();
        let faults = [
            course.unpaused(&members),
            course.crowded(&members),
            out_of_turn(&members),
            course.reckless(&members),
        ];
        let place = format!("placement {}/{}", by.namespace, by.name);
        broken.extend(
            faults
                .into_iter()
                .flatten()
                .map(|fault| format!("{place}: {fault}")),
        );
    }
    broken
}

/// While a placement is not decided, nobody but the planner knows which clusters are its own.
fn is_decided(view: &View<'_>, by: &PlacementUse) -> bool {
    let decisions = || view.decisions(&by.namespace, &by.name);
    let named: usize = decisions().map(|decision| decision.clusters.len()).sum();
    view.placement(&by.namespace, &by.name)
        .is_some_and(|placement| match placement.selected {
            Some(counted) => i64::try_from(named).is_ok_and(|named| named == counted),
            None => decisions().next().is_some(),
        })
}

/// The write that assigns a configuration to a cluster.
fn assignment(action: &Action) -> Option<(&Name, &Value)> {
    match action {
        Action::Status { object, patch, .. } if object.kind == Kind::Instance => {
            Some((&object.namespace, patch.pointer("/status/configReferences")?))
        }
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Status { .. }
        | Action::Delete { .. }
        | Action::Certify { .. } => None,
    }
}

/// Where a cluster is configured: the last placement whose decisions name it, and its decision group there, which is the first
/// of them while decisions that are being rewritten name it in several.
struct Home {
    index: usize,
    group: (u32, Name),
}

fn homes<'v>(view: &View<'v>) -> BTreeMap<&'v Name, Home> {
    let mut homes: BTreeMap<&'v Name, Home> = BTreeMap::new();
    for (index, by) in view.addon.placements.iter().enumerate() {
        for decision in view.decisions(&by.namespace, &by.name) {
            let group = (decision.group_index, decision.group_name.clone());
            for cluster in &decision.clusters {
                let known = homes.get(cluster).filter(|home| home.index == index);
                if known.is_none_or(|home| group < home.group) {
                    let group = group.clone();
                    homes.insert(cluster, Home { index, group });
                }
            }
        }
    }
    homes
}

/// A strategy, as far as it can be judged.
struct Course<'v> {
    paused: bool,
    mandatory: &'v [MandatoryGroup],
    /// How many clusters outside of the mandatory groups may be on their way; absent where that is not limited.
    limit: Option<Limit>,
    by_group: bool,
    /// How many of all clusters may fail; absent where failures stop nothing, or only a group.
    tolerance: Option<Tolerance>,
    deadline: ProgressDeadline,
}

/// A cluster of a placement: before and after the plan.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts that do not depend on each other"
)]
struct Member<'v> {
    cluster: &'v Name,
    stage: (bool, u32),
    was_moving: bool,
    moves: bool,
    starts: bool,
    failed: bool,
    /// What it is assigned after the plan.
    hashes: Vec<(&'v str, &'v str)>,
}

impl<'v> Course<'v> {
    fn of(strategy: &'v RolloutStrategy, paused: bool) -> Self {
        let free = |deadline| Self {
            paused,
            mandatory: &[],
            limit: None,
            by_group: false,
            tolerance: None,
            deadline,
        };
        match strategy {
            RolloutStrategy::All(pace) => free(pace.deadline),
            RolloutStrategy::Progressive { groups, limit, pace } => Self {
                mandatory: groups,
                limit: *limit,
                tolerance: Some(pace.tolerance),
                ..free(pace.deadline)
            },
            RolloutStrategy::ProgressivePerGroup { groups, pace } => Self {
                mandatory: groups,
                by_group: true,
                ..free(pace.deadline)
            },
        }
    }

    /// Mandatory groups come first, one after another; then all others, one after another or together.
    fn stage(&self, group: &(u32, Name)) -> (bool, u32) {
        let is_mandatory = self.mandatory.iter().any(|selector| match selector {
            MandatoryGroup::Named(name) => **name == *group.1,
            MandatoryGroup::At(index) => *index == group.0,
        });
        let turn = if is_mandatory || self.by_group { group.0 } else { 0 };
        (!is_mandatory, turn)
    }

    /// More are on their way than may be, and the plan adds to them.
    fn crowded(&self, members: &[Member<'_>]) -> Option<String> {
        let rest: Vec<&Member<'_>> = members.iter().filter(|member| member.stage.0).collect();
        let limit = self.limit?.of(rest.len()).max(1);
        let moving = rest.iter().filter(|member| member.moves).count();
        let added = rest.iter().any(|member| member.starts && !member.was_moving);
        (added && moving > limit)
            .then(|| format!("{moving} clusters would be on their way, and {limit} may be"))
    }

    /// A cluster starts although more have failed than may.
    fn reckless(&self, members: &[Member<'_>]) -> Option<String> {
        let tolerated = self.tolerance?.of(members.len());
        let started = members.iter().find(|member| member.starts)?;
        // What failed before somebody edited the configuration says nothing about the edit.
        let failed = members
            .iter()
            .filter(|member| member.failed && member.hashes == started.hashes)
            .count();
        let started = started.cluster;
        (failed > tolerated)
            .then(|| format!("{started} starts although {failed} have failed, and {tolerated} may"))
    }

    fn unpaused(&self, members: &[Member<'_>]) -> Option<String> {
        let started = members.iter().find(|member| member.starts)?.cluster;
        self.paused
            .then(|| format!("{started} starts although the rollout is paused"))
    }

    fn is_late(&self, instance: &Instance, now: Timestamp) -> bool {
        let ProgressDeadline::After(length) = self.deadline else {
            return false;
        };
        let Some(since) = instance.condition(ASSIGNED).and_then(|condition| condition.since) else {
            return true;
        };
        let length = SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX);
        now.duration_since(since) >= length
    }
}

/// A cluster starts although one of an earlier group is on its way.
fn out_of_turn(members: &[Member<'_>]) -> Option<String> {
    let first = members
        .iter()
        .filter(|member| member.moves)
        .min_by_key(|member| member.stage)?;
    let early = members
        .iter()
        .find(|member| member.starts && member.stage > first.stage)?;
    let (early, first) = (early.cluster, first.cluster);
    Some(format!(
        "{early} starts while {first} of an earlier group is on its way"
    ))
}

fn member<'v>(
    view: &View<'v>,
    course: &Course<'_>,
    (cluster, home): (&'v Name, &Home),
    written: &BTreeMap<&Name, &'v Value>,
    now: Timestamp,
) -> Option<Member<'v>> {
    let instance = view
        .instance(cluster)
        .filter(|instance| !instance.meta.deleting)?;
    // What a cluster refers to by itself may travel at once; a cluster that goes away takes part in nothing.
    let leaves = |found: &Cluster| found.meta.deleting || found.opts_out_of(&view.addon.name);
    if !instance.configs.is_empty() || has_own_version(instance) || view.cluster(cluster).is_none_or(leaves) {
        return None;
    }
    let after = written.get(cluster).map(|entries| Assigned::of(entries));
    let starts = after
        .as_ref()
        .is_some_and(|after| after.hashes != hashes(&instance.references) && !after.confirmed);
    let confirmed = instance.references.iter().all(Reference::is_applied);
    let troubled = is_troubled(instance) || course.is_late(instance, now);
    // What nobody has cannot be on its way.
    let is_known = instance.references.iter().all(|one| !one.desired.is_empty());
    let was_moving = !confirmed && !troubled && is_known;
    let is_done = after.as_ref().is_some_and(|after| after.confirmed);
    Some(Member {
        cluster,
        stage: course.stage(&home.group),
        was_moving,
        moves: starts || (was_moving && !is_done),
        starts,
        failed: !starts && !confirmed && !is_done && has_failed(view, instance),
        hashes: after.map_or_else(|| hashes(&instance.references), |after| after.hashes),
    })
}

fn has_own_version(instance: &Instance) -> bool {
    !instance.desired_version.is_empty()
}

/// The agent says of the present content that it cannot be applied.
fn has_failed(view: &View<'_>, instance: &Instance) -> bool {
    let failed = |condition: &crate::snapshot::Work| {
        condition
            .applied
            .as_ref()
            .is_some_and(|signal| signal.current && signal.status == Status::False)
    };
    let said = instance
        .condition("Progressing")
        .is_some_and(|said| said.reason.ends_with("Failed"));
    said && view.works(&instance.cluster).any(failed)
}

/// Whether anything says that the instance is not simply on its way.
fn is_troubled(instance: &Instance) -> bool {
    instance
        .conditions
        .iter()
        .any(|condition| match &*condition.kind {
            "Progressing" => condition.reason.ends_with("Failed"),
            "Available" | "ManifestApplied" => condition.status != Status::True,
            "Degraded" => condition.status == Status::True,
            _ => false,
        })
}

/// What a write assigns.
struct Assigned<'p> {
    hashes: Vec<(&'p str, &'p str)>,
    confirmed: bool,
}

impl<'p> Assigned<'p> {
    fn of(entries: &'p Value) -> Self {
        let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |entry: &'p Value, pointer: &str| {
            entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
        };
        let hash = |entry: &'p Value| {
            (
                text(entry, "/desiredConfig/name"),
                text(entry, "/desiredConfig/specHash"),
            )
        };
        let same = |entry: &'p Value| entry.get("desiredConfig") == entry.get("lastAppliedConfig");
        Self {
            hashes: entries.iter().map(hash).collect(),
            confirmed: entries.iter().all(same),
        }
    }
}

fn hashes(references: &[Reference]) -> Vec<(&str, &str)> {
    references
        .iter()
        .map(|reference| (&*reference.config.name, &*reference.desired))
        .collect()
}
