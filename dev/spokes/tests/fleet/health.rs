//! Health of add-ons that leave it to the agent of their cluster.

use std::time::Duration;

use serde_json::{Value, json};
use spokes::Fault;

use crate::{
    fixtures::{condition, fleet, pass},
    hub::TestHub,
};

fn apply_addon(hub: &TestHub, cluster: &str) {
    let addon = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"namespace": cluster, "name": "hello"},
        "spec": {},
    });
    hub.apply("managedclusteraddons", addon);
}

fn addon(hub: &TestHub, cluster: &str) -> Value {
    hub.object("managedclusteraddons", cluster, "hello")
}

fn available(hub: &TestHub) -> String {
    condition(&addon(hub, "cluster1"), "Available")
}

#[tokio::test(start_paused = true)]
async fn the_agent_reports_as_long_as_it_is_there() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 1, &[]).await;
    apply_addon(&hub, "cluster1");
    apply_addon(&hub, "elsewhere");
    pass(Duration::from_secs(2)).await;
    assert_eq!(
        available(&hub),
        "",
        "the hub may still say that it reports itself"
    );
    hub.until("it is available", |hub| {
        available(hub) == "True: hello add-on is available."
    })
    .await;
    assert_eq!(addon(&hub, "elsewhere").get("status"), None, "no agent reports");

    fleet
        .set_fault(
            "cluster1",
            Fault::Unavailable {
                message: "crash loop".to_owned(),
            },
        )
        .expect("a running fleet");
    hub.until("its lease runs out", |hub| {
        available(hub) == "False: hello add-on is not available."
    })
    .await;

    fleet
        .set_fault("cluster1", Fault::Offline)
        .expect("a running fleet");
    let version = hub.version();
    pass(Duration::from_secs(30)).await;
    assert_eq!(available(&hub), "False: hello add-on is not available.", "silent");
    assert!(
        hub.version() > version,
        "the hub has observed that the cluster is down"
    );
    fleet.clear_faults("cluster1").expect("a running fleet");
    hub.until("it is back", |hub| {
        available(hub) == "True: hello add-on is available."
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_hub_reports_itself_is_left_to_it() {
    let hub = TestHub::new();
    let _fleet = fleet(&hub, 1, &[]).await;
    apply_addon(&hub, "cluster1");
    hub.edit("managedclusteraddons", "cluster1", "hello", |addon| {
        addon["status"] = json!({"healthCheck": {"mode": "Customized"}});
    });
    pass(Duration::from_mins(1)).await;
    assert_eq!(available(&hub), "");
}
