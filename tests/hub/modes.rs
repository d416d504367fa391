//! Tidegate next to OCM's add-on manager: that manager's add-ons are not changed while it holds its Lease, and only then.

use std::time::Duration;

use api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use devhub::TestHub;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate::controllers::{ElectionOptions, Pace, StockLease, Tide, TideOptions, identity};
use tidegate::telemetry::Metrics;

use crate::kit::{hubs, waiting};

const STOCK: &str = "cluster-manager-addon-manager-controller-1_0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10";

async fn hub() -> TestHub {
    let hub = hubs::hub().await;
    let objects = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c1"}}),
        json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": "c1", "labels": {"env": "prod"}}, "spec": {"hubAcceptsClient": true}}),
    ];
    hubs::load(&hub, objects).await;
    hub
}

async fn beside(client: Client) -> (Tide, Metrics) {
    let metrics = Metrics::default();
    let options = TideOptions {
        metrics: metrics.clone(),
        stock: Some(StockLease {
            namespace: "default".to_owned(),
            name: "manager-lock".to_owned(),
        }),
        ..TideOptions::default()
    };
    (hubs::tide(client, options).await, metrics)
}

async fn lease(client: &Client, holder: &str, seconds: i32) {
    let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": seconds});
    let lease: Lease =
        serde_json::from_value(json!({"metadata": {"name": "manager-lock"}, "spec": spec})).expect("a lease");
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    leases
        .create(&PostParams::default(), &lease)
        .await
        .expect("stored");
}

async fn now_held_by(client: &Client, holder: &str) {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    let patch = Patch::Merge(json!({"spec": {"holderIdentity": holder}}));
    leases
        .patch("manager-lock", &PatchParams::default(), &patch)
        .await
        .expect("patched");
}

async fn give(client: &Client, name: &str, lifecycle: Option<&str>) {
    let annotations = lifecycle.map_or_else(
        || json!({}),
        |value| json!({"addon.open-cluster-management.io/lifecycle": value}),
    );
    let addon: Value = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": name, "annotations": annotations}, "spec": {"installStrategy": {"type": "ClusterLabelSelector",
            "labelSelector": {"matchLabels": {"env": "prod"}}}}});
    let addon: ClusterManagementAddOn = serde_json::from_value(addon).expect("an add-on");
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    addons
        .create(&PostParams::default(), &addon)
        .await
        .expect("stored");
}

async fn is_there(client: &Client, name: &str) -> bool {
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(client.clone(), "c1");
    instances.get_opt(name).await.expect("an answer").is_some()
}

async fn comes(client: &Client, name: &str) {
    waiting::eventually(name, || is_there(client, name)).await;
}

/// Name and revision of every add-on and instance: what changes with every write.
async fn revisions(client: &Client) -> Vec<String> {
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    let instances: Api<ManagedClusterAddOn> = Api::all(client.clone());
    let addons = addons.list(&ListParams::default()).await.expect("add-ons").items;
    let instances = instances
        .list(&ListParams::default())
        .await
        .expect("instances")
        .items;
    let addons = addons.into_iter().map(|one| one.metadata);
    let all = addons.chain(instances.into_iter().map(|one| one.metadata));
    all.map(|meta| format!("{:?} {:?} {:?}", meta.namespace, meta.name, meta.resource_version))
        .collect()
}

fn says(metrics: &Metrics, holder: &str) -> bool {
    let line = format!("tidegate_leader{{lease=\"stock\",holder=\"{holder}\"}} 1");
    metrics.text().lines().any(|found| found == line)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ocms_is_left_alone_while_its_manager_holds_its_lease() {
    let hub = hub().await;
    let client = hub.client();
    lease(&client, STOCK, 3600).await;
    let (tide, metrics) = beside(hub.client()).await;
    give(&client, "unmarked", None).await;
    give(&client, "ocms", Some("addon-manager")).await;
    give(&client, "ours", Some("tidegate")).await;
    comes(&client, "ours").await;
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    let absent = async || {
        let status = addons.get("unmarked").await.expect("it is there").status;
        // What the definition gives every new one.
        let untouched = serde_json::to_value(status).expect("JSON") == json!({"observedGeneration": -1});
        untouched && !is_there(&client, "unmarked").await && !is_there(&client, "ocms").await
    };
    assert!(
        waiting::stays(Duration::from_secs(2), absent).await,
        "what is another's was written"
    );
    assert!(says(&metrics, "stock"), "{}", metrics.text());

    // It stops, and gives its lease back: all are managed here.
    now_held_by(&client, "").await;
    comes(&client, "unmarked").await;
    comes(&client, "ocms").await;
    assert!(says(&metrics, "none"), "{}", metrics.text());

    // It starts again: its objects are no longer written, and at rest nothing is.
    now_held_by(&client, STOCK).await;
    waiting::eventually("it is seen", || async { says(&metrics, "stock") }).await;
    waiting::at_rest(Duration::from_secs(3), || revisions(&client)).await;
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(client.clone(), "c1");
    instances
        .delete("unmarked", &DeleteParams::default())
        .await
        .expect("deleted");
    give(&client, "another", None).await;
    let before = revisions(&client).await;
    let same = async || revisions(&client).await == before;
    assert!(
        waiting::stays(Duration::from_secs(3), same).await,
        "what is another's was written"
    );
    tide.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_is_reported_whichever_program_it_is() {
    let hub = hub().await;
    let client = hub.client();
    lease(&client, STOCK, 3600).await;
    let metrics = Metrics::default();
    let options = TideOptions {
        metrics: metrics.clone(),
        election: Some(ElectionOptions {
            namespace: "default".to_owned(),
            name: "manager-lock".to_owned(),
            identity: identity("pod-1", "0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f11"),
            pace: Pace {
                retry: Duration::from_millis(50),
                ..Pace::default()
            },
        }),
        // The same Lease: a replica that does not hold it writes nothing at all.
        stock: Some(StockLease {
            namespace: "default".to_owned(),
            name: "manager-lock".to_owned(),
        }),
        ..TideOptions::default()
    };
    let tide = hubs::tide(hub.client(), options).await;
    let says = |holder: &str| {
        let line = format!("tidegate_leader{{lease=\"election\",holder=\"{holder}\"}} 1");
        metrics.text().lines().any(|found| found == line)
    };
    waiting::eventually("OCM's manager leads", || async { says("stock") }).await;
    give(&client, "unmarked", None).await;
    let absent = async || !is_there(&client, "unmarked").await;
    assert!(waiting::stays(Duration::from_secs(1), absent).await);
    now_held_by(&client, "").await;
    waiting::eventually("Tidegate leads", || async { says("tidegate") }).await;
    comes(&client, "unmarked").await;
    tide.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_lease_excludes_no_replica() {
    let hub = hub().await;
    let client = hub.client();
    lease(&client, STOCK, 1).await;
    let (tide, metrics) = beside(hub.client()).await;
    give(&client, "unmarked", None).await;
    comes(&client, "unmarked").await;
    assert!(says(&metrics, "none"), "{}", metrics.text());
    tide.shutdown().await;
    hub.shutdown().await;
}

/// `clusteradm addon enable` replaces all annotations of an instance that is there. A user who takes the mark away keeps the
/// instance (`docs/install-addons.md`), and the planner cannot tell one from the other: it is driven as before, and not taken away until
/// it is marked again.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_annotations_are_replaced_stays_until_it_is_marked_again() {
    let hub = hub().await;
    let client = hub.client();
    let clusters: Api<api::cluster::ManagedCluster> = Api::all(client.clone());
    let merge = PatchParams::default();
    let copied = "addon.open-cluster-management.io/tier";
    let annotated = Patch::Merge(json!({"metadata": {"annotations": {(copied): "gold"}}}));
    clusters.patch("c1", &merge, &annotated).await.expect("patched");
    let tide = hubs::tide(
        hub.client(),
        TideOptions {
            settings: store::Settings {
                decision_grace: Duration::ZERO,
                ..Default::default()
            },
            ..TideOptions::default()
        },
    )
    .await;
    give(&client, "hello", None).await;
    comes(&client, "hello").await;
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(client.clone(), "c1");
    let params = PostParams::default();
    // The controllers may write in between.
    waiting::until("it is replaced", || async {
        let mut found = instances.get("hello").await.expect("it is there");
        let by = [("by".to_owned(), "other".to_owned())].into();
        let before = found.metadata.annotations.replace(by).unwrap_or_default();
        let mark = before.get("tidegate.io/installed-by").map(String::as_str);
        assert_eq!(mark, Some("label-selector"));
        instances.replace("hello", &params, &found).await.ok()
    })
    .await;
    let annotation = async |key: &str| {
        let found = instances.get_opt("hello").await.expect("an answer")?;
        found.metadata.annotations.unwrap_or_default().get(key).cloned()
    };
    waiting::eventually("the cluster's annotation comes back", || async {
        annotation(copied).await.as_deref() == Some("gold")
    })
    .await;
    let away = Patch::Merge(json!({"metadata": {"labels": {"env": null}}}));
    clusters.patch("c1", &merge, &away).await.expect("patched");
    assert!(
        waiting::stays(Duration::from_secs(2), || is_there(&client, "hello")).await,
        "what has no mark is not ours to take away"
    );
    let marked =
        Patch::Merge(json!({"metadata": {"annotations": {"tidegate.io/installed-by": "label-selector"}}}));
    instances.patch("hello", &merge, &marked).await.expect("patched");
    waiting::eventually("it goes", || async { !is_there(&client, "hello").await }).await;
    tide.shutdown().await;
    hub.shutdown().await;
}
