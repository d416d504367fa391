//! The stand-in for the controller of replica sets: a work for every chosen cluster, counted in the status.

use std::time::Duration;

use serde_json::{Value, json};
use spokes::{Faults, Fleet, FleetOptions, OpenShift};

use crate::{
    fixtures::{apply_placement, condition, pass},
    hub::TestHub,
};

async fn fleet(hub: &TestHub, faults: &[&str]) -> Fleet {
    let options = FleetOptions {
        clusters: 3,
        faults: Faults::parse(faults).expect("faults as text"),
        openshift: OpenShift::parse(["4.11.9"]).ok(),
        replica_sets: true,
        ..FleetOptions::default()
    };
    Fleet::start(hub.client(), options).await.expect("a fleet")
}

fn set(message: &str) -> Value {
    let failed = "hasConditions(object.status) && object.status.conditions.exists(c, c.type == 'Failed' && c.status == 'True')";
    json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"namespace": "ns", "name": "mcu-pre-upgrade"},
        "spec": {
            "placementRefs": [{"name": "p", "rolloutStrategy": {"type": "All"}}],
            "manifestWorkTemplate": {
                "workload": {"manifests": [
                    {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "backup", "name": "backup"}, "spec": {}},
                ]},
                "manifestConfigs": [{
                    "resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": "backup", "name": "backup"},
                    "conditionRules": [{"type": "CEL", "condition": "Degraded", "celExpressions": [failed], "message": message}],
                }],
            },
        },
    })
}

fn known(hub: &TestHub) -> Value {
    hub.object("manifestworkreplicasets", "ns", "mcu-pre-upgrade")
}

fn counts(hub: &TestHub) -> String {
    let summary = known(hub)["status"]["summary"].clone();
    let count = |name: &str| summary[name].to_string();
    format!(
        "{} total, {} applied, {} available, {} degraded",
        count("total"),
        count("applied"),
        count("available"),
        count("degraded")
    )
}

/// Clusters that have a work of the set.
fn places(hub: &TestHub) -> Vec<String> {
    let works = hub.names("manifestworks");
    let place = |name: &String| name.split('/').next().unwrap_or_default().to_owned();
    works.iter().map(place).collect()
}

#[tokio::test(start_paused = true)]
async fn every_chosen_cluster_gets_its_work_and_the_set_counts_them() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, &["cluster2=pre-fail:no space left"]).await;
    apply_placement(&hub, json!({}));
    hub.apply("manifestworkreplicasets", set("it failed"));
    hub.until("all are judged", |hub| {
        counts(hub) == "3 total, 3 applied, 3 available, 1 degraded"
    })
    .await;
    assert_eq!(places(&hub), ["cluster1", "cluster2", "cluster3"]);
    assert_eq!(condition(&known(&hub), "PlacementVerified"), "True: ");
    assert_eq!(condition(&known(&hub), "ManifestworkApplied"), "False: ");
    let work = hub.names("manifestworks").remove(1);
    let work = hub.object("manifestworks", "cluster2", work.trim_start_matches("cluster2/"));
    assert_eq!(condition(&work, "Degraded"), "True: it failed");

    hub.apply("manifestworkreplicasets", set("said otherwise"));
    hub.until("the change arrives", |hub| {
        let work = hub.object("manifestworks", "cluster2", "mcu-pre-upgrade-0");
        condition(&work, "Degraded") == "True: said otherwise"
    })
    .await;
    fleet.clear_faults("cluster2").expect("a running fleet");
    hub.until("it heals", |hub| {
        condition(&known(hub), "ManifestworkApplied") == "True: "
    })
    .await;

    pass(Duration::from_secs(5)).await;
    let quiet = hub.version();
    pass(Duration::from_hours(1)).await;
    assert_eq!(hub.version(), quiet, "a set at rest is silent");

    hub.edit("placements", "ns", "p", |placement| {
        placement["spec"] = json!({"numberOfClusters": 1});
    });
    hub.until("the others go", |hub| places(hub).len() == 1).await;
    hub.until("the set counts one", |hub| counts(hub).starts_with("1 total"))
        .await;
    hub.delete("manifestworkreplicasets", "ns", "mcu-pre-upgrade");
    hub.until("the set goes after its works", |hub| known(hub).is_null())
        .await;
    assert_eq!(places(&hub), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_controller_is_simulated_only_on_request() {
    let hub = TestHub::new();
    let _fleet = crate::fixtures::fleet(&hub, 3, &[]).await;
    apply_placement(&hub, json!({}));
    hub.apply("manifestworkreplicasets", set("it failed"));
    pass(Duration::from_mins(1)).await;
    assert_eq!(known(&hub).get("status"), None);
    assert_eq!(places(&hub), Vec::<String>::new());
}
