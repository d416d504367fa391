//! The controllers on a hub with Open Cluster Management's own CRDs, which prune parts of our status: everything
//! works, and pruned fields are not written repeatedly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::AddOnRollout;
use api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use store::{RollUps, Settings};
use tidegate::controllers::TideOptions;

use crate::kit::manifests::repository;
use crate::kit::{hubs, manifests, waiting};

const CLUSTERS: usize = 3;

/// Upstream's definitions as our hub can serve them: without the version that needs a conversion. Kinds that upstream does
/// not have are ours.
fn older_definitions() -> Vec<Value> {
    let folder = repository("tests/data/ocm-crds");
    let ours = hubs::definitions().into_iter();
    ours.map(|ours| {
        let plural = ours["spec"]["names"]["plural"].as_str().expect("a plural");
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{plural}.yaml"))) else {
            return ours;
        };
        let mut theirs: Value = serde_saphyr::from_str(&text).expect("YAML");
        let versions = theirs["spec"]["versions"].as_array_mut().expect("versions");
        if versions.iter().any(|version| version["name"] == "v1alpha1") {
            versions.retain(|version| version["name"] != "v1beta1");
            for version in versions {
                version["storage"] = json!(true);
            }
        }
        theirs
    })
    .collect()
}

/// A client that counts what writes.
fn counted(client: Client, writes: Arc<AtomicUsize>) -> Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        if request.method() != http::Method::GET {
            writes.fetch_add(1, Ordering::SeqCst);
        }
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

async fn succeeded(client: &Client) -> usize {
    let instances: Api<ManagedClusterAddOn> = Api::all(client.clone());
    let listed = instances.list(&ListParams::default()).await.expect("a list");
    let done = |one: &&ManagedClusterAddOn| {
        let conditions = one.status.iter().flat_map(|status| &status.conditions);
        conditions
            .into_iter()
            .any(|one| one.type_ == "Progressing" && one.reason == "InstallSucceed")
    };
    listed.items.iter().filter(done).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_older_definitions_drop_is_written_once_and_then_left_out() {
    let hub = hubs::hub_with(older_definitions()).await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &[]).await;
    let writes = Arc::new(AtomicUsize::new(0));
    let manager = counted(client.clone(), Arc::clone(&writes));
    let tide = hubs::tide(manager, TideOptions::default()).await;
    hubs::load(&hub, manifests::examples()).await;
    let installed = waiting::comes(|| async { succeeded(&client).await == CLUSTERS }).await;
    assert!(installed, "{} have it", succeeded(&client).await);
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    let addon = addons.get("helloworld").await.expect("the add-on");
    assert_eq!(
        addon.status.expect("a status").conditions,
        [],
        "the hub drops them"
    );

    // The last labels and events come; then every further write would be one that is tried again.
    waiting::at_rest(Duration::from_secs(3), async || writes.load(Ordering::SeqCst)).await;
    tide.shutdown().await;
    fleet.shutdown().await;
    hub.shutdown().await;
}

fn in_own_kind() -> TideOptions {
    TideOptions {
        settings: Settings {
            roll_ups: RollUps::InOwnKind,
            ..Settings::default()
        },
        ..TideOptions::default()
    }
}

/// The roll-up of the add-on as JSON, once it says that all clusters have it.
async fn ready_roll_up(client: &Client) -> Option<Value> {
    let all: Api<AddOnRollout> = Api::all(client.clone());
    let found = all.get_opt("helloworld").await.expect("an answer")?;
    let found = serde_json::to_value(found).expect("JSON");
    let conditions = found["status"]["conditions"].as_array()?.clone();
    let is_ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    conditions.iter().any(is_ready).then_some(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_of_our_own_tells_the_health_that_older_definitions_drop() {
    let hub = hubs::hub_with(older_definitions()).await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &[]).await;
    let writes = Arc::new(AtomicUsize::new(0));
    let manager = counted(client.clone(), Arc::clone(&writes));
    let tide = hubs::tide(manager, in_own_kind()).await;
    hubs::load(&hub, manifests::examples()).await;
    assert!(waiting::comes(|| async { ready_roll_up(&client).await.is_some() }).await);
    let told = ready_roll_up(&client).await.expect("it stays");
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    let addon = addons.get("helloworld").await.expect("the add-on");
    assert_eq!(
        json!(addon.metadata.uid),
        told["metadata"]["ownerReferences"][0]["uid"]
    );
    assert_eq!(
        addon.status.expect("a status").conditions,
        [],
        "the hub drops them there"
    );
    let status = &told["status"];
    let generation = &told["metadata"]["generation"];
    assert_eq!(status["observedGeneration"], *generation, "kstatus compares them");
    assert_eq!(
        status["conditions"][0]["observedGeneration"], *generation,
        "kubectl wait compares them"
    );
    assert_eq!(status["addonGeneration"], json!(addon.metadata.generation));
    assert_eq!(
        (&status["clusters"]["ready"], &status["clusters"]["total"]),
        (&json!(CLUSTERS), &json!(CLUSTERS))
    );
    let is_completed = || async {
        let told = ready_roll_up(&client).await.unwrap_or_default();
        told["status"]["placements"][0]["reason"] == "Completed"
    };
    assert!(
        waiting::comes(is_completed).await,
        "{:?}",
        ready_roll_up(&client).await
    );

    // Whatever is written again and again would be written now.
    waiting::at_rest(Duration::from_secs(3), async || writes.load(Ordering::SeqCst)).await;

    // A deleted roll-up is created again, and one of a self-managed add-on is deleted.
    let all: Api<AddOnRollout> = Api::all(client.clone());
    all.delete("helloworld", &DeleteParams::default())
        .await
        .expect("it goes");
    assert!(waiting::comes(|| async { ready_roll_up(&client).await.is_some() }).await);
    let own = json!({"metadata": {"annotations": {"addon.open-cluster-management.io/lifecycle": "self"}}});
    let (params, own) = (PatchParams::default(), Patch::Merge(own));
    let patched = addons.patch("helloworld", &params, &own).await;
    patched.expect("an annotation");
    let gone = || async { all.get_opt("helloworld").await.expect("an answer").is_none() };
    assert!(waiting::comes(gone).await);
    tide.shutdown().await;
    fleet.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_the_kind_is_driven_all_the_same() {
    let mut definitions = older_definitions();
    definitions.retain(|one| one["spec"]["names"]["plural"] != "addonrollouts");
    let hub = hubs::hub_with(definitions).await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &[]).await;
    let tide = hubs::tide(client.clone(), in_own_kind()).await;
    hubs::load(&hub, manifests::examples()).await;
    let installed = waiting::comes(|| async { succeeded(&client).await == CLUSTERS }).await;
    assert!(installed, "{} have it", succeeded(&client).await);
    tide.shutdown().await;
    fleet.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_label_selector_strategy_cannot_be_stored_there_and_the_hub_says_what_can() {
    let hub = hubs::hub_with(older_definitions()).await;
    let addon = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"}, "spec": {"installStrategy": {"type": "ClusterLabelSelector",
            "labelSelector": {"matchLabels": {"env": "prod"}}}}});
    let refused = hub
        .preload(&addon)
        .await
        .expect_err("the enumeration has no such strategy");
    let told = format!("{refused:?}");
    assert!(
        told.contains("spec.installStrategy.type") && told.contains("Placements"),
        "{told}"
    );
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposed_field_is_stored_where_the_definition_has_it_and_dropped_elsewhere() {
    let dependency = json!([{"name": "base", "type": "Required"}]);
    let addon = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"}, "spec": {"dependencies": [{"name": "base"}]}});
    for (definitions, expected) in [
        (hubs::definitions(), dependency),
        (older_definitions(), Value::Null),
    ] {
        let hub = hubs::hub_with(definitions).await;
        hubs::load(&hub, [addon.clone()]).await;
        let addons: Api<ClusterManagementAddOn> = Api::all(hub.client());
        let stored = addons.get("hello").await.expect("the add-on");
        assert_eq!(json!(stored)["spec"]["dependencies"], expected);
        hub.shutdown().await;
    }
}
