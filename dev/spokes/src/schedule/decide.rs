//! The schedule of one Placement: who was chosen, in which groups, and what its status says.

use std::{collections::BTreeSet, iter};

use k8s_openapi::jiff::Timestamp;

use super::{
    Scene,
    groups::{self, Group},
    pick::{self, Picked},
    sets,
};
use crate::wire::{Condition, DecisionGroupStatus, Placement, PlacementStatus, Truth};

/// What one `PlacementDecision` holds at most.
const DECISIONS_PER_OBJECT: usize = 100;

/// What a Placement gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The groups, by index; never none.
    pub groups: Vec<Group>,
    /// Whether it got what it asked for.
    pub satisfied: Condition,
    /// Whether it makes no sense.
    pub misconfigured: Condition,
    /// When to look again, because a toleration ends.
    pub recheck_at: Option<Timestamp>,
}

/// A `PlacementDecision` as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionObject {
    /// Its name.
    pub name: String,
    /// The place of its group.
    pub group_index: usize,
    /// The name of its group.
    pub group_name: String,
    /// Its clusters, at most a hundred.
    pub clusters: Vec<String>,
}

/// Returns what this Placement gets.
pub fn schedule(placement: &Placement, scene: &Scene<'_>) -> Schedule {
    let sets = match sets::eligible(placement, scene) {
        Ok(sets) => sets,
        Err((reason, message)) => return Schedule::nothing(unsatisfied(reason, message)),
    };
    let members = sets::members(&sets, scene.clusters);
    if members.is_empty() {
        let names: Vec<_> = sets.iter().map(|set| set.meta.name.as_str()).collect();
        let message = format!(
            "All ManagedClusterSets [{}] have no member ManagedCluster",
            names.join(",")
        );
        return Schedule::nothing(unsatisfied("AllManagedClusterSetsEmpty", message));
    }
    let strategy = &placement.spec.decision_strategy.group_strategy;
    let outcome = pick::pick(placement, members, scene)
        .and_then(|picked| groups::divide(strategy, &picked.clusters).map(|groups| (picked, groups)));
    match outcome {
        Ok((picked, groups)) => Schedule {
            groups,
            satisfied: satisfaction(&picked),
            misconfigured: configured(),
            recheck_at: picked.recheck_at,
        },
        Err(fault) => Schedule {
            misconfigured: Condition::new("PlacementMisconfigured", Truth::True, "Misconfigured", fault),
            ..Schedule::nothing(no_cluster_matches())
        },
    }
}

impl Schedule {
    /// Returns how many clusters were chosen.
    pub fn selected(&self) -> usize {
        self.groups.iter().map(|group| group.clusters.len()).sum()
    }

    /// Returns the chosen clusters.
    pub fn clusters(&self) -> BTreeSet<String> {
        self.groups
            .iter()
            .flat_map(|group| group.clusters.iter().cloned())
            .collect()
    }

    /// Returns the `PlacementDecisions` that write this schedule down; an empty group gets an empty one.
    pub fn objects(&self, placement: &str) -> Vec<DecisionObject> {
        let parts = self.groups.iter().enumerate().flat_map(|(index, group)| {
            let empty = group.clusters.is_empty().then(Vec::new);
            let full = group
                .clusters
                .chunks(DECISIONS_PER_OBJECT)
                .map(<[String]>::to_vec);
            full.chain(empty).zip(iter::repeat((index, group.name.clone())))
        });
        parts
            .zip(1..)
            .map(|((clusters, (group_index, group_name)), number)| DecisionObject {
                name: format!("{placement}-decision-{number}"),
                group_index,
                group_name,
                clusters,
            })
            .collect()
    }

    /// Returns the status of the Placement, given the one it has.
    pub fn status(&self, placement: &str, old: &PlacementStatus, now: Timestamp) -> PlacementStatus {
        let objects = self.objects(placement);
        let groups = self
            .groups
            .iter()
            .enumerate()
            .map(|(index, group)| DecisionGroupStatus {
                decision_group_index: count(index),
                decision_group_name: group.name.clone(),
                decisions: objects
                    .iter()
                    .filter(|object| object.group_index == index)
                    .map(|object| object.name.clone())
                    .collect(),
                cluster_count: count(group.clusters.len()),
            });
        let mut conditions = old.conditions.clone();
        self.misconfigured.clone().merge_into(&mut conditions, now);
        self.satisfied.clone().merge_into(&mut conditions, now);
        PlacementStatus {
            number_of_selected_clusters: count(self.selected()),
            decision_groups: groups.collect(),
            conditions,
        }
    }

    fn nothing(satisfied: Condition) -> Self {
        Self {
            groups: vec![Group::default()],
            satisfied,
            misconfigured: configured(),
            recheck_at: None,
        }
    }
}

/// Returns the conditions with this one in its place.
pub(crate) fn set_condition(old: &[Condition], condition: Condition, now: Timestamp) -> Vec<Condition> {
    let mut conditions = old.to_vec();
    condition.merge_into(&mut conditions, now);
    conditions
}

fn satisfaction(picked: &Picked<'_>) -> Condition {
    if picked.clusters.is_empty() {
        return no_cluster_matches();
    }
    match picked.missing {
        0 => Condition::new(
            "PlacementSatisfied",
            Truth::True,
            "AllDecisionsScheduled",
            "All cluster decisions scheduled",
        ),
        missing => unsatisfied(
            "NotAllDecisionsScheduled",
            format!("{missing} cluster decisions unscheduled"),
        ),
    }
}

fn no_cluster_matches() -> Condition {
    unsatisfied(
        "NoManagedClusterMatched",
        "No ManagedCluster matches any of the cluster predicate".to_owned(),
    )
}

fn unsatisfied(reason: &str, message: String) -> Condition {
    Condition::new("PlacementSatisfied", Truth::False, reason, message)
}

fn configured() -> Condition {
    let message = "Placement configurations check pass";
    Condition::new(
        "PlacementMisconfigured",
        Truth::False,
        "Succeedconfigured",
        message,
    )
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
