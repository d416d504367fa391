//! What a `ManifestWorkReplicaSet` needs: which works are to be made, changed and deleted, and what its status says. A
//! stand-in for the controller of Open Cluster Management, for the rollout type `All`. Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::wire::{
    Condition, ManifestWorkReplicaSet, Meta, PlacementSummary, ReplicaSetStatus, ReplicaSetSummary, Truth,
    label,
};

/// The generation of the set from which a work has been made; the hub adds defaults, so that specs cannot be compared.
const MADE_FROM: &str = "simulated-cluster/replica-set-generation";

/// A work that some set has made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Replica {
    pub(crate) meta: Meta,
    pub(crate) conditions: Vec<Condition>,
}

/// The clusters of each placement that exists.
pub(crate) type Chosen = BTreeMap<String, BTreeSet<String>>;

/// What a set needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Works to be made.
    pub(crate) create: Vec<Value>,
    /// Works to be made again, and what of them changes.
    pub(crate) change: Vec<(Meta, Value)>,
    /// Works to be deleted.
    pub(crate) delete: Vec<Meta>,
    pub(crate) status: ReplicaSetStatus,
}

/// Returns the name of a set as its works carry it.
pub(crate) fn owner(set: &Meta) -> String {
    format!("{}.{}", set.namespace, set.name)
}

/// Returns what a set needs, whose works are these.
pub(crate) fn plan(set: &ManifestWorkReplicaSet, chosen: &Chosen, works: &[Replica], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let played = set
        .spec
        .placement_refs
        .iter()
        .all(|placement| matches!(placement.rollout_strategy.kind.as_str(), "" | "All"));
    if !played {
        plan.status = ReplicaSetStatus {
            conditions: verified(
                set,
                "NotAsExpected",
                "only the rollout type All is simulated",
                now,
            ),
            ..set.status.clone()
        };
        return plan;
    }
    let mut wanted: BTreeSet<(&str, &str)> = BTreeSet::new();
    for placement in &set.spec.placement_refs {
        let clusters = chosen.get(&placement.name).into_iter().flatten();
        wanted.extend(clusters.map(|cluster| (placement.name.as_str(), cluster.as_str())));
    }
    let generation = set.meta.generation.to_string();
    let mut known = BTreeSet::new();
    for work in works.iter().filter(|work| !work.meta.terminating) {
        let placement = work.meta.labels.get(label::PLACEMENT_NAME).map(String::as_str);
        let place = (placement.unwrap_or_default(), work.meta.namespace.as_str());
        if !wanted.contains(&place) {
            plan.delete.push(work.meta.clone());
        } else if work.meta.annotations.get(MADE_FROM) == Some(&generation) {
            known.insert(place);
        } else {
            known.insert(place);
            let mut spec = json!({"deleteOption": null, "executor": null, "manifestConfigs": null});
            if let (Some(spec), Some(wanted)) =
                (spec.as_object_mut(), set.spec.manifest_work_template.as_object())
            {
                spec.extend(wanted.clone());
            }
            let change = json!({"metadata": {"annotations": {MADE_FROM: generation}}, "spec": spec});
            plan.change.push((work.meta.clone(), change));
        }
    }
    let missing = wanted.difference(&known);
    plan.create = missing
        .map(|(placement, cluster)| made(set, placement, cluster))
        .collect();
    plan.status = status(set, chosen, (works, wanted.len()), now);
    plan
}

fn made(set: &ManifestWorkReplicaSet, placement: &str, cluster: &str) -> Value {
    // Two placements may have the same cluster, and then it has two works.
    let number = set
        .spec
        .placement_refs
        .iter()
        .position(|known| known.name == placement);
    json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {
            "namespace": cluster,
            "name": format!("{}-{}", set.meta.name, number.unwrap_or_default()),
            "labels": {(label::REPLICA_SET): owner(&set.meta), (label::PLACEMENT_NAME): placement},
            "annotations": {MADE_FROM: set.meta.generation.to_string()},
        },
        "spec": set.spec.manifest_work_template,
    })
}

fn status(
    set: &ManifestWorkReplicaSet,
    chosen: &Chosen,
    (works, wanted): (&[Replica], usize),
    now: Timestamp,
) -> ReplicaSetStatus {
    let living = || works.iter().filter(|work| !work.meta.terminating);
    let is = |work: &Replica, kind: &str| {
        let mut conditions = work.conditions.iter();
        conditions.any(|condition| condition.kind == kind && condition.status == Truth::True)
    };
    let count = |kind: &str| living().filter(|work| is(work, kind)).count();
    let summary = ReplicaSetSummary {
        total: wanted,
        applied: count("Applied"),
        available: count("Available"),
        degraded: count("Degraded"),
        progressing: count("Progressing"),
    };
    let missing = set
        .spec
        .placement_refs
        .iter()
        .any(|placement| !chosen.contains_key(&placement.name));
    let reason = match (missing, wanted) {
        (true, _) => "PlacementDecisionNotFound",
        (false, 0) => "PlacementDecisionEmpty",
        (false, _) => "AsExpected",
    };
    let mut conditions = verified(set, reason, "", now);
    let done = summary.available == summary.total && summary.progressing == 0 && summary.degraded == 0;
    let rolled = if done {
        ("Complete", Truth::True)
    } else {
        ("Progressing", Truth::False)
    };
    let applied = match (wanted, done, summary.progressing > 0 && summary.degraded == 0) {
        (0, _, _) => ("PlacementDecisionEmpty", Truth::False),
        (_, true, _) => ("AsExpected", Truth::True),
        (_, false, true) => ("Processing", Truth::False),
        (_, false, false) => ("NotAsExpected", Truth::False),
    };
    for (kind, (reason, truth)) in [("PlacementRolledOut", rolled), ("ManifestworkApplied", applied)] {
        Condition::new(kind, truth, reason, "").merge_into(&mut conditions, now);
    }
    let of_placement = |name: &String| {
        let clusters = chosen.get(name).map(BTreeSet::len).unwrap_or_default();
        PlacementSummary {
            name: name.clone(),
            available_decision_groups: format!("1 ({clusters} / {clusters} clusters applied)"),
            summary: ReplicaSetSummary {
                total: clusters,
                ..ReplicaSetSummary::default()
            },
        }
    };
    let placements = set.spec.placement_refs.iter().map(|placement| &placement.name);
    ReplicaSetStatus {
        conditions,
        summary,
        placement_summary: placements.map(of_placement).collect(),
    }
}

fn verified(set: &ManifestWorkReplicaSet, reason: &str, message: &str, now: Timestamp) -> Vec<Condition> {
    let truth = if reason == "AsExpected" {
        Truth::True
    } else {
        Truth::False
    };
    let mut conditions = set.status.conditions.clone();
    Condition::new("PlacementVerified", truth, reason, message).merge_into(&mut conditions, now);
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{PlacementRef, ReplicaSetSpec, RolloutStrategy};

    fn set(kind: &str, placements: &[&str]) -> ManifestWorkReplicaSet {
        let placement = |name: &&str| PlacementRef {
            name: (*name).to_owned(),
            rollout_strategy: RolloutStrategy {
                kind: kind.to_owned(),
            },
        };
        ManifestWorkReplicaSet {
            meta: Meta {
                name: "backup".to_owned(),
                namespace: "ns".to_owned(),
                generation: 2,
                ..Meta::default()
            },
            spec: ReplicaSetSpec {
                manifest_work_template: json!({"workload": {"manifests": []}}),
                placement_refs: placements.iter().map(placement).collect(),
            },
            status: ReplicaSetStatus::default(),
        }
    }

    fn work(cluster: &str, placement: &str, generation: &str, conditions: &[&str]) -> Replica {
        let truth = |kind: &&str| Condition::new(kind, Truth::True, "", "");
        Replica {
            meta: Meta {
                namespace: cluster.to_owned(),
                labels: BTreeMap::from([(label::PLACEMENT_NAME.to_owned(), placement.to_owned())]),
                annotations: BTreeMap::from([(MADE_FROM.to_owned(), generation.to_owned())]),
                ..Meta::default()
            },
            conditions: conditions.iter().map(truth).collect(),
        }
    }

    fn chosen(rows: &[(&str, &[&str])]) -> Chosen {
        let clusters = |clusters: &[&str]| clusters.iter().map(|cluster| (*cluster).to_owned()).collect();
        rows.iter()
            .map(|(name, of)| ((*name).to_owned(), clusters(of)))
            .collect()
    }

    fn said(plan: &Plan) -> Vec<String> {
        let line =
            |condition: &Condition| format!("{}={:?} {}", condition.kind, condition.status, condition.reason);
        plan.status.conditions.iter().map(line).collect()
    }

    #[test]
    fn every_chosen_cluster_has_a_work_of_this_generation_and_no_other_has_one() {
        let works = [
            work("c1", "p", "2", &["Applied", "Available"]),
            work("c2", "p", "1", &["Applied", "Degraded"]),
            work("c3", "p", "2", &[]),
            work("c4", "gone", "2", &[]),
        ];
        let plan = plan(
            &set("All", &["p"]),
            &chosen(&[("p", &["c1", "c2", "c5"])]),
            &works,
            Timestamp::UNIX_EPOCH,
        );
        let created: Vec<_> = plan
            .create
            .iter()
            .map(|work| work["metadata"]["namespace"].clone())
            .collect();
        assert_eq!(created, ["c5"]);
        assert_eq!(
            plan.create[0]["metadata"]["labels"][label::REPLICA_SET],
            "ns.backup"
        );
        let names = |metas: Vec<&Meta>| {
            metas
                .iter()
                .map(|meta| meta.namespace.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(plan.change.iter().map(|(meta, _)| meta).collect()), ["c2"]);
        assert_eq!(names(plan.delete.iter().collect()), ["c3", "c4"]);
        let summary = plan.status.summary;
        assert_eq!(
            (
                summary.total,
                summary.applied,
                summary.available,
                summary.degraded
            ),
            (3, 2, 1, 1)
        );
    }

    #[test]
    fn the_conditions_say_how_far_it_is() {
        let all = set("", &["p"]);
        let at = Timestamp::UNIX_EPOCH;
        let none = plan(&all, &chosen(&[("p", &[])]), &[], at);
        assert_eq!(
            said(&none),
            [
                "PlacementVerified=False PlacementDecisionEmpty",
                "PlacementRolledOut=True Complete",
                "ManifestworkApplied=False PlacementDecisionEmpty"
            ]
        );
        let lost = plan(&all, &Chosen::new(), &[], at);
        assert_eq!(
            said(&lost)[0],
            "PlacementVerified=False PlacementDecisionNotFound"
        );
        let works = [work("c1", "p", "2", &["Applied", "Available"])];
        let done = plan(&all, &chosen(&[("p", &["c1"])]), &works, at);
        assert_eq!(said(&done)[2], "ManifestworkApplied=True AsExpected");
        let degraded = [work("c1", "p", "2", &["Applied", "Available", "Degraded"])];
        let degraded = plan(&all, &chosen(&[("p", &["c1"])]), &degraded, at);
        assert_eq!(said(&degraded)[2], "ManifestworkApplied=False NotAsExpected");
    }

    #[test]
    fn another_rollout_type_is_said_to_be_none_of_ours() {
        let plan = plan(
            &set("Progressive", &["p"]),
            &chosen(&[("p", &["c1"])]),
            &[],
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(
            (plan.create.len(), said(&plan)),
            (0, vec!["PlacementVerified=False NotAsExpected".to_owned()])
        );
    }
}
