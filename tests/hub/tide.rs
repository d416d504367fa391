//! The controllers on the dev hub with simulated clusters: installation, idle, upgrade, one failing cluster, deletion.

use std::collections::BTreeMap;
use std::time::Duration;

use api::v1alpha1::{AddOnDeploymentConfig, ClusterManagementAddOn, ManagedClusterAddOn};
use api::work::ManifestWork;
use devhub::TestHub;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use spokes::{Fault, Fleet};
use tidegate::controllers::{Tide, TideOptions};

use crate::kit::hubs::{self, condition};
use crate::kit::manifests;
use crate::kit::waiting::{self, eventually_or};

const ADDON: &str = "helloworld";
const CLUSTERS: usize = 5;

struct Scene {
    hub: TestHub,
    client: Client,
    fleet: Fleet,
    tide: Tide,
}

async fn scene() -> Scene {
    let hub = hubs::hub().await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &[]).await;
    let tide = hubs::tide(client.clone(), TideOptions::default()).await;
    hubs::load(&hub, manifests::examples()).await;
    Scene {
        hub,
        client,
        fleet,
        tide,
    }
}

impl Scene {
    fn instances(&self) -> Api<ManagedClusterAddOn> {
        Api::all(self.client.clone())
    }

    /// Reason of `Progressing` by cluster.
    async fn reasons(&self) -> BTreeMap<String, String> {
        let listed = self
            .instances()
            .list(&ListParams::default())
            .await
            .expect("a list");
        listed
            .items
            .iter()
            .map(|one| (one.namespace().unwrap_or_default(), condition(one, "Progressing")))
            .collect()
    }

    async fn all_are(&self, reason: &str) -> bool {
        let reasons = self.reasons().await;
        reasons.len() == CLUSTERS && reasons.values().all(|found| found.starts_with(reason))
    }

    async fn versions(&self) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::new();
        let everything = ListParams::default();
        for one in self.instances().list(&everything).await.expect("a list") {
            versions.insert(
                format!("mca {}", one.namespace().unwrap_or_default()),
                one.resource_version().unwrap_or_default(),
            );
        }
        for one in Api::<ManifestWork>::all(self.client.clone())
            .list(&everything)
            .await
            .expect("a list")
        {
            versions.insert(
                format!("work {}", one.namespace().unwrap_or_default()),
                one.resource_version().unwrap_or_default(),
            );
        }
        for one in Api::<ClusterManagementAddOn>::all(self.client.clone())
            .list(&everything)
            .await
            .expect("a list")
        {
            versions.insert(
                format!("cma {}", one.name_any()),
                one.resource_version().unwrap_or_default(),
            );
        }
        versions
    }

    async fn greet(&self, greeting: &str) {
        let configs: Api<AddOnDeploymentConfig> =
            Api::namespaced(self.client.clone(), "open-cluster-management");
        let patch = json!({"spec": {"customizedVariables": [{"name": "GREETING", "value": greeting}]}});
        configs
            .patch(ADDON, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .expect("the configuration changes");
    }

    async fn stop(self) {
        self.tide.shutdown().await;
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_add_on_is_installed_upgraded_and_removed_on_simulated_clusters() {
    let scene = scene().await;
    let mut told = scene.tide.progress();
    eventually_or(
        "all install",
        || scene.reasons(),
        || scene.all_are("InstallSucceed"),
    )
    .await;
    every_instance_carries_its_hashes(&scene).await;
    assert!(scene.tide.facts().load().is_complete());
    assert!(told.try_recv().is_ok(), "no notification");

    no_object_is_written(&scene).await;

    scene.greet("good morning").await;
    eventually_or(
        "all upgrade",
        || scene.reasons(),
        || scene.all_are("UpgradeSucceed"),
    )
    .await;

    one_cluster_fails_and_recovers(&scene).await;

    let addons: Api<ClusterManagementAddOn> = Api::all(scene.client.clone());
    addons
        .delete(ADDON, &kube::api::DeleteParams::default())
        .await
        .expect("the add-on is deleted");
    eventually_or(
        "nothing is left",
        || scene.reasons(),
        || async { scene.versions().await.is_empty() },
    )
    .await;
    scene.stop().await;
}

async fn every_instance_carries_its_hashes(scene: &Scene) {
    for instance in scene
        .instances()
        .list(&ListParams::default())
        .await
        .expect("a list")
    {
        assert_eq!(
            condition(&instance, "Ready"),
            "Ready True the add-on runs with the desired configuration"
        );
        let status = instance.status.clone().unwrap_or_default();
        let work: ManifestWork =
            Api::namespaced(scene.client.clone(), &instance.namespace().unwrap_or_default())
                .get("addon-helloworld-deploy-0")
                .await
                .expect("the work");
        let carried = &work.annotations()["open-cluster-management.io/config-spec-hash"];
        assert_eq!(status.config_references.len(), 2);
        for reference in &status.config_references {
            assert_eq!(reference.desired_config, reference.last_applied_config);
            assert!(carried.contains(&reference.desired_config_spec_hash), "{carried}");
        }
    }
}

async fn no_object_is_written(scene: &Scene) {
    // Once everything is done, nothing is written any more. Agents report on their own; give them time to finish.
    waiting::at_rest(Duration::from_secs(2), || scene.versions()).await;
}

async fn one_cluster_fails_and_recovers(scene: &Scene) {
    let fault = Fault::ApplyFailure {
        message: "disk full".to_owned(),
    };
    scene.fleet.set_fault("cluster3", fault).expect("a fault");
    scene.greet("good night").await;
    eventually_or(
        "one fails and the others finish",
        || scene.reasons(),
        || async {
            let reasons = scene.reasons().await;
            let failed = |(cluster, reason): (&String, &String)| {
                if cluster == "cluster3" {
                    reason.starts_with("UpgradeFailed False") && reason.contains("disk full")
                } else {
                    reason.starts_with("UpgradeSucceed")
                }
            };
            reasons.len() == CLUSTERS && reasons.iter().all(failed)
        },
    )
    .await;
    scene.fleet.clear_faults("cluster3").expect("a cluster");
    eventually_or(
        "the failed one recovers",
        || scene.reasons(),
        || scene.all_are("UpgradeSucceed"),
    )
    .await;
}
