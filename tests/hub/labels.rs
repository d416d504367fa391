//! A hundred add-ons label one cluster at the same time: no add-on waits for another.

use std::time::{Duration, Instant};

use api::v1alpha1::ManagedClusterAddOn;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt};
use serde_json::json;
use tidegate::controllers::TideOptions;
use tidegate::telemetry::Metrics;

use crate::kit::{hubs, waiting};

const ADDONS: usize = 100;
const GROUP: &str = "addon.open-cluster-management.io/v1alpha1";

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_add_ons_label_one_cluster_without_a_conflict() {
    let hub = hubs::hub().await;
    let client = hub.client();
    let cluster = "cluster.open-cluster-management.io/v1";
    hubs::load(
        &hub,
        [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c1"}}),
            json!({"apiVersion": cluster, "kind": "ManagedCluster", "metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
        ],
    )
    .await;
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(client.clone(), "c1");
    let available = json!({"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Fine", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    for number in 0..ADDONS {
        let name = format!("a{number}");
        let addon = json!({"apiVersion": GROUP, "kind": "ClusterManagementAddOn", "metadata": {"name": name}, "spec": {}});
        let instance = json!({"apiVersion": GROUP, "kind": "ManagedClusterAddOn", "metadata": {"name": name, "namespace": "c1"}, "spec": {}});
        hubs::load(&hub, [addon, instance]).await;
        let patched = instances
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(&available))
            .await;
        patched.expect("the add-on is available");
    }
    let metrics = Metrics::default();
    let options = TideOptions {
        metrics: metrics.clone(),
        ..TideOptions::default()
    };
    let begun = Instant::now();
    let tide = hubs::tide(client.clone(), options).await;
    let resource = ApiResource {
        group: "cluster.open-cluster-management.io".to_owned(),
        version: "v1".to_owned(),
        api_version: cluster.to_owned(),
        kind: "ManagedCluster".to_owned(),
        plural: "managedclusters".to_owned(),
    };
    let clusters: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let labelled = async || {
        let found = clusters.get("c1").await.expect("the cluster");
        found
            .labels()
            .keys()
            .filter(|key| key.starts_with("feature.open-cluster-management.io/addon-"))
            .count()
    };
    assert!(
        waiting::comes(|| async { labelled().await == ADDONS }).await,
        "{} labels",
        labelled().await
    );
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let text = metrics.text();
    let conflicts = text
        .lines()
        .find(|line| line.contains("managedclusters") && line.contains("Conflict"));
    assert_eq!(conflicts, None, "writers do not conflict");
    tide.shutdown().await;
    hub.shutdown().await;
}
