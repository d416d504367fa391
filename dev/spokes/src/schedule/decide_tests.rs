//! Rows for the scheduler: what is asked for, what is chosen, what the status says.

use super::*;
use crate::{
    schedule::Cluster,
    wire::{ManagedClusterSet, ManagedClusterSetBinding, Meta, PlacementSpec, Record},
};
use serde_json::{Value, json};

struct World {
    clusters: Vec<Cluster>,
    sets: Vec<ManagedClusterSet>,
    bindings: Vec<ManagedClusterSetBinding>,
    chosen: BTreeSet<String>,
    now: Timestamp,
}

impl World {
    /// Nine clusters `a1 … a9` in the set `default`; `env` is dev, stage, prod in turn. `global` is bound in `ns`.
    fn nine() -> Self {
        let clusters = (1..=9).map(|number: usize| {
            let env = ["dev", "stage", "prod"][(number - 1) % 3].to_owned();
            let labels = [
                ("env", env),
                (
                    "cluster.open-cluster-management.io/clusterset",
                    "default".to_owned(),
                ),
            ];
            Cluster {
                name: format!("a{number}"),
                labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
                claims: [(
                    "size".to_owned(),
                    if number > 6 { "big" } else { "small" }.to_owned(),
                )]
                .into(),
                ..Cluster::default()
            }
        });
        let mut world = Self {
            clusters: clusters.collect(),
            sets: Vec::new(),
            bindings: Vec::new(),
            chosen: BTreeSet::new(),
            now: Timestamp::UNIX_EPOCH,
        };
        world.set("default", json!({}));
        world.set(
            "global",
            json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}),
        );
        world.bind("ns", "global");
        world
    }

    fn set(&mut self, name: &str, spec: Value) {
        self.sets.push(Record {
            meta: named("", name),
            spec: wire(spec),
            ..Record::default()
        });
    }

    fn bind(&mut self, namespace: &str, set: &str) {
        let spec = wire(json!({"clusterSet": set}));
        self.bindings.push(Record {
            meta: named(namespace, set),
            spec,
            ..Record::default()
        });
    }

    fn taint(&mut self, cluster: &str, taint: Value) {
        let found = self
            .clusters
            .iter_mut()
            .find(|known| known.name == cluster)
            .expect("a known cluster");
        found.taints.push(wire(taint));
    }

    fn schedule(&self, spec: Value) -> Schedule {
        let spec: PlacementSpec = wire(spec);
        let placement = Record {
            meta: named("ns", "p"),
            spec,
            ..Record::default()
        };
        let scene = Scene {
            clusters: &self.clusters,
            sets: &self.sets,
            bindings: &self.bindings,
            chosen: &self.chosen,
            now: self.now,
        };
        schedule(&placement, &scene)
    }

    /// Groups as text: `name:a1,a2 | :a3`.
    fn groups(&self, spec: Value) -> String {
        let groups = self.schedule(spec).groups;
        let texts: Vec<_> = groups
            .iter()
            .map(|group| format!("{}:{}", group.name, group.clusters.join(",")))
            .collect();
        texts.join(" | ")
    }

    fn verdict(&self, spec: Value) -> String {
        let Schedule {
            satisfied,
            misconfigured,
            ..
        } = self.schedule(spec);
        let said = |condition: &Condition| {
            format!(
                "{:?}/{}/{}",
                condition.status, condition.reason, condition.message
            )
        };
        match misconfigured.status {
            Truth::False => said(&satisfied),
            Truth::True | Truth::Unknown => format!("{} + {}", said(&satisfied), said(&misconfigured)),
        }
    }
}

fn named(namespace: &str, name: &str) -> Meta {
    Meta {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        ..Meta::default()
    }
}

fn wire<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a value in wire form")
}

fn env(values: &[&str]) -> Value {
    json!({"labelSelector": {"matchExpressions": [{"key": "env", "operator": "In", "values": values}]}})
}

fn big() -> Value {
    json!({"claimSelector": {"matchExpressions": [{"key": "size", "operator": "In", "values": ["big"]}]}})
}

fn predicates(selectors: &[Value]) -> Value {
    let written: Vec<_> = selectors
        .iter()
        .map(|selector| json!({"requiredClusterSelector": selector}))
        .collect();
    json!({"predicates": written})
}

#[expect(clippy::needless_pass_by_value, reason = "rows read better without borrows")]
fn grouped(strategy: Value) -> Value {
    json!({"decisionStrategy": {"groupStrategy": strategy}})
}

#[test]
fn predicates_are_alternatives_of_labels_and_claims() {
    let world = World::nine();
    assert_eq!(world.groups(json!({})), ":a1,a2,a3,a4,a5,a6,a7,a8,a9");
    assert_eq!(world.groups(predicates(&[env(&["prod"])])), ":a3,a6,a9");
    assert_eq!(
        world.groups(predicates(&[env(&["prod"]), big()])),
        ":a3,a6,a7,a8,a9"
    );
    let both =
        json!({"labelSelector": env(&["dev"])["labelSelector"], "claimSelector": big()["claimSelector"]});
    assert_eq!(world.groups(predicates(&[both])), ":a7");
    assert_eq!(world.groups(predicates(&[env(&["moon"])])), ":");
}

#[test]
fn only_sets_bound_to_the_namespace_count() {
    let mut world = World::nine();
    world.set("even", json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"env": "stage"}}}}));
    world.set(
        "nothing",
        json!({"clusterSelector": {"selectorType": "LabelSelector"}}),
    );
    world.bind("elsewhere", "even");
    assert_eq!(
        world.verdict(json!({"clusterSets": ["even", "far"]})),
        "False/NoIntersection/None of ManagedClusterSets [even,far] is bound to placement namespace"
    );
    world.bind("ns", "even");
    world.bind("ns", "nothing");
    world.bind("ns", "gone");
    assert_eq!(world.groups(json!({"clusterSets": ["even"]})), ":a2,a5,a8");
    assert_eq!(
        world.groups(json!({"clusterSets": ["even", "global"]})),
        ":a1,a2,a3,a4,a5,a6,a7,a8,a9",
        "each cluster once"
    );
    assert_eq!(
        world.verdict(json!({"clusterSets": ["nothing"]})),
        "False/AllManagedClusterSetsEmpty/All ManagedClusterSets [nothing] have no member ManagedCluster"
    );
    world.bindings.retain(|binding| binding.meta.name == "gone");
    assert_eq!(
        world.verdict(json!({})),
        "False/NoManagedClusterSetBindings/No valid ManagedClusterSetBindings found in placement namespace"
    );
}

#[test]
fn exclusive_sets_go_by_their_label() {
    let mut world = World::nine();
    world.bindings.clear();
    world.bind("ns", "default");
    world.clusters[0].labels.insert(
        "cluster.open-cluster-management.io/clusterset".to_owned(),
        "other".to_owned(),
    );
    world.clusters[1].labels.clear();
    assert_eq!(world.groups(json!({})), ":a3,a4,a5,a6,a7,a8,a9");
}

#[test]
fn terminating_clusters_are_left_out() {
    let mut world = World::nine();
    world.clusters[2].terminating = true;
    world.chosen.insert("a3".to_owned());
    assert_eq!(world.groups(predicates(&[env(&["prod"])])), ":a6,a9");
}

#[test]
fn a_number_keeps_who_was_chosen_before() {
    let mut world = World::nine();
    assert_eq!(world.groups(json!({"numberOfClusters": 2})), ":a1,a2");
    world.chosen.extend(["a8".to_owned(), "a5".to_owned()]);
    assert_eq!(world.groups(json!({"numberOfClusters": 3})), ":a1,a5,a8");
    assert_eq!(world.groups(json!({"numberOfClusters": 0})), ":");
    assert_eq!(
        world.verdict(json!({"numberOfClusters": 3})),
        "True/AllDecisionsScheduled/All cluster decisions scheduled"
    );
    assert_eq!(
        world.verdict(json!({"numberOfClusters": 12})),
        "False/NotAllDecisionsScheduled/3 cluster decisions unscheduled"
    );
}

#[test]
fn taints_keep_away_unless_tolerated() {
    let mut world = World::nine();
    let tolerating = |toleration: Value| json!({"tolerations": [toleration], "predicates": predicates(&[env(&["prod"])])["predicates"]});
    world.taint("a3", json!({"key": "gpu", "value": "yes", "effect": "NoSelect"}));
    world.taint("a6", json!({"key": "busy", "effect": "PreferNoSelect"}));
    world.taint("a9", json!({"key": "full", "effect": "NoSelectIfNew"}));
    assert_eq!(world.groups(predicates(&[env(&["prod"])])), ":a6");
    assert_eq!(
        world.groups(tolerating(
            json!({"key": "gpu", "operator": "Equal", "value": "yes"})
        )),
        ":a3,a6"
    );
    assert_eq!(
        world.groups(tolerating(json!({"key": "gpu", "value": "no"}))),
        ":a6"
    );
    assert_eq!(
        world.groups(tolerating(json!({"operator": "Exists"}))),
        ":a3,a6,a9"
    );
    assert_eq!(
        world.groups(tolerating(json!({"operator": "Exists", "effect": "NoSelect"}))),
        ":a3,a6"
    );
    world.chosen.insert("a9".to_owned());
    assert_eq!(world.groups(predicates(&[env(&["prod"])])), ":a6,a9", "not new");
    assert_eq!(
        world.verdict(tolerating(json!({"value": "yes"}))),
        "False/NoManagedClusterMatched/No ManagedCluster matches any of the cluster predicate + \
         True/Misconfigured/TaintToleration:If the key is empty, operator must be Exists."
    );
}

#[test]
fn a_toleration_in_seconds_ends() {
    let mut world = World::nine();
    world.taint(
        "a3",
        json!({"key": "gpu", "effect": "NoSelect", "timeAdded": "1970-01-01T00:01:00Z"}),
    );
    let spec = json!({"tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}]});
    let end = Timestamp::from_second(120).expect("two minutes");
    assert_eq!(world.schedule(spec.clone()).recheck_at, Some(end));
    assert_eq!(world.schedule(spec.clone()).selected(), 9);
    world.now = end;
    assert_eq!(
        (
            world.schedule(spec.clone()).selected(),
            world.schedule(spec).recheck_at
        ),
        (8, None)
    );
}

#[test]
fn groups_by_label_come_before_the_rest() {
    let world = World::nine();
    let by_label = json!([
        {"groupName": "canary", "groupClusterSelector": env(&["dev"])},
        {"groupName": "empty", "groupClusterSelector": env(&["moon"])},
        {"groupName": "large", "groupClusterSelector": big()},
    ]);
    assert_eq!(
        world.groups(grouped(json!({"decisionGroups": by_label}))),
        "canary:a1,a4,a7 | large:a8,a9 | :a2,a3,a5,a6"
    );
    assert_eq!(
        world.groups(grouped(
            json!({"clustersPerDecisionGroup": 2, "decisionGroups": by_label})
        )),
        "canary:a1,a4 | canary:a7 | large:a8,a9 | :a2,a3 | :a5,a6"
    );
}

#[test]
fn groups_have_the_length_asked_for() {
    let world = World::nine();
    let groups = |length: Value| world.groups(grouped(json!({"clustersPerDecisionGroup": length})));
    assert_eq!(groups(json!(4)), ":a1,a2,a3,a4 | :a5,a6,a7,a8 | :a9");
    assert_eq!(
        groups(json!("34%")),
        ":a1,a2,a3,a4 | :a5,a6,a7,a8 | :a9",
        "percentages round up"
    );
    assert_eq!(groups(json!("100%")), ":a1,a2,a3,a4,a5,a6,a7,a8,a9");
    assert_eq!(groups(json!(100)), ":a1,a2,a3,a4,a5,a6,a7,a8,a9");
    assert_eq!(groups(json!(0)), ":a1,a2,a3,a4,a5,a6,a7,a8,a9");
}

#[test]
fn what_cannot_be_read_selects_nothing_and_says_so() {
    let world = World::nine();
    let unmatched = "False/NoManagedClusterMatched/No ManagedCluster matches any of the cluster predicate";
    let cel = json!({"celSelector": {"celExpressions": ["true"]}});
    for (spec, fault) in [
        (
            predicates(&[env(&[])]),
            "Predicate:\"env\": operator \"In\" needs at least one value",
        ),
        (
            predicates(&[cel]),
            "Predicate:celSelector is not evaluated by simulated clusters",
        ),
        (
            grouped(json!({"clustersPerDecisionGroup": "few"})),
            "few invalid type: string is not a percentage",
        ),
    ] {
        assert_eq!(
            world.verdict(spec.clone()),
            format!("{unmatched} + True/Misconfigured/{fault}")
        );
        assert_eq!(world.groups(spec), ":");
    }
}

#[test]
fn a_decision_object_holds_a_hundred_clusters() {
    let names = |from: usize, to: usize| {
        (from..to)
            .map(|number| format!("c{number:03}"))
            .collect::<Vec<_>>()
    };
    let groups = vec![
        Group {
            name: "canary".to_owned(),
            clusters: names(0, 2),
        },
        Group {
            name: String::new(),
            clusters: names(2, 252),
        },
    ];
    let schedule = Schedule {
        groups,
        ..World::nine().schedule(json!({}))
    };
    let objects: Vec<_> = schedule
        .objects("p")
        .into_iter()
        .map(|o| (o.name, o.group_index, o.group_name, o.clusters.len()))
        .collect();
    let row = |number: usize, index, name: &str, length| {
        (format!("p-decision-{number}"), index, name.to_owned(), length)
    };
    assert_eq!(
        objects,
        vec![
            row(1, 0, "canary", 2),
            row(2, 1, "", 100),
            row(3, 1, "", 100),
            row(4, 1, "", 50)
        ]
    );

    let status = schedule.status("p", &PlacementStatus::default(), Timestamp::UNIX_EPOCH);
    assert_eq!(status.number_of_selected_clusters, 252);
    assert_eq!(
        status.decision_groups[1].decisions,
        ["p-decision-2", "p-decision-3", "p-decision-4"]
    );
    assert_eq!(status.decision_groups[1].cluster_count, 250);
    assert_eq!(
        schedule.status("p", &status, Timestamp::MAX),
        status,
        "the same schedule changes nothing, times included"
    );
}

#[test]
fn a_placement_without_clusters_is_one_empty_decision() {
    let objects = World::nine().schedule(predicates(&[env(&["moon"])])).objects("p");
    let wanted = DecisionObject {
        name: "p-decision-1".to_owned(),
        group_index: 0,
        group_name: String::new(),
        clusters: vec![],
    };
    assert_eq!(objects, vec![wanted]);
}
