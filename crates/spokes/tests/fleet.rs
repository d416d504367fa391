//! Whole fleets on a hub in memory, with the clock paused: registration, placement, work, faults, and silence after.

#![expect(
    clippy::needless_pass_by_value,
    reason = "rows of JSON read better without borrows"
)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use spokes::{Fault, FaultRule, Faults, Fleet, FleetError, FleetOptions};
use support::{TestHub, condition, pass, text};

const AVAILABLE: &str = "ManagedClusterConditionAvailable";

async fn fleet(hub: &TestHub, clusters: usize, faults: &[&str]) -> Fleet {
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

fn apply_work(hub: &TestHub, cluster: &str, spec: Value) {
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

fn workload(replicas: i64) -> Value {
    json!({"workload": {"manifests": [{
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "agents", "name": "agent"},
        "spec": {"replicas": replicas},
    }]}})
}

fn work(hub: &TestHub, cluster: &str) -> Value {
    hub.object("manifestworks", cluster, "w")
}

/// Whether the agent has said something about the newest generation.
fn is_observed(work: &Value) -> bool {
    let conditions = work.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|list| {
        list.iter()
            .all(|condition| condition["observedGeneration"] == work["metadata"]["generation"])
    })
}

fn apply_placement(hub: &TestHub, spec: Value) {
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
fn decisions(hub: &TestHub) -> Vec<String> {
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
        object["metadata"]["finalizers"] = json!(["somebody/holds-it"]);
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
    hub.until("the work is gone", |hub| work(hub, "cluster1").is_null())
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
        "nobody lets go of it"
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
