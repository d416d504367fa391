//! A dev hub with clusters, controllers and the webhook.

use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use admission::{Endpoint, configurations};
use devhub::TestHub;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};
use spokes::Fleet;
use tidegate::controllers::{Tide, TideOptions};
use tidegate::server::{Authority, Gate, GateOptions};
use tokio::time::Instant;

use super::tools::{Tool, Trial};
use crate::kit::hubs;
use crate::kit::waiting::eventually;

/// Everything that runs.
pub(crate) struct Scene {
    hub: TestHub,
    client: Client,
    fleet: Fleet,
    tide: Tide,
    gate: Gate,
    guards: [Value; 2],
}

impl Scene {
    /// Starts everything. The add-on `placed` is for both clusters, and its placement gives an install namespace.
    pub(crate) async fn start() -> Self {
        let hub = hubs::hub().await;
        let fleet = hubs::fleet(hub.client(), 2, &[]).await;
        let tide = Tide::start(hub.client(), TideOptions::default())
            .await
            .expect("the controllers start");
        let authority = Authority::generate().expect("an authority");
        let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
        let options = GateOptions {
            metrics: tidegate::telemetry::Metrics::default(),
            witness: None,
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            certificate: issued.certificate().clone(),
            name: None,
            callers: tidegate::server::Callers::default(),
            health: tidegate::server::Health::default(),
            facts: tide.facts(),
            rulebook: Arc::default(),
        };
        let gate = Gate::start(options).await.expect("the gate starts");
        let endpoint = Endpoint::Url(format!("https://{}", gate.address()));
        let guards = configurations(&endpoint, Some(authority.ca_pem()));
        tide.synced().await;
        let scene = Self {
            client: hub.client(),
            hub,
            fleet,
            tide,
            gate,
            guards,
        };
        scene.furnish().await;
        scene
    }

    async fn furnish(&self) {
        self.fleet.ready().await.expect("the clusters have joined");
        for guard in &self.guards {
            self.hub.preload(guard).await.expect("the gate is registered");
        }
        let cluster = "cluster.open-cluster-management.io";
        let objects = [
            json!({ "apiVersion": format!("{cluster}/v1beta2"), "kind": "ManagedClusterSet", "metadata": { "name": "global" },
                "spec": { "clusterSelector": { "selectorType": "LabelSelector", "labelSelector": {} } } }),
            json!({ "apiVersion": format!("{cluster}/v1beta2"), "kind": "ManagedClusterSetBinding",
                "metadata": { "name": "global", "namespace": "default" }, "spec": { "clusterSet": "global" } }),
            json!({ "apiVersion": format!("{cluster}/v1beta1"), "kind": "Placement",
                "metadata": { "name": "all", "namespace": "default" }, "spec": { "clusterSets": ["global"] } }),
            json!({ "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
                "metadata": { "name": "placed", "annotations": { "addon.open-cluster-management.io/lifecycle": "self" } },
                "spec": { "supportedConfigs": [{ "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs" }],
                    "installStrategy": { "type": "Placements", "placements": [{ "name": "all", "namespace": "default",
                        "addonSpec": { "installNamespace": "placed-here" } }] } } }),
        ];
        for object in objects {
            self.hub.preload(&object).await.expect("the object is accepted");
        }
        // The gate knows the placement's clusters when it fills in a namespace.
        eventually("the gate knows where the add-on goes", async || {
            let probe = json!({ "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
                "metadata": { "name": "placed", "namespace": "cluster2", "labels": { "probe": "yes" } }, "spec": {} });
            let promised = self.server_side(&probe, "probe", true).await;
            promised.pointer("/spec/installNamespace") == Some(&json!("placed-here"))
        })
        .await;
    }

    /// Applies a manifest with a tool.
    pub(crate) async fn apply(&self, tool: &dyn Tool, manifest: &Value) {
        match tool.manager() {
            Some(manager) => {
                self.server_side(manifest, manager, false).await;
            }
            None => self.client_side(manifest).await,
        }
    }

    /// Returns what a tool takes for a difference between a manifest and the hub.
    ///
    /// The tool compares two responses of the hub. A controller's write in between is not drift: then both are requested again.
    pub(crate) async fn difference(&self, tool: &dyn Tool, manifest: &Value) -> Option<String> {
        let Some(manager) = tool.manager() else {
            return tool.difference(manifest, &self.live_with_owners(manifest).await, &Value::Null);
        };
        let patience = patience();
        loop {
            let live = self.live_with_owners(manifest).await;
            let predicted = self.server_side(manifest, manager, true).await;
            let after = self.live_with_owners(manifest).await;
            if after["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"] {
                return tool.difference(manifest, &live, &predicted);
            }
            assert!(
                Instant::now() < patience,
                "a client never stops writing: {manifest}"
            );
        }
    }

    /// Server-side apply, as all GitOps tools do it: by force.
    pub(crate) async fn server_side(&self, manifest: &Value, manager: &str, dry_run: bool) -> Value {
        plain(self.try_server_side(manifest, manager, dry_run).await, manifest)
    }

    async fn try_server_side(
        &self,
        manifest: &Value,
        manager: &str,
        dry_run: bool,
    ) -> kube::Result<DynamicObject> {
        let mut params = PatchParams::apply(manager).force();
        params.dry_run = dry_run;
        self.api(manifest)
            .patch(name(manifest), &params, &Patch::Apply(manifest))
            .await
    }

    async fn try_to_apply(&self, tool: &dyn Tool, manifest: &Value) -> kube::Result<DynamicObject> {
        match tool.manager() {
            Some(manager) => self.try_server_side(manifest, manager, false).await,
            None => self.try_client_side(manifest).await,
        }
    }

    /// Applies with a tool; after a conflict, a second time.
    pub(crate) async fn sync(&self, tool: &dyn Tool, manifest: &Value) {
        let mut outcome = self.try_to_apply(tool, manifest).await;
        if matches!(&outcome, Err(kube::Error::Api(status)) if status.code == 409) {
            outcome = self.try_to_apply(tool, manifest).await;
        }
        plain(outcome, manifest);
    }

    /// Applies with a tool in its force mode.
    pub(crate) async fn forced(&self, tool: &dyn Tool, manifest: &Value) -> Trial {
        match self.try_to_apply(tool, manifest).await {
            Ok(_) => Trial::Applied,
            Err(kube::Error::Api(status)) if tool.deletes_after(status.code) => {
                self.delete(manifest).await;
                drop(self.try_to_apply(tool, manifest).await);
                Trial::DeletedFirst
            }
            Err(_) => Trial::Refused,
        }
    }

    /// Lets a tool prune what was deleted in Git; returns whether it does.
    pub(crate) async fn prune(&self, tool: &dyn Tool, manifest: &Value) -> bool {
        let pruned = tool.prunes(&self.live(manifest).await);
        if pruned {
            self.delete(manifest).await;
        }
        pruned
    }

    /// Deletes the object of a manifest.
    pub(crate) async fn delete(&self, manifest: &Value) {
        let api = self.api(manifest);
        let gone = api.delete(name(manifest), &DeleteParams::default()).await;
        assert!(gone.is_ok(), "{gone:?}");
    }

    /// Returns the object of a manifest, if it is there.
    pub(crate) async fn there(&self, manifest: &Value) -> Option<Value> {
        let found = self.api(manifest).get_opt(name(manifest)).await;
        let found = found.expect("the hub answers");
        found.map(|found| serde_json::to_value(found).expect("an object is JSON"))
    }

    /// Client-side apply: what was applied last is kept in an annotation, and lists are replaced.
    async fn client_side(&self, manifest: &Value) {
        plain(self.try_client_side(manifest).await, manifest);
    }

    async fn try_client_side(&self, manifest: &Value) -> kube::Result<DynamicObject> {
        let mut wanted = manifest.clone();
        wanted["metadata"]["annotations"][LAST_APPLIED] = json!(manifest.to_string());
        let api = self.api(manifest);
        let params = PatchParams {
            field_manager: Some("kubectl-client-side-apply".to_owned()),
            ..PatchParams::default()
        };
        let live = api.get_opt(name(manifest)).await.expect("the hub answers");
        if let Some(live) = &live {
            let annotations = live.metadata.annotations.as_ref();
            let last = annotations.and_then(|all| serde_json::from_str(all.get(LAST_APPLIED)?).ok());
            remove_omitted(&last.unwrap_or_default(), &mut wanted);
        }
        if live.is_none() {
            let object = serde_json::from_value(wanted).expect("an object");
            let params = PostParams {
                field_manager: params.field_manager,
                ..PostParams::default()
            };
            api.create(&params, &object).await
        } else {
            api.patch(name(manifest), &params, &Patch::Merge(wanted)).await
        }
    }

    /// Creates without any record of the manifest.
    pub(crate) async fn create(&self, manifest: &Value) {
        let object = serde_json::from_value(manifest.clone()).expect("an object");
        plain(
            self.api(manifest).create(&PostParams::default(), &object).await,
            manifest,
        );
    }

    /// Creates while the gate is not asked.
    pub(crate) async fn create_behind_the_gates_back(&self, manifest: &Value) {
        for guard in &self.guards {
            let gone = self
                .api(guard)
                .delete(name(guard), &DeleteParams::default())
                .await;
            assert!(gone.is_ok(), "{gone:?}");
        }
        self.create(manifest).await;
        for guard in &self.guards {
            self.hub.preload(guard).await.expect("the gate is registered");
        }
    }

    /// Edits by hand.
    pub(crate) async fn edit(&self, manifest: &Value, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        plain(
            self.api(manifest)
                .patch(name(manifest), &params, &Patch::Merge(patch))
                .await,
            manifest,
        );
    }

    /// Patches with a JSON patch.
    pub(crate) async fn json_patch(&self, manifest: &Value, patch: Value) {
        let patch = Patch::Json::<()>(serde_json::from_value(patch).expect("a patch"));
        let params = PatchParams::default();
        plain(
            self.api(manifest).patch(name(manifest), &params, &patch).await,
            manifest,
        );
    }

    /// Reads the object of a manifest, without its owners.
    pub(crate) async fn live(&self, manifest: &Value) -> Value {
        let mut live = self.live_with_owners(manifest).await;
        if let Some(metadata) = live["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        live
    }

    /// Reads the object of a manifest.
    pub(crate) async fn live_with_owners(&self, manifest: &Value) -> Value {
        plain(self.api(manifest).get(name(manifest)).await, manifest)
    }

    /// Waits until the controllers have had their say about an add-on instance.
    pub(crate) async fn settled(&self, manifest: &Value) {
        eventually("the controllers have written a status", async || {
            let live = self.live(manifest).await;
            live.pointer("/status/conditions").is_some()
        })
        .await;
    }

    fn api(&self, manifest: &Value) -> Api<DynamicObject> {
        let text = |name: &str| manifest[name].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        match manifest["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    /// Ends everything.
    pub(crate) async fn stop(self) {
        self.fleet.shutdown().await;
        self.tide.shutdown().await;
        self.gate.shutdown().await;
        self.hub.shutdown().await;
    }
}

/// Where client-side apply keeps what it applied.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn name(manifest: &Value) -> &str {
    manifest["metadata"]["name"]
        .as_str()
        .expect("a manifest has a name")
}

fn plain<E: Display>(outcome: Result<DynamicObject, E>, manifest: &Value) -> Value {
    let outcome = outcome.map_err(|error| format!("{error}: {manifest}"));
    serde_json::to_value(outcome.expect("the hub accepts it")).expect("an object is JSON")
}

/// When a test stops waiting.
fn patience() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

/// Removes what was applied last and is in the manifest no more.
fn remove_omitted(last: &Value, wanted: &mut Value) {
    for (key, was) in last.as_object().into_iter().flatten() {
        match wanted.get_mut(key) {
            Some(now) if now.is_object() => remove_omitted(was, now),
            Some(_) => {}
            None => wanted[key] = Value::Null,
        }
    }
}
