//! The rows of cluster upgrades: two clusters, of which the first may be the canary.

use kubernetes::field::Listing;
use std::collections::BTreeSet;

use insight::cockpit::{Phase, Picture, Target, status, upgrade};
use insight::why::{upgrade_text, why_upgrade};
use jiff::SignedDuration;
use plan::upgrade::{Finalizer, Write};
use serde_json::{Value, json};
use store::{Kind, ObjectKey, Owner, Settings};

use super::{Row, conditions, fleet, hub, tools};
use crate::kit::world::World;

const NEW: &str = "4.12.0";
const UPGRADE: &str = "to-4-12";

/// What becomes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is upgraded.
    Done,
    /// It is upgrading, and reports nothing else.
    Moving,
    /// Its ClusterVersion is failing.
    Failing,
    /// It does not accept the release.
    NotAccepted,
    /// Its agent cannot apply the action before the upgrade.
    PreNotApplied,
    /// Neither a label nor a claim has its id.
    NoId,
    /// It runs a later version.
    Newer,
    /// It is not reachable.
    Offline,
}

const FATES: [Fate; 8] = [
    Fate::Done,
    Fate::Moving,
    Fate::Failing,
    Fate::NotAccepted,
    Fate::PreNotApplied,
    Fate::NoId,
    Fate::Newer,
    Fate::Offline,
];

#[expect(clippy::struct_excessive_bools, reason = "each fact is drawn for itself")]
#[derive(Clone, Copy, Debug)]
struct Facts {
    clusters: [Fate; 2],
    has_canary: bool,
    is_suspended: bool,
    /// Whether the placement is deleted at the end.
    is_placement_deleted: bool,
    /// Whether a cluster that was upgraded is offline at the end.
    goes_offline: bool,
    grace_is_over: bool,
}

/// Every combination.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for first in FATES {
        for second in FATES {
            for has_canary in [false, true] {
                for [is_suspended, is_placement_deleted, goes_offline, grace_is_over] in switches() {
                    let facts = Facts {
                        clusters: [first, second],
                        has_canary,
                        is_suspended,
                        is_placement_deleted,
                        goes_offline,
                        grace_is_over,
                    };
                    rows.push(row(facts));
                }
            }
        }
    }
    rows
}

/// Suspended, without a placement, offline afterwards, after the grace.
fn switches() -> [[bool; 4]; 6] {
    [
        [false, false, false, false],
        [true, false, false, false],
        [false, true, false, false],
        [false, true, false, true],
        [true, true, false, true],
        [false, false, true, false],
    ]
}

fn cluster_name(at: usize) -> String {
    format!("c{}", at + 1)
}

fn put_cluster(world: &mut World, at: usize, fate: Fate) {
    let name = cluster_name(at);
    let version = if fate == Fate::Newer { "4.13.1" } else { "4.11.9" };
    let mut labels = json!({"openshiftVersion": version});
    if fate != Fate::NoId {
        labels["clusterID"] = json!(format!("id-{name}"));
    }
    world.put(
        Kind::Cluster,
        json!({"metadata": {"name": name, "labels": labels}, "spec": {"hubAcceptsClient": true}}),
    );
    set_available(world, at, fate != Fate::Offline);
}

fn set_available(world: &mut World, at: usize, available: bool) {
    let key = ObjectKey::new(Kind::Cluster, "", cluster_name(at));
    let status = if available { "True" } else { "Unknown" };
    let condition = json!({"type": "ManagedClusterConditionAvailable", "status": status, "reason": "Stated",
        "message": "", "lastTransitionTime": world.now.to_string()});
    world.put_status(&key, &json!({"conditions": [condition]}));
}

fn put_upgrade(world: &mut World, facts: Facts) -> ObjectKey {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "backup", "namespace": "default"},
        "spec": {}});
    let mut strategy = json!({"maxConcurrency": 2});
    if facts.has_canary {
        strategy["canaryClusters"] = json!({"clusterSelector": {"matchExpressions": [
            {"key": "name", "operator": "In", "values": ["c1"]}]}});
    }
    world.put(
        Kind::Upgrade,
        json!({"metadata": {"name": UPGRADE, "namespace": "default",
                "finalizers": ["cluster.open-cluster-management.io/mcu-works"]},
            "spec": {"placement": [{"namespace": "default", "name": "all"}], "clusterVersion": {"version": NEW},
                "suspend": facts.is_suspended, "upgradeStrategy": strategy,
                "preUpgradeAction": {"manifestWork": {"workload": {"manifests": [job]}}}}}),
    )
}

/// Plans and writes until nothing is left; every plan keeps the rules of upgrades.
fn settle(world: &mut World, key: &ObjectKey) {
    let owner = Owner {
        kind: Kind::Upgrade,
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    };
    for round in 0.. {
        assert!(round < 12, "plans do not come to an end");
        let view = world.store.upgrade_view(&owner).expect("an upgrade");
        let plan = plan::upgrade::plan(&view, world.now);
        assert_eq!(
            oracle::upgrade::check(&view, &plan, world.now),
            Vec::<String>::new()
        );
        assert_ne!(plan.finalizer, Some(Finalizer::Add), "it has one");
        if plan.writes.is_empty() && plan.status.is_none() {
            return;
        }
        for write in &plan.writes {
            let (cluster, name) = write.place();
            let work = ObjectKey::new(Kind::UpgradeWork, cluster.clone(), name);
            match write {
                Write::Create { body, .. } => drop(world.put(Kind::UpgradeWork, body.clone())),
                Write::Update { patch, .. } => {
                    let mut object = world.objects[&work].clone();
                    json_patch::merge(&mut object, patch);
                    world.put(Kind::UpgradeWork, object);
                }
                Write::Delete { .. } => world.delete(&work),
            }
        }
        if let Some(status) = &plan.status {
            let mut status = serde_json::to_value(status).expect("plain data");
            // A status is replaced as a whole: missing fields are removed.
            let old = world.objects[key].get("status").cloned().unwrap_or_default();
            let past = old
                .as_object()
                .into_iter()
                .flatten()
                .map(|(field, _)| field.clone());
            let new: BTreeSet<String> = status
                .as_object()
                .into_iter()
                .flatten()
                .map(|(field, _)| field.clone())
                .collect();
            for field in past.filter(|field| !new.contains(field)) {
                status[field] = Value::Null;
            }
            world.put_status(key, &status);
        }
    }
}

/// Lets every agent report on the works of its cluster.
fn report(world: &mut World, clusters: [Fate; 2]) {
    let works: Vec<ObjectKey> = world
        .objects
        .keys()
        .filter(|key| key.kind == Kind::UpgradeWork)
        .cloned()
        .collect();
    for key in works {
        let at = usize::from(*key.namespace == *"c2");
        let stage = world.objects[&key]["metadata"]["labels"][store::upgrade::marks::STAGE].clone();
        let status = match (stage.as_str(), clusters[at]) {
            (Some("pre"), Fate::PreNotApplied) => not_applied(world, &key),
            (Some("pre"), _) => applied(world, &key, &[&[("jobComplete", "True")]]),
            (Some("platform"), fate) => {
                let feedback = platform(fate);
                applied(world, &key, &[&feedback, &[]])
            }
            _ => applied(world, &key, &[]),
        };
        world.put_status(&key, &status);
    }
}

fn platform(fate: Fate) -> Vec<(&'static str, &'static str)> {
    match fate {
        Fate::Done => vec![("version", NEW), ("state", "Completed")],
        Fate::Failing => vec![
            ("version", NEW),
            ("state", "Partial"),
            ("failing", "True"),
            ("failingMessage", "etcd quorum lost"),
        ],
        Fate::NotAccepted => vec![
            ("version", "4.11.9"),
            ("state", "Completed"),
            ("releaseAccepted", "False"),
            ("releaseMessage", "operator foo blocks"),
        ],
        Fate::Moving | Fate::PreNotApplied | Fate::NoId | Fate::Newer | Fate::Offline => {
            vec![("version", NEW), ("state", "Partial")]
        }
    }
}

fn condition(world: &World, key: &ObjectKey, (kind, status): (&str, bool), message: &str) -> Value {
    json!({"type": kind, "status": if status { "True" } else { "False" }, "reason": "Reported", "message": message,
        "observedGeneration": world.objects[key]["metadata"]["generation"], "lastTransitionTime": world.now.to_string()})
}

fn not_applied(world: &World, key: &ObjectKey) -> Value {
    json!({"conditions": [condition(world, key, ("Applied", false), "quota exceeded")]})
}

fn applied(world: &World, key: &ObjectKey, feedback: &[&[(&str, &str)]]) -> Value {
    let manifests = world.objects[key]["spec"]["workload"]["manifests"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let told = manifests.iter().enumerate().map(|(at, manifest)| {
        let own = feedback.get(at).copied().unwrap_or_default();
        let values: Vec<Value> = own
            .iter()
            .map(|(name, value)| json!({"name": name, "fieldValue": {"type": "String", "string": value}}))
            .collect();
        let (group, version) = manifest["apiVersion"]
            .as_str()
            .and_then(|version| version.split_once('/'))
            .unwrap_or(("", "v1"));
        json!({"resourceMeta": {"ordinal": at, "group": group, "version": version, "kind": manifest["kind"],
                "name": manifest["metadata"]["name"]},
            "conditions": [condition(world, key, ("Available", true), "there")],
            "statusFeedback": {"values": values}})
    });
    let told: Vec<Value> = told.collect();
    json!({"conditions": [condition(world, key, ("Applied", true), "")], "resourceStatus": {"manifests": told}})
}

fn made(facts: Facts) -> (World, ObjectKey) {
    let mut world = World::new(Settings::default());
    // The upgrade is there before the clusters are: its view keeps them from then on.
    let key = put_upgrade(&mut world, facts);
    for (at, fate) in facts.clusters.into_iter().enumerate() {
        put_cluster(&mut world, at, fate);
    }
    world.decide("all", &["c1".to_owned(), "c2".to_owned()]);
    // Queued, the action before, the upgrade, the end; with a canary twice.
    for _ in 0..6 {
        settle(&mut world, &key);
        report(&mut world, facts.clusters);
        world.tick(SignedDuration::from_secs(1));
    }
    settle(&mut world, &key);
    if facts.is_placement_deleted {
        world.delete(&ObjectKey::new(Kind::Placement, "default", "all"));
        world.delete(&ObjectKey::new(Kind::Decision, "default", "all-decision-1"));
    }
    if facts.goes_offline {
        for (at, fate) in facts.clusters.into_iter().enumerate() {
            if fate == Fate::Done {
                set_available(&mut world, at, false);
            }
        }
    }
    settle(&mut world, &key);
    if facts.grace_is_over {
        world.tick(SignedDuration::from_secs(11));
        settle(&mut world, &key);
    }
    (world, key)
}

fn row(facts: Facts) -> Row {
    let (world, key) = made(facts);
    let object = &world.objects[&key];
    let target = Target::upgrade("default", UPGRADE);
    let picture = upgrade(&world.store, &target, world.now).expect("a picture");
    let answer = why_upgrade(
        &hub(&world),
        Settings::default(),
        "default/to-4-12",
        None,
        world.now,
    )
    .expect("an answer");
    let mut wrong = Vec::new();
    wrong.extend(held(facts, object));
    wrong.extend(reads_well(object));
    wrong.extend(shows_the_cause(facts, &world, &picture));
    let is_there = |at: usize| facts.clusters[at] == Fate::Offline;
    let offline =
        [0, 1].into_iter().any(is_there) || (facts.goes_offline && facts.clusters.contains(&Fate::Done));
    Row {
        facts: format!(
            "c1 {:?}, c2 {:?}{}{}{}{}{}",
            facts.clusters[0],
            facts.clusters[1],
            word(facts.has_canary, ", c1 goes first"),
            word(facts.is_suspended, ", suspended"),
            word(facts.is_placement_deleted, ", placement deleted"),
            word(facts.goes_offline, ", offline afterwards"),
            word(facts.grace_is_over, ", 11 s later"),
        ),
        placement_missing: facts.is_placement_deleted,
        // A cluster that was never selected for long is not in the picture.
        offline: offline && picture.clusters.iter().any(|one| one.offline),
        unwell: facts
            .clusters
            .iter()
            .any(|fate| !matches!(fate, Fate::Done | Fate::Moving))
            && !picture.clusters.is_empty()
            && picture.phase != Phase::Done,
        wrong,
        tools: tools(&picture, object, fleet(&world), answer.is_well()),
        conditions: conditions(object),
    }
}

fn word(holds: bool, text: &str) -> &str {
    if holds { text } else { "" }
}

fn stated<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let all = object["status"]["conditions"].as_array().expect("conditions");
    all.iter().find(|one| one["type"] == kind).unwrap_or(&Value::Null)
}

/// Where no cluster can start before an administrator acts, the upgrade is stalled, with the reason.
fn held(facts: Facts, object: &Value) -> Option<String> {
    let is_held = |fate: Fate| matches!(fate, Fate::NoId | Fate::Newer);
    let [first, second] = facts.clusters;
    let are_held = if facts.has_canary {
        is_held(first)
    } else {
        is_held(first) && (is_held(second) || second == Fate::Done) || is_held(second) && first == Fate::Done
    };
    // Behind a canary that is held the other cluster waits, or is held for what ends by itself.
    let is_free = facts.has_canary && (second == Fate::Offline || facts.goes_offline);
    if !are_held || is_free || facts.is_suspended || facts.is_placement_deleted {
        return None;
    }
    let stalled = stated(object, "Stalled");
    let reason = stalled["reason"].as_str().unwrap_or_default();
    let is_named = ["ClusterIDUnknown", "PrecheckFailed", "ClustersHeld"].contains(&reason);
    let is_right = stalled["status"] == "True"
        && is_named
        && stated(object, "Ready")["reason"] == stalled["reason"]
        && object["status"]["phase"] == "Halted";
    (!is_right).then(|| format!("every cluster is held: {stalled}"))
}

/// A condition that is False does not read as if it were True.
fn reads_well(object: &Value) -> Vec<String> {
    let good = [
        "ManagedClusters upgrade select",
        "ManagedClusters upgrade applied",
        "ManagedClusters upgrade InProgress",
        "ManagedClusters upgrade Complete",
    ];
    let all = object["status"]["conditions"].as_array().expect("conditions");
    let reads_as_true = |one: &&Value| {
        let message = one["message"].as_str().unwrap_or_default();
        one["status"] == "False" && good.iter().any(|good| message.starts_with(good))
    };
    all.iter()
        .filter(reads_as_true)
        .map(|one| format!("reads as if it were True: {one}"))
        .collect()
}

/// A blocked cluster is never shown as upgrading, and has no forecast.
fn shows_the_cause(facts: Facts, world: &World, picture: &Picture) -> Vec<String> {
    let lines: Vec<String> = status(picture, 160, world.now)
        .iter()
        .map(insight::cockpit::Line::text)
        .collect();
    let page = lines.join("\n");
    let mut wrong = Vec::new();
    for (at, fate) in facts.clusters.into_iter().enumerate() {
        let name = cluster_name(at);
        let Some(seen) = picture.clusters.iter().find(|one| one.name == name) else {
            continue;
        };
        let cause = match fate {
            Fate::Failing => "Failing: etcd quorum lost",
            Fate::NotAccepted => "operator foo blocks",
            Fate::PreNotApplied => "the pre-upgrade work is not applied: quota exceeded",
            Fate::NoId => "neither the label clusterID",
            Fate::Newer => "the cluster runs 4.13.1",
            Fate::Done | Fate::Moving | Fate::Offline => continue,
        };
        let has_started = seen.since.is_some() || seen.reason == "WorkNotApplied";
        if !has_started && !matches!(fate, Fate::NoId | Fate::Newer) {
            continue;
        }
        let is_open = matches!(picture.phase, Phase::Progressing | Phase::Waiting);
        let answer = why_upgrade(
            &hub(world),
            Settings::default(),
            "default/to-4-12",
            Some(name.as_str()),
            world.now,
        );
        let text = answer
            .as_ref()
            .map(|answer| upgrade_text(answer, Listing::Whole))
            .unwrap_or_default();
        let rules = [
            (
                seen.state == insight::cockpit::ClusterState::Moving,
                "is shown as on the way",
            ),
            (!page.contains(cause), "is shown without its cause"),
            (picture.eta.is_some(), "has a forecast"),
            (
                is_open && picture.eta_unknown.is_none(),
                "is no reason for an unknown ETA",
            ),
            // One that is no longer selected is not the upgrade's.
            (
                answer.is_err() && !facts.is_placement_deleted,
                "is unknown to why",
            ),
            (answer.is_ok_and(|answer| answer.is_well()), "ends well in why"),
            (!text.is_empty() && !text.contains(cause), "has no cause in why"),
            (
                text.contains("the cluster is being upgraded"),
                "is on its way according to why",
            ),
        ];
        let found = rules.into_iter().filter(|(broken, _)| *broken);
        wrong.extend(found.map(|(_, words)| format!("{name} ({cause}) {words}")));
    }
    wrong
}
