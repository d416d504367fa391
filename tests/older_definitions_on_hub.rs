//! The tide on a hub with Open Cluster Management's own definitions, which keep less of a status than ours: everything
//! works, and what is not kept is not written again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kube::api::ListParams;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate::api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use tidegate::controllers::TideOptions;

use crate::testkit::manifests::repository;
use crate::testkit::{hubs, manifests, waiting};

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
