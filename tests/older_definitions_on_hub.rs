//! The tide on a hub with Open Cluster Management's own definitions, which keep less of a status than ours: everything
//! works, and what is not kept is not written again and again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use devhub::DevHub;
use kube::api::ListParams;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use spokes::{Fleet, FleetOptions};
use tidegate::api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use tidegate::controllers::{Tide, TideOptions};

const CLUSTERS: usize = 3;

/// Upstream's definitions as our hub can serve them: without the version that needs a conversion. Kinds that upstream does
/// not have are ours.
fn older_definitions() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ocm-crds");
    let ours = tidegate::api::crds();
    let ours = ours
        .into_iter()
        .map(|crd| serde_json::to_value(crd).expect("a CRD is JSON"));
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

fn examples() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/examples");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the examples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    let texts = files
        .iter()
        .map(|file| std::fs::read_to_string(file).expect("an example"));
    texts
        .flat_map(|text| text.split("\n---\n").map(ToOwned::to_owned).collect::<Vec<_>>())
        .map(|document| serde_saphyr::from_str(&document).expect("YAML"))
        .collect()
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
    let builder = older_definitions()
        .into_iter()
        .fold(DevHub::builder(), devhub::Builder::crd);
    let hub = builder.start().await.expect("the hub starts");
    let client = hub.client();
    let options = FleetOptions {
        clusters: CLUSTERS,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(client.clone(), options)
        .await
        .expect("the fleet starts");
    let writes = Arc::new(AtomicUsize::new(0));
    let tide = Tide::start(
        counted(client.clone(), Arc::clone(&writes)),
        TideOptions::default(),
    )
    .await
    .expect("the tide starts");
    tide.synced().await;
    for object in examples() {
        hub.preload(&object).await.expect("an example is accepted");
    }
    for _ in 0..400 {
        if succeeded(&client).await == CLUSTERS {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(succeeded(&client).await, CLUSTERS);
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    let addon = addons.get("helloworld").await.expect("the add-on");
    assert_eq!(
        addon.status.expect("a status").conditions,
        [],
        "the hub drops them"
    );

    // The last labels and events come; then every further write would be one that is tried again.
    let mut before = writes.load(Ordering::SeqCst);
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = writes.load(Ordering::SeqCst);
        if now == before {
            break;
        }
        before = now;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(
        writes.load(Ordering::SeqCst),
        before,
        "something is written again and again"
    );
    tide.shutdown().await;
    fleet.shutdown().await;
    hub.shutdown().await;
}
