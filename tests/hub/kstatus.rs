//! kstatus on a hub with controllers and clusters: a tool that watches an add-on from its creation never reports it as done before its
//! last cluster has it, and never as failed.
//!
//! `tests/pure/kstatus.rs` has the rules of kstatus.

use futures::{Stream, StreamExt as _};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;
use tidegate::controllers::TideOptions;

use crate::kit::hubs;
use crate::kit::manifests::documents;
use crate::pure::health::judged;
use crate::pure::kstatus::{Health, kstatus};

const CLUSTERS: usize = 3;

/// Applies an object as Flux does.
pub(crate) async fn apply(client: &Client, object: &Value) {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let metadata = &object["metadata"];
    let api: Api<DynamicObject> = match metadata["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams::apply("kustomize-controller").force();
    let name = metadata["name"].as_str().expect("a name");
    api.patch(name, &params, &Patch::Apply(object))
        .await
        .expect("it is applied");
}

pub(crate) fn of(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        "addon.open-cluster-management.io",
        "v1alpha1",
        kind,
    ))
}

/// Watches an add-on until it is taken for done; returns how often it was seen, and how many of its instances were ready then, or the
/// error of the API server that ended the watch.
async fn judge(
    events: impl Stream<Item = kube::Result<WatchEvent<DynamicObject>>>,
    instances: Api<DynamicObject>,
) -> Result<(usize, usize), String> {
    let mut events = std::pin::pin!(events);
    let mut seen = 0;
    while let Some(event) = events.next().await {
        let addon = match event.expect("an event") {
            WatchEvent::Added(addon) | WatchEvent::Modified(addon) => addon,
            WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(status) => return Err(status.message),
        };
        seen += 1;
        let addon = serde_json::to_value(&addon).expect("an object is JSON");
        match kstatus(&addon) {
            Health::InProgress => {}
            Health::Current => {
                let all = instances
                    .list(&ListParams::default())
                    .await
                    .expect("a list")
                    .items;
                let all = all.iter().map(|one| serde_json::to_value(one).expect("JSON"));
                let done = all.filter(|one| {
                    kstatus(one) == Health::Current && one.pointer("/status/conditions").is_some()
                });
                return Ok((seen, done.count()));
            }
            wrong @ (Health::Failed | Health::Terminating) => {
                assert_eq!(wrong, Health::InProgress, "{addon:#}");
            }
        }
    }
    // The watch ended before the add-on was done.
    Ok((seen, 0))
}

/// The checks of both tools report the real objects on the hub as healthy.
async fn everything_is_healthy(client: &Client) {
    let mut objects = Vec::new();
    for (group, version, kind) in [
        (
            "addon.open-cluster-management.io",
            "v1alpha1",
            "ClusterManagementAddOn",
        ),
        (
            "addon.open-cluster-management.io",
            "v1alpha1",
            "ManagedClusterAddOn",
        ),
        ("work.open-cluster-management.io", "v1", "ManifestWork"),
        ("cluster.open-cluster-management.io", "v1beta1", "Placement"),
    ] {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let found = api.list(&ListParams::default()).await.expect("a list").items;
        assert!(!found.is_empty(), "{kind}");
        objects.extend(found.into_iter().map(|object| {
            let mut object = serde_json::to_value(object).expect("JSON");
            object["kind"] = Value::from(kind);
            object
        }));
    }
    for (judged, object) in judged(objects.clone()).into_iter().zip(objects) {
        assert_eq!(judged, ("Healthy".to_owned(), Health::Current), "{object:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_an_add_on_waits_for_its_last_cluster() {
    let hub = hubs::hub().await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &[]).await;
    fleet.ready().await.expect("the clusters have joined");
    let tide = hubs::tide(client.clone(), TideOptions::default()).await;
    hubs::load(
        &hub,
        documents("manifests/examples/02-cluster-set.yaml")
            .into_iter()
            .take(1),
    )
    .await;
    let addons: Api<DynamicObject> = Api::all_with(client.clone(), &of("ClusterManagementAddOn"));
    let instances: Api<DynamicObject> = Api::all_with(client.clone(), &of("ManagedClusterAddOn"));
    // A watch from version 0 with bookmarks is a streaming list, which an API server refuses whose etcd does not report
    // the progress of watches (before 3.5.13).
    let params = WatchParams::default().disable_bookmarks();
    let events = addons.watch(&params, "0").await.expect("a watch").boxed();
    let watcher = tokio::spawn(judge(events, instances));
    // By kind, as Flux sorts them: the placement comes after the add-on that names it.
    let folder = documents("manifests/gitops/example/kustomization.yaml").remove(0);
    let files = folder["resources"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(Value::as_str);
    let mut objects: Vec<Value> = files
        .flat_map(|file| documents(&format!("manifests/gitops/example/{file}")))
        .collect();
    objects.sort_by_key(|object| (object["kind"] != "Namespace", object["kind"].to_string()));
    for object in &objects {
        apply(&client, object).await;
    }
    let watched = watcher.await.expect("no failure was observed");
    let (seen, done) = watched.expect("the watch lasts until the add-on is done");
    assert!(seen > 1, "it was observed in progress");
    assert_eq!(done, CLUSTERS);
    everything_is_healthy(&client).await;
    tide.shutdown().await;
    fleet.shutdown().await;
    hub.shutdown().await;
}
