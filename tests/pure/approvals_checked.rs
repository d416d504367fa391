//! The checker of plans reports changes without an approval, even if the planner has made them.
//!
//! A plan that was made before an approval was required is checked as if it were made after.

use jiff::SignedDuration;
use serde_json::{Value, json};
use store::{Kind, Settings};

use crate::kit::approvals::approval;
use crate::kit::world::World;

const GROUP: &str = "addon.open-cluster-management.io";

fn put_addon(world: &mut World, annotations: &Value) {
    let spec = json!({
        "supportedConfigs": [
            {"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": "hello"}},
            {"group": GROUP, "resource": "addondeploymentconfigs", "defaultConfig": {"name": "base", "namespace": "default"}}],
        "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default"}]}});
    let metadata = json!({"name": "hello", "annotations": annotations});
    world.put(Kind::AddOn, json!({"metadata": metadata, "spec": spec}));
}

fn put_config(world: &mut World, message: &str) {
    let metadata = json!({"name": "base", "namespace": "default"});
    let variables = json!([{"name": "MESSAGE", "value": message}]);
    world.put(
        Kind::DeploymentConfig,
        json!({"metadata": metadata, "spec": {"customizedVariables": variables}}),
    );
}

/// Two clusters, each in a group of its own, that run with a content.
fn scene() -> World {
    let mut world = World::new(Settings::default());
    for cluster in ["c1", "c2"] {
        world.add_cluster(cluster);
    }
    put_config(&mut world, "hello");
    let spec = json!({"addonName": "hello", "agentSpec": {"workload": {"manifests": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"text": "{{MESSAGE}}"}}]}}});
    world.put(
        Kind::Template,
        json!({"metadata": {"name": "hello"}, "spec": spec}),
    );
    let groups = [
        (Some(("canary", 0)), vec!["c1".to_owned()]),
        (Some(("prod", 1)), vec!["c2".to_owned()]),
    ];
    put_addon(&mut world, &json!({}));
    world.decide_in("all", &groups);
    world.settle("hello");
    for cluster in ["c1", "c2"] {
        world.report(cluster, None, true);
    }
    world.settle("hello");
    world.tick(SignedDuration::from_secs(60));
    world
}

#[test]
fn a_cluster_that_starts_without_an_approval_is_reported() {
    let mut world = scene();
    put_config(&mut world, "ahoy");
    let plan = world.plan("hello");
    let judged = |world: &World| {
        let view = world.store.view("hello").expect("it is there");
        oracle::check(&view, &plan, world.now)
    };
    assert_eq!(judged(&world), Vec::<String>::new());
    world.set_rollout("hello", Some("default/all"), "approvalBefore", &json!(["prod"]));
    let fault = "placement default/all: c2 starts although what it is given is not approved";
    assert_eq!(judged(&world), [fault]);
    let waits = world.plan("hello").waits;
    let content = waits.iter().map(ToString::to_string).find_map(|wait| {
        let (_, rest) = wait.split_once("RolloutApproval hello.default.all.prod (content ")?;
        Some(rest.split(')').next()?.to_owned())
    });
    let content = content.expect("c2 waits");
    let now = world.now.to_string();
    world.put(
        Kind::Approval,
        approval("hello", "default/all", "prod", &[&content], &now),
    );
    assert_eq!(judged(&world), Vec::<String>::new());
    world.set_rollout("hello", None, "approvalBefore", &json!(["p r"]));
    let fault = "c1 starts although it is not known what is set for the rollout";
    assert_eq!(judged(&world), [fault]);
}
