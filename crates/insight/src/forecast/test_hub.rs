//! A hub with one add-on on three clusters, for tests.

use crate::offline::Hub;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::{Kind, Settings};

use super::course::course;
use super::world::World;

pub(super) const GROUP: &str = "addon.open-cluster-management.io";

pub(super) fn now() -> Timestamp {
    "2026-11-20T00:00:00Z".parse().expect("a time")
}

pub(super) fn put(hub: &mut Hub, api: &str, kind: &str, rest: &Value) {
    let mut object = json!({"apiVersion": api, "kind": kind});
    json_patch::merge(&mut object, rest);
    hub.apply(object);
}

/// A hub with three clusters, on which one add-on is to be installed from a template with these manifests and a configuration with this
/// spec.
pub(super) fn asked(manifests: &Value, config: &Value) -> Hub {
    let mut hub = Hub::default();
    let clusters = ["cluster1", "cluster2", "cluster3"];
    for name in clusters {
        let available = json!({"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "x", "message": "x",
            "lastTransitionTime": "2026-11-19T00:00:00Z"});
        put(
            &mut hub,
            "cluster.open-cluster-management.io/v1",
            "ManagedCluster",
            &json!({"metadata": {"name": name},
            "spec": {"hubAcceptsClient": true}, "status": {"conditions": [available]}}),
        );
    }
    let beta = "cluster.open-cluster-management.io/v1beta1";
    let group =
        json!({"decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["all-1"], "clusterCount": 3});
    let satisfied = json!({"type": "PlacementSatisfied", "status": "True", "reason": "x", "message": "x",
        "lastTransitionTime": "2026-11-19T00:00:00Z"});
    put(
        &mut hub,
        beta,
        "Placement",
        &json!({"metadata": {"name": "all", "namespace": "default"}, "spec": {},
        "status": {"numberOfSelectedClusters": 3, "decisionGroups": [group], "conditions": [satisfied]}}),
    );
    let decisions: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    put(
        &mut hub,
        beta,
        "PlacementDecision",
        &json!({"metadata": {"name": "all-1", "namespace": "default", "labels": {
        "cluster.open-cluster-management.io/placement": "all",
        "cluster.open-cluster-management.io/decision-group-index": "0",
        "cluster.open-cluster-management.io/decision-group-name": ""}}, "status": {"decisions": decisions}}),
    );
    let alpha = &format!("{GROUP}/v1alpha1");
    put(
        &mut hub,
        alpha,
        "AddOnTemplate",
        &json!({"metadata": {"name": "calm"}, "spec": {"addonName": "calm",
        "agentSpec": {"workload": {"manifests": manifests}},
        "registration": [{"type": "KubeClient"},
            {"type": "CustomSigner", "customSigner": {"signerName": "example.com/signer", "signingCA": {"name": "ca"}}}]}}),
    );
    put(
        &mut hub,
        alpha,
        "AddOnDeploymentConfig",
        &json!({"metadata": {"name": "calm", "namespace": "default"},
        "spec": config}),
    );
    let config = |resource: &str, default: &Value| json!({"group": GROUP, "resource": resource, "defaultConfig": default});
    put(
        &mut hub,
        alpha,
        "ClusterManagementAddOn",
        &json!({"metadata": {"name": "calm"}, "spec": {
        "supportedConfigs": [config("addontemplates", &json!({"name": "calm"})),
            config("addondeploymentconfigs", &json!({"name": "calm", "namespace": "default"}))],
        "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default",
            "rolloutStrategy": {"type": "Progressive", "progressive": {"maxConcurrency": 1}}}]}}}),
    );
    for kind in Kind::ALL {
        hub.complete(kind);
    }
    hub
}

/// The same hub when nothing is left to do.
pub(super) fn at_rest(hub: &Hub) -> Hub {
    let mut world = World::new(hub, Settings::default(), now());
    let _course = course(&mut world, "calm", now());
    let mut after = hub.clone();
    for object in world.objects.values() {
        after.put(Value::clone(object));
    }
    after
}

pub(super) fn pod(container: &Value, more: &Value) -> Value {
    let mut spec = json!({"containers": [{"name": "main", "image": "quay.example/calm:1"}]});
    json_patch::merge(&mut spec["containers"][0], container);
    json_patch::merge(&mut spec, more);
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "calm"},
        "spec": {"selector": {"matchLabels": {"app": "calm"}},
            "template": {"metadata": {"labels": {"app": "calm"}}, "spec": spec}}})
}
