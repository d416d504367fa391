//! Events on the dev hub: their objects and messages, a summary when many clusters change, and none when nothing changes.

use std::collections::BTreeMap;
use std::time::Duration;

use api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use devhub::TestHub;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use spokes::{Fault, Fleet};
use tidegate::controllers::{EventBudget, Tide, TideOptions};

use crate::kit::{hubs, waiting};

const GROUP: &str = "addon.open-cluster-management.io";
const CLUSTERS: usize = 8;
const EVENTS_OF_ALL: &str = "events in `default` about objects without a namespace";

struct Scene {
    hub: TestHub,
    client: Client,
    fleet: Fleet,
    tide: Tide,
}

async fn scene(events: EventBudget) -> Scene {
    let hub = hubs::hub().await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &[]).await;
    fleet.ready().await.expect("the clusters are there");
    let options = TideOptions {
        events,
        ..TideOptions::default()
    };
    let tide = hubs::tide(client.clone(), options).await;
    Scene {
        hub,
        client,
        fleet,
        tide,
    }
}

/// A template add-on on every cluster.
fn addon() -> [Value; 2] {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent", "namespace": "default"}});
    let template = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnTemplate", "metadata": {"name": "hello"},
        "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}}});
    let spec = json!({"supportedConfigs": [{"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": "hello"}}],
        "installStrategy": {"type": "ClusterLabelSelector", "labelSelector": {}}});
    let addon = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"}, "spec": spec});
    [template, addon]
}

impl Scene {
    async fn install(&self) {
        for object in addon() {
            self.hub.preload(&object).await.expect("it is accepted");
        }
    }

    async fn events(&self) -> Vec<Event> {
        let all: Api<Event> = Api::all(self.client.clone());
        let listed = all.list(&ListParams::default()).await.expect("a list");
        let ours = |event: &Event| event.reporting_controller.as_deref() == Some("tidegate.io/controllers");
        listed.items.into_iter().filter(ours).collect()
    }

    /// How many events there are of each kind of object and reason.
    async fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for event in self.events().await {
            let kind = event
                .regarding
                .and_then(|regarding| regarding.kind)
                .unwrap_or_default();
            *counts
                .entry(format!("{kind} {}", event.reason.unwrap_or_default()))
                .or_default() += 1;
        }
        counts
    }

    async fn until(
        &self,
        what: &str,
        is_so: impl Fn(&BTreeMap<String, usize>) -> bool,
    ) -> BTreeMap<String, usize> {
        for _ in 0..600 {
            let counts = self.counts().await;
            if is_so(&counts) {
                return counts;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let counts = self.counts().await;
        assert!(is_so(&counts), "{what}: {counts:#?}");
        counts
    }

    async fn stop(self) {
        self.tide.shutdown().await;
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transition_is_an_event_on_its_object() {
    let scene = scene(EventBudget::default()).await;
    if hubs::lacks(&scene.hub, EVENTS_OF_ALL, 21).await {
        return scene.stop().await;
    }
    scene.install().await;
    scene
        .until("all events exist", |counts| {
            counts.get("ManagedClusterAddOn InstallSucceed") == Some(&CLUSTERS)
                && counts.contains_key("ClusterManagementAddOn Ready")
        })
        .await;
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(scene.client.clone(), "cluster3");
    let instance = instances.get("hello").await.expect("the add-on");
    let told: Vec<Event> = scene.events().await;
    let of_cluster3 = |event: &&Event| event.metadata.namespace.as_deref() == Some("cluster3");
    for event in told.iter().filter(of_cluster3) {
        let regarding = event.regarding.clone().unwrap_or_default();
        assert_eq!(regarding.uid, instance.metadata.uid, "it is found by uid");
        assert_eq!(regarding.name.as_deref(), Some("hello"));
        assert_eq!(
            (event.type_.as_deref(), event.action.as_deref()),
            (Some("Normal"), Some("Install"))
        );
    }
    let words: Vec<&str> = told
        .iter()
        .filter(of_cluster3)
        .filter_map(|event| event.note.as_deref())
        .collect();
    assert!(words.contains(&"install completed with no errors."), "{words:?}");
    let addons: Api<ClusterManagementAddOn> = Api::all(scene.client.clone());
    let addon = addons.get("hello").await.expect("the add-on");
    let whole = told
        .iter()
        .find(|event| event.reason.as_deref() == Some("Ready"))
        .expect("the event exists");
    assert_eq!(whole.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(whole.note.as_deref(), Some("8 of 8 clusters are ready"));
    assert_eq!(
        whole.regarding.clone().unwrap_or_default().uid,
        addon.metadata.uid
    );

    no_events_without_changes(&scene).await;
    a_cluster_that_loses_the_add_on_says_why(&scene).await;
    scene.stop().await;
}

async fn no_events_without_changes(scene: &Scene) {
    waiting::at_rest(Duration::from_secs(2), || scene.counts()).await;
}

async fn a_cluster_that_loses_the_add_on_says_why(scene: &Scene) {
    let clusters: Api<api::cluster::ManagedCluster> = Api::all(scene.client.clone());
    let patch = json!({"metadata": {"annotations": {"tidegate.io/opt-out": "hello"}}});
    clusters
        .patch("cluster5", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("the cluster opts out");
    scene
        .until("the event exists", |counts| {
            counts.contains_key("ManagedClusterAddOn Removed")
        })
        .await;
    let events = scene.events().await;
    let removed = events
        .iter()
        .find(|event| event.reason.as_deref() == Some("Removed"))
        .expect("the event exists");
    assert_eq!(removed.note.as_deref(), Some("the cluster has opted out"));
    assert_eq!(removed.metadata.namespace.as_deref(), Some("cluster5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clusters_are_a_few_events_and_a_summary_and_failures_are_still_reported() {
    let budget = EventBudget {
        burst: 3,
        refill: Duration::from_hours(1),
        summary_after: Duration::from_secs(1),
    };
    let scene = scene(budget).await;
    if hubs::lacks(&scene.hub, EVENTS_OF_ALL, 21).await {
        return scene.stop().await;
    }
    let fault = Fault::ApplyFailure {
        message: "disk full".to_owned(),
    };
    scene.fleet.set_fault("cluster3", fault).expect("a fault");
    scene.install().await;
    let counts = scene
        .until("the summary and the failure", |counts| {
            counts.contains_key("ClusterManagementAddOn EventsSummarized")
                && counts.contains_key("ManagedClusterAddOn InstallFailed")
        })
        .await;
    let normal: usize = ["Installing", "InstallSucceed"]
        .iter()
        .filter_map(|reason| counts.get(&format!("ManagedClusterAddOn {reason}")))
        .sum();
    assert_eq!(normal, 3, "{counts:?}");
    let events = scene.events().await;
    let find = |reason: &str| {
        let mut all = events.iter();
        all.find(|event| event.reason.as_deref() == Some(reason))
            .expect("the event exists")
    };
    let summary = find("EventsSummarized").note.clone().unwrap_or_default();
    assert!(summary.contains("more events are summarized here"), "{summary}");
    let failed = find("InstallFailed");
    assert_eq!(failed.type_.as_deref(), Some("Warning"));
    assert!(
        failed
            .note
            .as_deref()
            .is_some_and(|note| note.contains("disk full")),
        "{failed:?}"
    );
    scene.stop().await;
}
