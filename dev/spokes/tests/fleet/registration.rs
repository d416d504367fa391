//! How clusters come to a hub, and how silent a fleet is once everything is as it should be.

use std::time::Duration;

use serde_json::json;
use spokes::{Fault, Faults, Fleet, FleetError, FleetOptions};

use crate::{
    fixtures::{
        AVAILABLE, apply_placement, apply_work, condition, decisions, fleet, is_observed, pass, work,
        workload,
    },
    hub::TestHub,
};

#[tokio::test(start_paused = true)]
async fn clusters_register_as_a_hub_wants_them() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 4, &["cluster2=offline"]).await;
    let first = hub.object("managedclusters", "", "cluster1");
    assert_eq!(first["spec"]["hubAcceptsClient"], true);
    assert_eq!(
        first["metadata"]["labels"],
        json!({
            "cluster.open-cluster-management.io/clusterset": "default",
            "environment": "dev",
            "region": "eu-west-1",
            "vendor": "OpenShift",
        })
    );
    assert_eq!(
        condition(&first, "HubAcceptedManagedCluster"),
        "True: Accepted by hub cluster admin"
    );
    assert_eq!(
        condition(&first, "ManagedClusterJoined"),
        "True: Managed cluster joined"
    );
    assert_eq!(condition(&first, AVAILABLE), "True: Managed cluster is available");
    let second = hub.object("managedclusters", "", "cluster2");
    assert_eq!(
        condition(&second, "ManagedClusterJoined"),
        "True: Managed cluster joined"
    );
    assert_eq!(
        condition(&second, AVAILABLE),
        "Unknown: Registration agent stopped updating its lease."
    );
    assert_eq!(
        hub.names("namespaces"),
        ["cluster1", "cluster2", "cluster3", "cluster4"]
    );
    assert_eq!(hub.names("managedclustersets"), ["default", "global"]);
    assert_eq!(fleet.counters().clusters_registered, 4);
    fleet.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_fleet_finds_everything_in_place() {
    let hub = TestHub::new();
    apply_placement(&hub, json!({}));
    let first = fleet(&hub, 3, &[]).await;
    apply_work(&hub, "cluster1", workload(2));
    hub.until("the work is observed", |hub| is_observed(&work(hub, "cluster1")))
        .await;
    pass(Duration::from_secs(5)).await;
    first.shutdown().await;
    let version = hub.version();
    let second = fleet(&hub, 3, &[]).await;
    pass(Duration::from_mins(10)).await;
    assert_eq!(hub.version(), version, "nothing had to be written");
    assert_eq!(
        second.objects("cluster1").len(),
        1,
        "the virtual cluster is filled again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_deleted_and_made_again_registers_again() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 2, &[]).await;
    hub.delete("managedclusters", "", "cluster1");
    pass(Duration::from_mins(1)).await;
    assert_eq!(
        hub.names("managedclusters"),
        ["cluster2"],
        "it is not created again"
    );
    hub.apply(
        "managedclusters",
        json!({"metadata": {"name": "cluster1"}, "spec": {"hubAcceptsClient": false}}),
    );
    let is_back = |hub: &TestHub| {
        let cluster = hub.object("managedclusters", "", "cluster1");
        cluster["status"].is_object() && condition(&cluster, AVAILABLE).starts_with("True")
    };
    hub.until("the cluster reports again", is_back).await;
    apply_work(&hub, "cluster1", workload(2));
    hub.until("its agent works", |hub| is_observed(&work(hub, "cluster1")))
        .await;
    fleet.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn what_users_set_on_a_cluster_stays() {
    let hub = TestHub::new();
    let first = fleet(&hub, 1, &[]).await;
    first.shutdown().await;
    hub.edit("managedclusters", "", "cluster1", |object| {
        object["metadata"]["labels"]["environment"] = json!("mine");
        object["spec"]["taints"] = json!([{"key": "gpu", "effect": "NoSelect"}]);
        object["metadata"]["labels"]
            .as_object_mut()
            .map(|labels| labels.remove("region"));
    });
    let _second = fleet(&hub, 1, &[]).await;
    let cluster = hub.object("managedclusters", "", "cluster1");
    assert_eq!(cluster["metadata"]["labels"]["environment"], "mine");
    assert_eq!(
        cluster["metadata"]["labels"]["region"], "eu-west-1",
        "what lacks is added"
    );
    assert_eq!(
        cluster["spec"]["taints"],
        json!([{"key": "gpu", "effect": "NoSelect"}])
    );
}

#[tokio::test(start_paused = true)]
async fn a_settled_fleet_writes_nothing() {
    let hub = TestHub::new();
    let fleet = fleet(
        &hub,
        5,
        &[
            "cluster3=apply-failure:no",
            "cluster4=unavailable:no",
            "cluster5=offline",
        ],
    )
    .await;
    apply_placement(
        &hub,
        json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 2}}}),
    );
    for cluster in fleet.clusters() {
        apply_work(&hub, &cluster, workload(2));
    }
    pass(Duration::from_secs(5)).await;
    let (version, counters) = (hub.version(), fleet.counters());
    pass(Duration::from_hours(24)).await;
    assert_eq!(hub.version(), version);
    assert_eq!(fleet.counters(), counters);
    assert_eq!(
        (counters.retries, counters.works_taken, counters.works_reported),
        (0, 4, 4),
        "two writes for a work"
    );
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_cannot_start_says_why() {
    let start = |options: FleetOptions| async {
        Fleet::start(TestHub::new().client(), options)
            .await
            .err()
            .map(|error| error.to_string())
    };
    let faults = Faults::parse(["edge7=offline"]).expect("a fault");
    let stray = FleetOptions {
        clusters: 2,
        faults,
        ..FleetOptions::default()
    };
    assert_eq!(
        start(stray).await.as_deref(),
        Some("no cluster is called \"edge7\": the fleet has \"cluster1\" to \"cluster2\"")
    );
    let hub = TestHub::new();
    hub.refuse(1);
    let refused = Fleet::start(hub.client(), FleetOptions::default()).await;
    assert!(matches!(refused, Err(FleetError::CreateSet { name, .. }) if name == "default"));
    let fleet = fleet(&hub, 1, &[]).await;
    assert!(matches!(
        fleet.set_fault("cluster2", Fault::Offline),
        Err(FleetError::UnknownCluster { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_clusters_cost_five_writes_each() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 1000, &[]).await;
    let registered = hub.version();
    assert_eq!(
        registered,
        2 + 3 * 1000,
        "two sets; cluster, namespace and status for each"
    );
    for cluster in fleet.clusters() {
        apply_work(&hub, &cluster, workload(1));
    }
    hub.until("all works are reported", |_| {
        fleet.counters().works_reported == 1000
    })
    .await;
    pass(Duration::from_hours(1)).await;
    let sets = fleet.counters().placements_written;
    assert_eq!(
        hub.version(),
        registered + 3 * 1000 + sets,
        "the work itself, the finalizer, the status"
    );
}
#[tokio::test(start_paused = true)]
async fn refused_calls_are_made_again() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 3, &[]).await;
    hub.refuse(7);
    apply_placement(&hub, json!({}));
    for cluster in fleet.clusters() {
        apply_work(&hub, &cluster, workload(1));
    }
    hub.until("the decisions are there", |hub| {
        decisions(hub) == ["0/: cluster1 cluster2 cluster3"]
    })
    .await;
    hub.until("all works are observed", |hub| {
        (1..=3).all(|number| is_observed(&work(hub, &format!("cluster{number}"))))
    })
    .await;
    assert_eq!(fleet.counters().retries, 7);
}
