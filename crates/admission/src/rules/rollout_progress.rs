//! Rules about rollouts that cannot progress. Page: `tests/rules/rollout-progress.md`.
//!
//! Warns about rollouts that can never finish, or that do not do what their strategy seems to say, on the current clusters. Invalid
//! values are refused in `rollout` and `rolling_update`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::body::PlacementAt;
use crate::rules::install_strategy::{findings_of_absence, place_of};
use crate::subject::{Addon, ReplicaSet, RolledOut, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, listed_of, nearest, quoted};
use model::{ProgressDeadline, RawBlock, RolloutKind};
use store::PlacementFacts;

const DEADLINE_BEFORE_SOAK: &str = "rollout/deadline-before-soak";
const UNKNOWN_GROUP: &str = "rollout/unknown-group";
const GROUP_ORDER: &str = "rollout/group-order";
const ONE_GROUP: &str = "rollout/one-group";
const NEVER_PROGRESSES: &str = "rollout/never-progresses";
/// A longer soak time is probably a mistake: a rollout would wait a year before the next cluster.
const LONGEST_SOAK: Duration = Duration::from_hours(365 * 24);

rules! { pub(crate) ON_ADDONS of Addon {
    warns DEADLINE_BEFORE_SOAK, CreateAndUpdate, deadline_before_soak =>
        "`progressDeadline` is not shorter than `minSuccessTime`.\n\n\
         `progressDeadline` is the time that a cluster has to become healthy, and `minSuccessTime` is the time that it \
         must then stay healthy. If the deadline is shorter, the two values are usually mixed up, and slow clusters \
         count as failed. Warns. Increase `progressDeadline`, or reduce `minSuccessTime`.";
    warns UNKNOWN_GROUP, CreateAndUpdate, unknown_group =>
        "`mandatoryDecisionGroups` lists decision groups that the placement has.\n\n\
         A group that the placement does not have is ignored, and its clusters are updated together with all others \
         instead of first. Warns, and lists the decision groups of the placement. While the placement has no complete \
         PlacementDecision, this is not checked.";
    warns GROUP_ORDER, CreateAndUpdate, group_order =>
        "`mandatoryDecisionGroups` is in the order in which the groups are updated.\n\n\
         The controllers update mandatory groups in the order of their indices in the placement, not in the order of \
         the list. Warns at the first entry that is updated before an entry above it. Sort the list by index. The index \
         of a `groupName` is in the PlacementDecisions; while the placement has no complete PlacementDecision, names \
         are not checked.";
    warns ONE_GROUP, CreateAndUpdate, one_group =>
        "The placement of a ProgressivePerGroup rollout has more than one decision group.\n\n\
         ProgressivePerGroup updates all clusters of a decision group at once. A placement without decision groups has \
         one group, so all of its clusters are updated at once. Warns. Set `spec.decisionStrategy.groupStrategy` of the \
         Placement, or use Progressive.";
    warns NEVER_PROGRESSES, CreateAndUpdate, never_progresses =>
        "A rollout can finish.\n\n\
         A rolling update of `spec.configuration` updates the clusters of a placement; if the placement does not exist, \
         no cluster is updated. With a `minSuccessTime` of more than a year, the next cluster is updated after more \
         than a year. Warns. Create the placement or correct its name, or set a shorter `minSuccessTime`.";
} }

rules! { pub(crate) ON_REPLICA_SETS of ReplicaSet {
    warns DEADLINE_BEFORE_SOAK, CreateAndUpdate, deadline_before_soak => "";
    warns UNKNOWN_GROUP, CreateAndUpdate, unknown_group => "";
    warns GROUP_ORDER, CreateAndUpdate, group_order => "";
    warns ONE_GROUP, CreateAndUpdate, one_group => "";
    warns NEVER_PROGRESSES, CreateAndUpdate, long_soak => "";
} }

fn for_each_block<K: RolledOut>(
    subject: &Subject<'_, K>,
    mut check: impl FnMut(&PlacementAt<'_>, RolloutKind, (&Path, &RawBlock<'_>)),
) {
    for placement in K::placements(&subject.body).each(subject.effort) {
        let Some((path, strategy)) = &placement.rollout else {
            continue;
        };
        for (kind, block) in &strategy.blocks {
            check(placement, *kind, (&path.key(kind.block()), block));
        }
    }
}

fn deadline_before_soak<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |_, _, (path, block)| {
        let (Ok(ProgressDeadline::After(deadline)), Ok(soak)) = (block.deadline(path), block.soak(path))
        else {
            return;
        };
        if deadline >= soak.length() {
            return;
        }
        let text = block.progress_deadline.and_then(|value| value.text("10m").ok());
        let detail = "is shorter than minSuccessTime";
        let fault = Fault::of_text(Class::Invalid, text.unwrap_or_default(), detail);
        findings.warn(fault.at(path.key("progressDeadline"), DEADLINE_BEFORE_SOAK));
    });
}

/// Returns the facts about a placement with a complete PlacementDecision.
fn decided<'f, K: RolledOut>(
    subject: &Subject<'f, K>,
    placement: &PlacementAt<'_>,
) -> Option<&'f PlacementFacts> {
    let (namespace, name) = place_of(placement)?;
    let facts = subject.facts.placement(namespace, name)?;
    (facts.decided && !facts.groups.is_empty()).then_some(facts)
}

fn unknown_group<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |placement, _, (path, block)| {
        let Some(facts) = decided(subject, placement) else {
            return;
        };
        let effort = subject.effort;
        if !effort.spend(facts.groups.len().saturating_add(block.groups.len())) {
            return;
        }
        let names: BTreeSet<&str> = facts.groups.iter().map(|group| &*group.name).collect();
        let indices: BTreeSet<i64> = facts.groups.iter().map(|group| i64::from(group.index)).collect();
        let named = || {
            facts
                .groups
                .iter()
                .map(|group| &*group.name)
                .filter(|name| !name.is_empty())
        };
        let count = named().count();
        for (position, group) in block.groups.iter().enumerate() {
            let at = path.key("mandatoryDecisionGroups").index(position);
            match (group.name.filter(|name| !name.is_empty()), group.index) {
                (Some(name), _) if !names.contains(name) => {
                    let detail = if count == 0 {
                        "the decision groups of the placement have no names".to_owned()
                    } else {
                        format!(
                            "the decision groups of the placement are {}",
                            listed_of(named(), count)
                        )
                    };
                    let near = effort.hint(|| nearest(name, named()));
                    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
                    let fault = Fault::of_text(Class::NotFound, name, detail).hint_if(hint);
                    findings.warn(fault.at(at.key("groupName"), UNKNOWN_GROUP));
                }
                (None, Some(index)) if !indices.contains(&index) => {
                    let last = indices.last().copied();
                    let detail = format!(
                        "the last decision group of the placement has index {}",
                        last.unwrap_or_default()
                    );
                    let fault = Fault::of(Class::NotFound, &index.into(), detail);
                    findings.warn(fault.at(at.key("groupIndex"), UNKNOWN_GROUP));
                }
                (Some(_) | None, _) => {}
            }
        }
    });
}

fn group_order<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |placement, _, (path, block)| {
        let facts = decided(subject, placement);
        let all = facts.map_or(0, |facts| facts.groups.len());
        if !subject.effort.spend(all.saturating_add(block.groups.len())) {
            return;
        }
        let groups = facts.into_iter().flat_map(|facts| &facts.groups);
        let by_name: BTreeMap<&str, i64> = groups
            .map(|group| (&*group.name, i64::from(group.index)))
            .collect();
        let mut last: Option<(String, i64)> = None;
        for (position, group) in block.groups.iter().enumerate() {
            let name = group.name.filter(|name| !name.is_empty());
            let index = match name {
                Some(name) => by_name.get(name).copied(),
                None => group.index,
            };
            let Some(index) = index else { continue };
            let shown = name.map_or_else(|| index.to_string(), str::to_owned);
            match &last {
                Some((before, earlier)) if index < *earlier => {
                    let detail = format!(
                        "is listed after {} but is updated before it: groups are updated in the order of their index in the placement",
                        quoted(before)
                    );
                    let at = path.key("mandatoryDecisionGroups").index(position);
                    findings.warn(Fault::of_text(Class::Invalid, &shown, detail).at(at, GROUP_ORDER));
                    return;
                }
                Some(_) | None => last = Some((shown, index)),
            }
        }
    });
}

fn one_group<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for placement in K::placements(&subject.body).each(subject.effort) {
        let Some((path, strategy)) = &placement.rollout else {
            continue;
        };
        let Some(kind) = strategy.kind(path).ok().filter(|kind| kind.uses_groups()) else {
            continue;
        };
        let Some(facts) = decided(subject, placement) else {
            continue;
        };
        let count = facts.clusters.len();
        if facts.groups.len() == 1 && count > 1 {
            let detail = format!("all {count} clusters are in one decision group and are updated at once");
            let fault = Fault::of_text(Class::Invalid, kind.name(), detail);
            findings.warn(fault.at(path.key("type"), ONE_GROUP));
        }
    }
}

fn never_progresses(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    if let Some((path, raw)) = &subject.body.config_rollout
        && let Some(rolling) = &raw.rolling
    {
        let given = |text: Option<&'_ str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        if let (Some(namespace), Some(name)) = (given(rolling.namespace), given(rolling.name)) {
            let at = path.key("rollingUpdateWithPlacement").key("name");
            findings_of_absence(subject, (&namespace, &name), (NEVER_PROGRESSES, at), findings);
        }
    }
    long_soak(subject, findings);
}

fn long_soak<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |_, _, (path, block)| {
        let Some(soak) = block.soak(path).ok().filter(|soak| soak.length() > LONGEST_SOAK) else {
            return;
        };
        let days = soak.length().as_secs() / (24 * 60 * 60);
        let text = block.min_success_time.and_then(|value| value.text("5m").ok());
        let detail = format!("the next cluster is updated after {days} days");
        let fault = Fault::of_text(Class::Invalid, text.unwrap_or_default(), detail);
        findings.warn(fault.at(path.key("minSuccessTime"), NEVER_PROGRESSES));
    });
}
