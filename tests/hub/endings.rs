//! Deletion of add-ons on the dev hub with simulated clusters: hooks run, nothing is left, no cluster blocks.

use std::collections::BTreeMap;
use std::time::Duration;

use api::cluster::ManagedCluster;
use api::v1alpha1::{AddOnTemplate, ClusterManagementAddOn, ManagedClusterAddOn};
use api::work::ManifestWork;
use devhub::TestHub;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use spokes::{Fault, Fleet};
use tidegate::controllers::{Tide, TideOptions};

use crate::kit::hubs;
use crate::kit::waiting::{self, eventually_or};

const CLUSTERS: usize = 3;
const LABEL: &str = "feature.open-cluster-management.io/addon-parting";
const HOOK: &str = "addon-parting-pre-delete";

struct Scene {
    hub: TestHub,
    client: Client,
    fleet: Fleet,
    tide: Tide,
}

fn objects() -> Vec<Value> {
    let group = "addon.open-cluster-management.io";
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}),
        json!({"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "global", "namespace": "ns"}, "spec": {"clusterSet": "global"}}),
        json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": "all", "namespace": "ns"}, "spec": {"clusterSets": ["global"]}}),
        json!({"apiVersion": format!("{group}/v1alpha1"), "kind": "AddOnTemplate", "metadata": {"name": "parting"},
        "spec": {"addonName": "parting", "agentSpec": {"workload": {"manifests": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "default"},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {
                    "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}},
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bye", "namespace": "default",
                "annotations": {"addon.open-cluster-management.io/addon-pre-delete": ""}},
                "spec": {"template": {"spec": {"restartPolicy": "Never",
                    "containers": [{"name": "bye", "image": "a", "args": ["{{CLUSTER_NAME}}"]}]}}}},
        ]}}}}),
        json!({"apiVersion": format!("{group}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": "parting"},
            "spec": {"supportedConfigs": [
                {"group": group, "resource": "addontemplates", "defaultConfig": {"name": "parting"}}],
                "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "ns"}]}}}),
    ]
}

async fn scene(faults: &[&str]) -> Scene {
    let hub = hubs::hub().await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, faults).await;
    let tide = hubs::tide(client.clone(), TideOptions::default()).await;
    hubs::load(&hub, objects()).await;
    let scene = Scene {
        hub,
        client,
        fleet,
        tide,
    };
    let installed = || async {
        let left = scene.left().await;
        left.values().filter(|line| line.contains("available")).count() == CLUSTERS
    };
    eventually_or(
        "every cluster tells that it has the add-on",
        || scene.left(),
        installed,
    )
    .await;
    scene
}

impl Scene {
    /// Everything of the add-on that is on the hub, and what marks or holds it.
    async fn left(&self) -> BTreeMap<String, String> {
        let all = ListParams::default();
        let mut left = BTreeMap::new();
        let clusters: Api<ManagedCluster> = Api::all(self.client.clone());
        for one in clusters.list(&all).await.expect("a list") {
            if let Some(value) = one.labels().get(LABEL) {
                left.insert(format!("label {}", one.name_any()), value.clone());
            }
        }
        let instances: Api<ManagedClusterAddOn> = Api::all(self.client.clone());
        for one in instances.list(&all).await.expect("a list") {
            let hook = hubs::condition(&one, "HookManifestCompleted");
            left.insert(place("mca", &one), format!("{:?} {hook}", one.finalizers()));
        }
        let works: Api<ManifestWork> = Api::all(self.client.clone());
        for one in works.list(&all).await.expect("a list") {
            left.insert(place("work", &one), format!("{:?}", one.finalizers()));
        }
        let addons: Api<ClusterManagementAddOn> = Api::all(self.client.clone());
        for one in addons.list(&all).await.expect("a list") {
            left.insert(place("cma", &one), String::new());
        }
        left
    }

    async fn delete_addon(&self, params: &DeleteParams) {
        let addons: Api<ClusterManagementAddOn> = Api::all(self.client.clone());
        addons
            .delete("parting", params)
            .await
            .expect("the add-on is deleted");
    }

    async fn nothing_is_left(&self) {
        eventually_or(
            "nothing is left",
            || self.left(),
            || async { self.left().await.is_empty() },
        )
        .await;
        for cluster in self.fleet.clusters() {
            assert_eq!(self.fleet.objects(&cluster), vec![], "{cluster} is not clean");
        }
    }

    async fn stop(self) {
        self.tide.shutdown().await;
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

fn place(kind: &str, object: &impl ResourceExt) -> String {
    format!(
        "{kind} {}/{}",
        object.namespace().unwrap_or_default(),
        object.name_any()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uninstall_runs_the_hooks_and_leaves_nothing_behind() {
    // One cluster fails until it has been seen to: its hook is tried again.
    let scene = scene(&["cluster2=hook-failure,work=*-pre-delete:not yet"]).await;
    let held = "[\"addon.open-cluster-management.io/addon-pre-delete\"] ";
    assert_eq!(scene.left().await["mca cluster1/parting"], held);
    let mut told = scene.tide.progress();

    // As `kubectl delete -f` does it: the template goes first.
    let templates: Api<AddOnTemplate> = Api::all(scene.client.clone());
    templates
        .delete("parting", &DeleteParams::default())
        .await
        .expect("the template is deleted");
    waiting::at_rest(Duration::from_millis(300), || scene.left()).await;
    scene.delete_addon(&DeleteParams::default()).await;
    eventually_or(
        "a hook fails",
        || scene.left(),
        || async {
            let left = scene.left().await;
            left.get("mca cluster2/parting")
                .is_some_and(|line| line.contains("HookFailed False") && line.contains("not yet"))
        },
    )
    .await;
    scene.fleet.clear_faults("cluster2").expect("a cluster");
    scene.nothing_is_left().await;

    let mut lines = Vec::new();
    while let Ok(note) = told.try_recv() {
        lines.push(note.to_string());
    }
    for cluster in ["cluster1", "cluster2", "cluster3"] {
        let line = format!("{cluster} parting: pre-delete hook succeeded");
        assert!(lines.contains(&line), "{line}: {lines:#?}");
    }
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreground_deletion_honours_the_hooks_too() {
    let scene = scene(&[]).await;
    let mut told = scene.tide.progress();
    scene.delete_addon(&DeleteParams::foreground()).await;
    scene.nothing_is_left().await;
    let mut succeeded = 0;
    while let Ok(note) = told.try_recv() {
        succeeded += usize::from(note.to_string().ends_with("pre-delete hook succeeded"));
    }
    assert_eq!(succeeded, CLUSTERS);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_stay_until_they_are_deleted() {
    let scene = scene(&[]).await;
    let params = DeleteParams {
        propagation_policy: Some(kube::api::PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    scene.delete_addon(&params).await;
    eventually_or(
        "the add-on is deleted",
        || scene.left(),
        || async { !scene.left().await.contains_key("cma /parting") },
    )
    .await;
    assert_eq!(
        waiting::at_rest(Duration::from_secs(1), || scene.left())
            .await
            .len(),
        3 * CLUSTERS,
        "instances, works and labels stay"
    );
    for cluster in scene.fleet.clusters() {
        let instances: Api<ManagedClusterAddOn> = Api::namespaced(scene.client.clone(), &cluster);
        instances
            .delete("parting", &DeleteParams::default())
            .await
            .expect("it is deleted");
    }
    scene.nothing_is_left().await;
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_has_vanished_does_not_block() {
    let scene = scene(&["cluster3=hook-hang"]).await;
    scene
        .fleet
        .set_fault("cluster1", Fault::Offline)
        .expect("a running fleet");
    scene.delete_addon(&DeleteParams::default()).await;
    // The second one is done; the first cannot be reached and the third hangs: both still wait.
    eventually_or(
        "two are left",
        || scene.left(),
        || async {
            let left = scene.left().await;
            !left.contains_key("mca cluster2/parting")
                && left.contains_key(&format!("work cluster1/{HOOK}"))
                && left.contains_key(&format!("work cluster3/{HOOK}"))
        },
    )
    .await;
    let clusters: Api<ManagedCluster> = Api::all(scene.client.clone());
    clusters
        .delete("cluster1", &DeleteParams::default())
        .await
        .expect("the cluster is deleted");
    eventually_or(
        "its objects are deleted",
        || scene.left(),
        || async { !scene.left().await.keys().any(|key| key.contains("cluster1")) },
    )
    .await;
    assert!(
        scene.left().await.contains_key("mca cluster3/parting"),
        "this one is still there"
    );

    // An administrator has the hooks of the one that hangs skipped.
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(scene.client.clone(), "cluster3");
    let skip = json!({"metadata": {"annotations": {"tidegate.io/skip-hooks": "true"}}});
    instances
        .patch("parting", &PatchParams::default(), &Patch::Merge(&skip))
        .await
        .expect("an annotation");
    eventually_or(
        "nothing is left",
        || scene.left(),
        || async { scene.left().await.is_empty() },
    )
    .await;
    scene.stop().await;
}
