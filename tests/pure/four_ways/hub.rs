//! The facts of a page as the objects that they are derived from.

use insight::offline::Hub;
use serde_json::{Value, json};
use store::Kind;

use crate::kit::asked::WrittenFacts;

const ADDON: &str = "addon.open-cluster-management.io/v1alpha1";
const CLUSTER: &str = "cluster.open-cluster-management.io";

/// Kinds that a page without a fleet says nothing about.
const UNWRITTEN: [Kind; 5] = [
    Kind::Cluster,
    Kind::Placement,
    Kind::DeploymentConfig,
    Kind::Template,
    Kind::HubConfig,
];

/// Returns a hub of which these facts are true.
pub(crate) fn of(facts: &WrittenFacts) -> Hub {
    let mut hub = Hub::default();
    let mut put = |object: Value| assert!(hub.put(object).is_some(), "a kind that the store knows");
    for (name, spec) in &facts.addons {
        put(
            json!({"apiVersion": ADDON, "kind": "ClusterManagementAddOn", "metadata": {"name": name},
            "spec": spec}),
        );
    }
    for (placement, clusters) in &facts.placements {
        let (namespace, name) = placement.split_once('/').expect("namespace/name");
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
            .collect();
        let labels = json!({format!("{CLUSTER}/placement"): name});
        put(
            json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Placement",
            "metadata": {"name": name, "namespace": namespace}, "spec": {}}),
        );
        put(
            json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": format!("{name}-1"), "namespace": namespace, "labels": labels},
            "status": {"decisions": decisions}}),
        );
    }
    for (agent, types) in &facts.agents {
        let (cluster, addon) = agent.split_once('/').expect("cluster/add-on");
        let of = |text: &String| {
            let (resource, group) = text.split_once('.').unwrap_or((text, ""));
            json!({"group": group, "resource": resource})
        };
        let supported: Vec<Value> = types.iter().map(of).collect();
        put(json!({"apiVersion": ADDON, "kind": "ManagedClusterAddOn",
            "metadata": {"name": addon, "namespace": cluster}, "spec": {}, "status": {"supportedConfigs": supported}}));
    }
    for (addon, versions) in &facts.versions {
        for version in versions {
            let labels = json!({"addon.open-cluster-management.io/version": version});
            put(json!({"apiVersion": ADDON, "kind": "AddOnTemplate",
                "metadata": {"name": format!("{addon}-{version}"), "labels": labels},
                "spec": {"addonName": addon, "agentSpec": {"workload": {"manifests": []}}, "registration": []}}));
        }
    }
    let fleet = facts.written_objects();
    for mut object in fleet.iter().cloned() {
        let known = Kind::of_object(&object);
        object["apiVersion"] = known.expect("a kind of the store").api_version().into();
        put(object);
    }
    if facts.complete {
        let written = Kind::ALL
            .into_iter()
            .filter(|kind| !fleet.is_empty() || !UNWRITTEN.contains(kind));
        for kind in written {
            hub.complete(kind);
        }
    }
    hub
}
