//! The status of an instance that another client has replaced as a whole, as the hub's gRPC server does for agents: Tidegate's part is
//! restored, and no cluster is updated for it.

use jiff::SignedDuration;
use serde_json::{Value, json};
use store::{Compat, DiscoveryLabels, Kind, ObjectKey, Settings};

use crate::kit::world::World;

const GROUP: &str = "addon.open-cluster-management.io";

/// A template add-on on three clusters, one of which may change at a time.
fn world(compat: Compat) -> World {
    let mut world = World::new(Settings {
        discovery_labels: DiscoveryLabels::Off,
        ..Settings::of(compat)
    });
    let names: Vec<String> = (0..3).map(|number| format!("c{number}")).collect();
    for name in &names {
        world.add_cluster(name);
    }
    world.decide("all", &names);
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent", "namespace": "default"},
        "data": {"cluster": "{{CLUSTER_NAME}}"}});
    put_template(&mut world, &manifest);
    world.put(
        Kind::AddOn,
        json!({"metadata": {"name": "hello"}, "spec": {
            "supportedConfigs": [{"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": "hello-v1"}}],
            "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default",
                "rolloutStrategy": {"type": "Progressive", "progressive": {"maxConcurrency": 1, "minSuccessTime": "0s"}}}]}}}),
    );
    world
}

fn put_template(world: &mut World, manifest: &Value) {
    world.put(
        Kind::Template,
        json!({"metadata": {"name": "hello-v1"}, "spec": {"addonName": "hello",
            "agentSpec": {"workload": {"manifests": [manifest]}}, "registration": [{"type": "KubeClient"}]}}),
    );
}

fn key(cluster: &str) -> ObjectKey {
    ObjectKey::new(Kind::Instance, cluster, "hello")
}

/// Lets planner and agents act until nothing is left; returns the kinds of what was written.
fn rounds(world: &mut World) -> Vec<Kind> {
    let mut written = Vec::new();
    for _ in 0..16 {
        let plan = world.plan("hello");
        written.extend(plan.actions.iter().map(|action| action.object().kind));
        world.apply(&plan);
        for cluster in ["c0", "c1", "c2"] {
            world.report(cluster, None, true);
        }
        world.tick(SignedDuration::from_secs(1));
    }
    assert_eq!(world.plan("hello").actions, [], "it comes to rest");
    written
}

/// Writes a status in the place of what is there.
fn replace_status(world: &mut World, cluster: &str, status: &Value) {
    let known = world.objects[&key(cluster)]["status"].clone();
    let mut patch = status.clone();
    for field in known.as_object().expect("a status").keys() {
        if status.get(field).is_none() {
            patch[field] = Value::Null;
        }
    }
    world.put_status(&key(cluster), &patch);
}

/// Returns what counts in a status: everything but times.
fn meaning(world: &World, cluster: &str) -> Value {
    let mut status = world.objects[&key(cluster)]["status"].clone();
    let conditions = status["conditions"].as_array_mut().expect("conditions");
    for one in conditions.iter_mut() {
        one["lastTransitionTime"] = Value::Null;
    }
    conditions.sort_by_key(|one| one["type"].to_string());
    status
}

#[test]
fn what_was_ours_comes_back_and_no_cluster_moves() {
    for compat in [Compat::Tidegate, Compat::Ocm] {
        let mut world = world(compat);
        // What an agent has of it that was away since the add-on came: nothing was assigned yet.
        let first = world.plan("hello");
        world.apply(&first);
        let early = world.objects[&key("c0")]["status"].clone();
        rounds(&mut world);
        let agents = json!({"conditions": [{"type": "Available", "status": "True", "reason": "ManagedClusterAddOnLeaseUpdated",
            "message": "c0 add-on is available.", "lastTransitionTime": "2030-01-01T00:00:00Z"}]});
        let before = meaning(&world, "c0");
        let works: Vec<Value> = ["c0", "c1", "c2"]
            .iter()
            .flat_map(|cluster| world.works(cluster))
            .map(|work| world.objects[&work]["metadata"]["generation"].clone())
            .collect();
        let early = if early.is_object() { early } else { json!({}) };
        for stale in [json!({}), agents, early] {
            replace_status(&mut world, "c0", &stale);
            let written = rounds(&mut world);
            assert!(!written.contains(&Kind::Work), "{compat:?} {stale}: {written:?}");
            let after = meaning(&world, "c0");
            for field in [
                "configReferences",
                "registrations",
                "namespace",
                "supportedConfigs",
            ] {
                assert_eq!(after[field], before[field], "{compat:?} {stale}: {field}");
            }
            for kind in ["Configured", "Progressing", "Ready", "Stalled", "ManifestApplied"] {
                let of = |status: &Value| {
                    let all = status["conditions"].as_array().expect("conditions").iter();
                    let found = all.clone().find(|one| one["type"] == kind);
                    found.map(|one| (one["status"].clone(), one["reason"].clone()))
                };
                assert_eq!(of(&after), of(&before), "{compat:?} {stale}: {kind}");
            }
        }
        let now: Vec<Value> = ["c0", "c1", "c2"]
            .iter()
            .flat_map(|cluster| world.works(cluster))
            .map(|work| world.objects[&work]["metadata"]["generation"].clone())
            .collect();
        assert_eq!(now, works);
    }
}

#[test]
fn a_change_that_waits_for_its_turn_does_not_slip_past_it() {
    let mut world = world(Compat::Ocm);
    rounds(&mut world);
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent", "namespace": "default"},
        "data": {"cluster": "{{CLUSTER_NAME}}!"}});
    put_template(&mut world, &manifest);
    world.settle("hello");
    let generations = |world: &World| {
        let of = |cluster: &str| world.objects[&world.works(cluster)[0]]["metadata"]["generation"].clone();
        ["c0", "c1", "c2"].map(of)
    };
    assert_eq!(generations(&world), [json!(2), json!(1), json!(1)], "one moves");
    replace_status(&mut world, "c2", &json!({}));
    world.settle("hello");
    assert_eq!(
        generations(&world),
        [json!(2), json!(1), json!(1)],
        "still one moves"
    );
}
