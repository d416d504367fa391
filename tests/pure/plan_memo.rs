//! Plans with a memo of the last one: what they examine again, and what they skip.
//!
//! `World::plan` asserts, here and in all scripts and properties, that they equal the plans without a memo.

use jiff::SignedDuration;
use plan::Memo;
use serde_json::{Value, json};
use store::{Kind, ObjectKey, Settings};

use crate::kit::world::World;

const GROUP: &str = "addon.open-cluster-management.io";
const CLUSTERS: usize = 12;

/// A change, and what it is called.
type Change = (&'static str, fn(&mut World));

fn config(tag: &str) -> Value {
    json!({"metadata": {"name": "base", "namespace": "default"},
        "spec": {"customizedVariables": [{"name": "TAG", "value": tag}]}})
}

fn addon(strategy: &Value) -> Value {
    let supported = json!([
        {"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": "hello"}},
        {"group": GROUP, "resource": "addondeploymentconfigs", "defaultConfig": {"name": "base", "namespace": "default"}}]);
    let placement = json!({"name": "all", "namespace": "default", "rolloutStrategy": strategy});
    json!({"metadata": {"name": "hello"}, "spec": {"supportedConfigs": supported,
        "installStrategy": {"type": "Placements", "placements": [placement]}}})
}

/// A template add-on that is installed and reported on all clusters, in two decision groups.
fn fleet(strategy: &Value) -> World {
    let mut world = World::new(Settings::default());
    let names: Vec<String> = (10..10 + CLUSTERS).map(|n| format!("c{n}")).collect();
    for name in &names {
        world.add_cluster(name);
    }
    let (canary, rest) = names.split_at(3);
    world.decide_in(
        "all",
        &[
            (Some(("canary", 0)), canary.to_vec()),
            (Some(("", 1)), rest.to_vec()),
        ],
    );
    world.put(Kind::DeploymentConfig, config("one"));
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"text": "{{TAG}}"}});
    world.put(
        Kind::Template,
        json!({"metadata": {"name": "hello"},
            "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}}}),
    );
    world.put(Kind::AddOn, addon(strategy));
    world.settle("hello");
    for name in &names {
        world.report(name, None, true);
    }
    world.come_to_rest("hello");
    world
}

/// At how many instances the last plan did not have to look.
fn unseen(world: &World) -> usize {
    world.memos.borrow().get("hello").map_or(0, Memo::unseen)
}

/// How many instances the next plan looks at.
fn looked_at(world: &World) -> usize {
    let _compared = world.plan("hello");
    CLUSTERS - unseen(world)
}

fn instance(cluster: &str) -> ObjectKey {
    ObjectKey::new(Kind::Instance, cluster, "hello")
}

#[test]
fn a_settled_add_on_is_not_looked_at_again() {
    let mut world = fleet(&json!({"type": "All"}));
    assert_eq!(looked_at(&world), 0);
    world.tick(SignedDuration::from_hours(24));
    assert_eq!(looked_at(&world), 0);
}

#[test]
fn one_change_has_one_instance_looked_at() {
    let changes: [Change; 4] = [
        ("its work", |world| world.report("c15", Some("no"), true)),
        ("its own object", |world| {
            world.put_status(&instance("c15"), &json!({"namespace": "elsewhere"}));
        }),
        ("its cluster", |world| {
            let key = ObjectKey::new(Kind::Cluster, "", "c15");
            let mut cluster = world.objects[&key].clone();
            cluster["metadata"]["annotations"] = json!({"tidegate.io/opt-out": "hello"});
            world.put(Kind::Cluster, cluster);
        }),
        ("its end", |world| world.delete(&instance("c15"))),
    ];
    for (what, change) in changes {
        let mut world = fleet(&json!({"type": "All"}));
        change(&mut world);
        let looked_at = looked_at(&world);
        // A deleted instance is planned again, and then no longer exists.
        assert_eq!(looked_at, 1, "{what}");
    }
}

#[test]
fn who_is_not_done_is_looked_at_until_it_is() {
    let mut world = fleet(&json!({"type": "All"}));
    world.report("c15", None, false);
    world.report("c16", Some("no"), true);
    world.settle("hello");
    assert_eq!(looked_at(&world), 2);
    world.report("c15", None, true);
    world.settle("hello");
    assert_eq!(looked_at(&world), 1);
    world.report("c16", None, true);
    world.settle("hello");
    assert_eq!(looked_at(&world), 0);
}

#[test]
fn a_change_that_concerns_all_has_all_looked_at() {
    let changes: [Change; 4] = [
        ("a configuration", |world| {
            world.put(Kind::DeploymentConfig, config("two"));
        }),
        ("a decision", |world| world.decide("all", &["c10".to_owned()])),
        ("the add-on", |world| {
            world.put(Kind::AddOn, addon(&json!({"type": "ProgressivePerGroup"})));
        }),
        ("the template", |world| {
            world.delete(&ObjectKey::new(Kind::Template, "", "hello"));
        }),
    ];
    for (what, change) in changes {
        let mut world = fleet(&json!({"type": "All"}));
        change(&mut world);
        assert_eq!(looked_at(&world), CLUSTERS, "{what}");
    }
}

#[test]
fn a_clock_that_goes_back_has_all_looked_at() {
    let mut world = fleet(&json!({"type": "All"}));
    world.tick(SignedDuration::from_secs(-1));
    assert_eq!(looked_at(&world), CLUSTERS);
    assert_eq!(looked_at(&world), 0);
}

/// Limits, groups and failures count the clusters that are not looked at, too.
#[test]
fn a_rollout_goes_on_beside_those_that_are_done() {
    for strategy in [
        json!({"type": "Progressive", "progressive": {"maxConcurrency": "25%", "maxFailures": "10%"}}),
        json!({"type": "Progressive", "progressive":
            {"mandatoryDecisionGroups": [{"groupName": "canary"}], "maxConcurrency": "50%", "minSuccessTime": "30s"}}),
        json!({"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "10s", "maxFailures": 1}}),
    ] {
        let mut world = fleet(&strategy);
        world.put(Kind::DeploymentConfig, config("two"));
        let mut most_unseen = 0;
        for round in 0..40 {
            world.settle("hello");
            let cluster = format!("c{}", 10 + round % CLUSTERS);
            // One of them fails once.
            let fails = cluster == "c16" && round < CLUSTERS;
            world.report(&cluster, fails.then_some("no"), true);
            world.settle("hello");
            most_unseen = most_unseen.max(unseen(&world));
            world.tick(SignedDuration::from_secs(12));
        }
        for n in 10..10 + CLUSTERS {
            world.report(&format!("c{n}"), None, true);
            world.come_to_rest("hello");
        }
        assert_eq!(looked_at(&world), 0, "{strategy}");
        assert!(most_unseen > CLUSTERS / 2, "{most_unseen} {strategy}");
    }
}
