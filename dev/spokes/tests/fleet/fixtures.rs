//! What the tests of whole fleets share: fleets, works, placements, and what to look at in an object.

use std::time::Duration;

use serde_json::{Value, json};
use spokes::{Faults, Fleet, FleetOptions};

use crate::hub::TestHub;

pub(crate) const AVAILABLE: &str = "ManagedClusterConditionAvailable";

pub(crate) async fn fleet(hub: &TestHub, clusters: usize, faults: &[&str]) -> Fleet {
    let faults = Faults::parse(faults).expect("faults as text");
    let options = FleetOptions {
        clusters,
        faults,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(hub.client(), options).await.expect("a fleet");
    fleet.ready().await.expect("all clusters register");
    fleet
}

pub(crate) fn apply_work(hub: &TestHub, cluster: &str, spec: Value) {
    hub.apply(
        "manifestworks",
        json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {"namespace": cluster, "name": "w"},
            "spec": spec,
        }),
    );
}

pub(crate) fn workload(replicas: i64) -> Value {
    json!({"workload": {"manifests": [{
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "agents", "name": "agent"},
        "spec": {"replicas": replicas},
    }]}})
}

pub(crate) fn work(hub: &TestHub, cluster: &str) -> Value {
    hub.object("manifestworks", cluster, "w")
}

/// Whether the agent has said something about the newest generation.
pub(crate) fn is_observed(work: &Value) -> bool {
    let conditions = work.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|list| {
        list.iter()
            .all(|condition| condition["observedGeneration"] == work["metadata"]["generation"])
    })
}

pub(crate) fn apply_placement(hub: &TestHub, spec: Value) {
    hub.apply(
        "managedclustersetbindings",
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": {"namespace": "ns", "name": "global"},
            "spec": {"clusterSet": "global"},
        }),
    );
    hub.apply(
        "placements",
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "Placement",
            "metadata": {"namespace": "ns", "name": "p"},
            "spec": spec,
        }),
    );
}

/// The decisions of the placement as text: `index/name: clusters`.
pub(crate) fn decisions(hub: &TestHub) -> Vec<String> {
    let names = hub.names("placementdecisions");
    let line = |name: &String| {
        let object = hub.object("placementdecisions", "ns", name.trim_start_matches("ns/"));
        let label = |key: &str| {
            object["metadata"]["labels"][format!("cluster.open-cluster-management.io/{key}")]
                .as_str()
                .map(str::to_owned)
                .unwrap_or_default()
        };
        let decisions = object
            .pointer("/status/decisions")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let clusters: Vec<_> = decisions
            .iter()
            .map(|decision| text(decision, "/clusterName").to_owned())
            .collect();
        format!(
            "{}/{}: {}",
            label("decision-group-index"),
            label("decision-group-name"),
            clusters.join(" ")
        )
    };
    names.iter().map(line).collect()
}

/// Lets time pass. The clock is paused: nothing waits, and everything that is due in between happens.
pub(crate) async fn pass(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Returns the status of a condition and its message, as `True: message`.
pub(crate) fn condition(object: &Value, kind: &str) -> String {
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    found
        .map(|condition| format!("{}: {}", text(condition, "/status"), text(condition, "/message")))
        .unwrap_or_default()
}

/// Returns the text at a pointer, or nothing.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
