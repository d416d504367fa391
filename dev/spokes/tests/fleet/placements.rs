//! What placements get, and how that follows every change.

use std::time::Duration;

use serde_json::json;

use crate::{
    fixtures::{apply_placement, condition, decisions, fleet, pass, text},
    hub::TestHub,
};

#[tokio::test(start_paused = true)]
async fn placements_get_decisions_in_groups() {
    let hub = TestHub::new();
    let _fleet = fleet(&hub, 6, &[]).await;
    let canary = json!({"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"environment": "prod"}}}});
    apply_placement(
        &hub,
        json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 3, "decisionGroups": [canary]}}}),
    );
    hub.until("decisions", |hub| {
        decisions(hub).len() == 3 && decisions(hub)[2].ends_with("cluster5")
    })
    .await;
    assert_eq!(
        decisions(&hub),
        [
            "0/canary: cluster3 cluster6",
            "1/: cluster1 cluster2 cluster4",
            "2/: cluster5"
        ]
    );
    pass(Duration::from_secs(1)).await;
    let placement = hub.object("placements", "ns", "p");
    assert_eq!(
        condition(&placement, "PlacementSatisfied"),
        "True: All cluster decisions scheduled"
    );
    assert_eq!(
        condition(&placement, "PlacementMisconfigured"),
        "False: Placement configurations check pass"
    );
    assert_eq!(placement["status"]["numberOfSelectedClusters"], 6);
    assert_eq!(
        placement["status"]["decisionGroups"][1],
        json!({"decisionGroupIndex": 1, "decisionGroupName": "", "decisions": ["p-decision-2"], "clusterCount": 3})
    );
    let decision = hub.object("placementdecisions", "ns", "p-decision-1");
    let owner = &decision["metadata"]["ownerReferences"][0];
    assert_eq!(
        (text(owner, "/kind"), &owner["uid"]),
        ("Placement", &placement["metadata"]["uid"])
    );
    assert_eq!(
        condition(&hub.object("managedclustersets", "", "global"), "ClusterSetEmpty"),
        "False: 6 ManagedClusters selected"
    );
    assert_eq!(
        condition(&hub.object("managedclustersetbindings", "ns", "global"), "Bound"),
        "True: "
    );
}

#[tokio::test(start_paused = true)]
async fn decisions_follow_every_change() {
    let hub = TestHub::new();
    let _fleet = fleet(&hub, 4, &[]).await;
    apply_placement(
        &hub,
        json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 2}}}),
    );
    hub.until("two groups", |hub| {
        decisions(hub) == ["0/: cluster1 cluster2", "1/: cluster3 cluster4"]
    })
    .await;

    hub.edit("managedclusters", "", "cluster2", |object| {
        object["metadata"]["finalizers"] = json!(["example.com/holds-it"]);
    });
    hub.delete("managedclusters", "", "cluster2");
    hub.until("a terminating cluster is out", |hub| {
        decisions(hub) == ["0/: cluster1 cluster3", "1/: cluster4"]
    })
    .await;

    hub.delete("placementdecisions", "ns", "p-decision-1");
    hub.until("a deleted decision is back", |hub| {
        decisions(hub) == ["0/: cluster1 cluster3", "1/: cluster4"]
    })
    .await;

    hub.edit("placementdecisions", "ns", "p-decision-2", |object| {
        object["metadata"]["labels"]["cluster.open-cluster-management.io/decision-group-index"] = json!("7");
    });
    hub.until("a wrong label is set right", |hub| {
        decisions(hub) == ["0/: cluster1 cluster3", "1/: cluster4"]
    })
    .await;

    apply_placement(&hub, json!({"numberOfClusters": 1}));
    hub.until("a redundant decision goes", |hub| {
        decisions(hub) == ["0/: cluster1"]
    })
    .await;

    hub.delete("managedclustersetbindings", "ns", "global");
    hub.until("without a binding there is nothing", |hub| {
        decisions(hub) == ["0/: "]
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_placement_can_be_taken_out_of_the_schedule() {
    let hub = TestHub::new();
    let _fleet = fleet(&hub, 1, &[]).await;
    hub.apply(
        "placements",
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "Placement",
            "metadata": {
                "namespace": "ns",
                "name": "p",
                "annotations": {"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"},
            },
            "spec": {},
        }),
    );
    pass(Duration::from_mins(1)).await;
    assert_eq!(decisions(&hub), Vec::<String>::new());
}
