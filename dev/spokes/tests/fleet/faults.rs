//! What goes wrong on request, and how it ends.

use std::time::Duration;

use serde_json::json;
use spokes::{Fault, FaultRule, Faults, Fleet, FleetOptions};

use crate::{
    fixtures::{
        AVAILABLE, apply_placement, apply_work, condition, decisions, fleet, is_observed, pass, text, work,
        workload,
    },
    hub::TestHub,
};

#[tokio::test(start_paused = true)]
async fn an_apply_failure_heals_after_its_time() {
    let hub = TestHub::new();
    let _fleet = fleet(&hub, 2, &["cluster1=apply-failure,from=2,for=10m:quota exceeded"]).await;
    apply_work(&hub, "cluster1", workload(2));
    hub.until("the first generation is applied", |hub| {
        condition(&work(hub, "cluster1"), "Applied").starts_with("True")
    })
    .await;
    apply_work(&hub, "cluster1", workload(3));
    hub.until("the second fails", |hub| {
        condition(&work(hub, "cluster1"), "Applied").starts_with("False")
    })
    .await;
    let failed = work(&hub, "cluster1");
    let manifest = &failed["status"]["resourceStatus"]["manifests"][0];
    assert_eq!(
        text(manifest, "/conditions/0/message"),
        "Failed to apply manifest: quota exceeded"
    );
    pass(Duration::from_secs(590)).await;
    assert_eq!(work(&hub, "cluster1"), failed, "not before its time");
    pass(Duration::from_secs(11)).await;
    assert_eq!(
        condition(&work(&hub, "cluster1"), "Applied"),
        "True: Apply manifest work complete"
    );
}

#[tokio::test(start_paused = true)]
async fn a_delay_holds_every_generation() {
    let hub = TestHub::new();
    let _fleet = fleet(&hub, 1, &["cluster1=delay:30s"]).await;
    apply_work(&hub, "cluster1", workload(2));
    pass(Duration::from_secs(29)).await;
    assert_eq!(
        work(&hub, "cluster1")["metadata"].get("finalizers"),
        None,
        "the agent is not there yet"
    );
    pass(Duration::from_secs(2)).await;
    assert!(is_observed(&work(&hub, "cluster1")));
    apply_work(&hub, "cluster1", workload(3));
    pass(Duration::from_secs(29)).await;
    assert!(!is_observed(&work(&hub, "cluster1")));
    pass(Duration::from_secs(2)).await;
    assert!(is_observed(&work(&hub, "cluster1")));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_comes_back_catches_up() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 2, &[]).await;
    apply_work(&hub, "cluster1", workload(2));
    hub.until("the work is observed", |hub| is_observed(&work(hub, "cluster1")))
        .await;
    fleet
        .set_fault("cluster1", Fault::Offline)
        .expect("a cluster of the fleet");
    let available = |hub: &TestHub| condition(&hub.object("managedclusters", "", "cluster1"), AVAILABLE);
    hub.until("the hub notices", |hub| available(hub).starts_with("Unknown"))
        .await;
    apply_work(&hub, "cluster1", workload(3));
    apply_work(&hub, "cluster2", workload(3));
    hub.until("the other goes on", |hub| is_observed(&work(hub, "cluster2")))
        .await;
    hub.delete("manifestworks", "cluster1", "w");
    pass(Duration::from_mins(10)).await;
    assert_eq!(
        work(&hub, "cluster1")["metadata"]["deletionTimestamp"],
        "2026-01-01T00:00:00Z",
        "no agent removes the finalizer"
    );
    assert_eq!(fleet.objects("cluster1").len(), 1);
    fleet.clear_faults("cluster1").expect("a running fleet");
    hub.until("it cleans up", |hub| work(hub, "cluster1").is_null())
        .await;
    assert_eq!(available(&hub), "True: Managed cluster is available");
    assert_eq!(fleet.objects("cluster1"), vec![]);
    assert_eq!(
        hub.object("managedclusters", "", "cluster1")["spec"].get("taints"),
        None,
        "not asked for"
    );
}

#[tokio::test(start_paused = true)]
async fn an_offline_cluster_is_tainted_where_that_is_asked_for() {
    let hub = TestHub::new();
    let faults =
        Faults::none().with(FaultRule::new("cluster2", Fault::Offline).healing_after(Duration::from_mins(1)));
    let options = FleetOptions {
        clusters: 2,
        faults,
        taint_offline: true,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(hub.client(), options).await.expect("a fleet");
    apply_placement(&hub, json!({}));
    hub.until("the placement does without it", |hub| {
        decisions(hub) == ["0/: cluster1"]
    })
    .await;
    assert_eq!(
        hub.object("managedclusters", "", "cluster2")["spec"]["taints"][0]["key"],
        "cluster.open-cluster-management.io/unreachable"
    );
    hub.until("it is back", |hub| decisions(hub) == ["0/: cluster1 cluster2"])
        .await;
    fleet.shutdown().await;
}
