//! What becomes of works on clusters where nothing goes wrong.

use std::time::Duration;

use serde_json::json;

use crate::{
    fixtures::{apply_work, condition, fleet, is_observed, pass, work, workload},
    hub::TestHub,
};

#[tokio::test(start_paused = true)]
async fn works_are_applied_changed_and_cleaned_up() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 2, &[]).await;
    apply_work(&hub, "cluster1", workload(2));
    apply_work(&hub, "elsewhere", workload(2));
    hub.until("the work is observed", |hub| is_observed(&work(hub, "cluster1")))
        .await;
    let seen = work(&hub, "cluster1");
    assert_eq!(
        seen["metadata"]["finalizers"],
        json!(["cluster.open-cluster-management.io/manifest-work-cleanup"])
    );
    assert_eq!(condition(&seen, "Applied"), "True: Apply manifest work complete");
    assert_eq!(condition(&seen, "Available"), "True: All resources are available");
    let key = fleet.objects("cluster1").pop().expect("the deployment");
    assert_eq!(
        fleet.object("cluster1", &key).expect("it exists")["status"]["readyReplicas"],
        2
    );

    apply_work(&hub, "cluster1", workload(5));
    hub.until("the change is observed", |hub| {
        is_observed(&work(hub, "cluster1"))
    })
    .await;
    assert_eq!(
        fleet.object("cluster1", &key).expect("it exists")["status"]["readyReplicas"],
        5
    );

    hub.delete("manifestworks", "cluster1", "w");
    hub.until("the work is deleted", |hub| work(hub, "cluster1").is_null())
        .await;
    assert_eq!(fleet.objects("cluster1"), vec![]);
    assert_eq!(
        work(&hub, "elsewhere").get("status"),
        None,
        "a namespace of no cluster of this fleet is left alone"
    );

    apply_work(&hub, "cluster1", workload(1));
    hub.until("a new work of the old name is observed", |hub| {
        is_observed(&work(hub, "cluster1"))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_work_removed_by_force_leaves_nothing_behind() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 1, &[]).await;
    apply_work(&hub, "cluster1", workload(2));
    hub.until("the work is observed", |hub| is_observed(&work(hub, "cluster1")))
        .await;
    hub.edit("manifestworks", "cluster1", "w", |object| {
        object["metadata"]["finalizers"] = json!([]);
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    pass(Duration::from_secs(1)).await;
    assert_eq!(fleet.objects("cluster1"), vec![]);
}
