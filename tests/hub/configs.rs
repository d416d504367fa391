//! Configurations of any kind on the dev hub: a custom kind that appears late, a ConfigMap, a Secret that is never read,
//! thousands of types, and a hub that denies access.
//!
//! Every request of the controllers passes a proxy that records it and can deny it as a hub without permissions does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::hash::SpecHash;
use api::v1alpha1::ManagedClusterAddOn;
use api::work::ManifestWork;
use devhub::TestHub;
use http::{Request, Response};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::client::Body;
use kube::core::ApiResource;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use spokes::Fleet;
use tidegate::controllers::{Tide, TideOptions};

use crate::kit::alone::is_alone;
use crate::kit::hubs;
use crate::kit::waiting::{eventually, stays};

const ADDON: &str = "configured";
const GROUP: &str = "addon.open-cluster-management.io";

/// What the controllers ask the hub: paths with the form that they accept; and the paths that are refused.
#[derive(Debug, Clone, Default)]
struct Gate {
    asked: Arc<Mutex<Vec<(String, String)>>>,
    refused: Arc<Mutex<Vec<&'static str>>>,
}

impl Gate {
    fn refuse(&self, resources: &[&'static str]) {
        *self.refused.lock().expect("a lock") = resources.to_vec();
    }

    fn client(&self, hub: &TestHub) -> Client {
        let (gate, inner) = (self.clone(), hub.client());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (gate, inner) = (gate.clone(), inner.clone());
            async move {
                match gate.refusal(&request) {
                    Some(refusal) => Ok(refusal),
                    None => inner.send(request).await,
                }
            }
        });
        Client::new(service, "default")
    }

    fn refusal(&self, request: &Request<Body>) -> Option<Response<Body>> {
        let path = request.uri().to_string();
        let accept = request.headers().get("accept");
        let accept = accept.and_then(|value| value.to_str().ok()).unwrap_or_default();
        self.asked
            .lock()
            .expect("a lock")
            .push((path.clone(), accept.to_owned()));
        let refused = self.refused.lock().expect("a lock");
        let resource = refused
            .iter()
            .find(|resource| path.contains(&format!("/{resource}")))?;
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403,
            "reason": "Forbidden", "message": format!("{resource} is forbidden")});
        let body = Body::from(status.to_string().into_bytes());
        Some(Response::builder().status(403).body(body).expect("a response"))
    }

    /// Requests whose path names the resource.
    fn asked_for(&self, resource: &str) -> Vec<(String, String)> {
        let asked = self.asked.lock().expect("a lock");
        let named = asked
            .iter()
            .filter(|(path, _)| path.contains(&format!("/{resource}")));
        named.cloned().collect()
    }
}

struct Scene {
    hub: TestHub,
    fleet: Fleet,
    tide: Tide,
    gate: Gate,
}

/// A hub with two clusters; `left_out` are definitions that it lacks.
async fn scene(gate: Gate, left_out: &[&str]) -> Scene {
    let mut definitions = hubs::definitions();
    definitions.retain(|crd| !left_out.iter().any(|name| crd["metadata"]["name"] == **name));
    let hub = hubs::hub_with(definitions).await;
    let fleet = hubs::fleet(hub.client(), 2, &[]).await;
    let tide = Tide::start(gate.client(&hub), TideOptions::default())
        .await
        .expect("the controllers start");
    tokio::time::timeout(Duration::from_mins(1), tide.synced())
        .await
        .expect("every kind is listed");
    Scene {
        hub,
        fleet,
        tide,
        gate,
    }
}

impl Scene {
    async fn put(&self, object: Value) {
        self.hub.preload(&object).await.expect("the object is accepted");
    }

    /// The add-on with its template, and with defaults of the given types.
    async fn put_addon(&self, defaults: &[Value]) {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent", "namespace": "default"},
            "data": {"cluster": "{{CLUSTER_NAME}}"}});
        self.put(
            json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnTemplate", "metadata": {"name": ADDON},
            "spec": {"addonName": ADDON, "agentSpec": {"workload": {"manifests": [manifest]}}}}),
        )
        .await;
        let cluster = "cluster.open-cluster-management.io";
        self.put(
            json!({"apiVersion": format!("{cluster}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "global"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}}),
        )
        .await;
        self.put(
            json!({"apiVersion": format!("{cluster}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "global", "namespace": "default"}, "spec": {"clusterSet": "global"}}),
        )
        .await;
        self.put(
            json!({"apiVersion": format!("{cluster}/v1beta1"), "kind": "Placement",
            "metadata": {"name": "all", "namespace": "default"}, "spec": {"clusterSets": ["global"]}}),
        )
        .await;
        let template =
            json!({"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": ADDON}});
        let supported: Vec<&Value> = std::iter::once(&template).chain(defaults).collect();
        self.put(
            json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": ADDON},
            "spec": {"supportedConfigs": supported, "installStrategy": {"type": "Placements",
                "placements": [{"name": "all", "namespace": "default"}]}}}),
        )
        .await;
    }

    async fn instances(&self) -> Vec<ManagedClusterAddOn> {
        let api: Api<ManagedClusterAddOn> = Api::all(self.hub.client());
        api.list(&ListParams::default()).await.expect("a list").items
    }

    /// `<reason> <message>` of a condition on both clusters.
    async fn conditions(&self, kind: &str) -> Vec<String> {
        let said = |instance: &ManagedClusterAddOn| {
            let status = instance.status.clone().unwrap_or_default();
            let found = status.conditions.into_iter().find(|one| one.type_ == kind);
            found
                .map(|one| format!("{} {}", one.reason, one.message))
                .unwrap_or_default()
        };
        self.instances().await.iter().map(said).collect()
    }

    /// Waits until both clusters report it.
    async fn said(&self, kind: &str, begin: &str) {
        let say_so = |said: &[String]| said.len() == 2 && said.iter().all(|one| one.starts_with(begin));
        let mut said = self.conditions(kind).await;
        for _ in 0..600 {
            if say_so(&said) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            said = self.conditions(kind).await;
        }
        assert!(say_so(&said), "{kind} should say {begin:?}: {said:#?}");
    }

    /// Desired hash of a resource on a cluster, where the work carries the same and the agent has confirmed it.
    async fn hash(&self, cluster: &str, resource: &str) -> Option<String> {
        let instances = self.instances().await;
        let instance = instances
            .into_iter()
            .find(|one| one.namespace().as_deref() == Some(cluster))?;
        let references = instance.status?.config_references;
        let reference = references.into_iter().find(|one| one.resource == resource)?;
        let works: Api<ManifestWork> = Api::namespaced(self.hub.client(), cluster);
        let work = works
            .get_opt("addon-configured-deploy-0")
            .await
            .expect("an answer")?;
        let carried = work
            .annotations()
            .get("open-cluster-management.io/config-spec-hash")?
            .clone();
        let hash = reference.desired_config?.spec_hash;
        let confirmed = reference.last_applied_config?.spec_hash;
        (confirmed == hash && carried.contains(&hash)).then_some(hash)
    }

    async fn has_hash(&self, cluster: &str, resource: &str, content: &Value) {
        let wanted = SpecHash::of(content).to_string();
        eventually(&format!("{resource} on {cluster}"), || async {
            self.hash(cluster, resource).await.as_deref() == Some(&*wanted)
        })
        .await;
    }

    async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: &Value) {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        let (namespace, name) = name.split_once('/').expect("a namespace");
        let api: Api<DynamicObject> = Api::namespaced_with(self.hub.client(), namespace, &resource);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("the object changes");
    }

    async fn stop(self) {
        self.tide.shutdown().await;
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

fn gadgets() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "gadgets", "singular": "gadget",
            "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}})
}

fn default_of(group: &str, resource: &str, name: &str) -> Value {
    json!({"group": group, "resource": resource, "defaultConfig": {"name": name, "namespace": "default"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn configurations_of_any_kind_travel_by_their_hash() {
    let scene = scene(Gate::default(), &[]).await;
    let data = json!({"data": {"a": "1", "b": "x"}});
    scene
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"},
            "data": {"a": "1", "b": "x"}}))
        .await;
    let defaults = [
        default_of("", "configmaps", "settings"),
        default_of("example.com", "gadgets", "g"),
        json!({"group": "", "resource": "secrets"}),
    ];
    scene.put_addon(&defaults).await;
    let missing = "ConfigurationKindNotServed configuration gadgets.example.com/default/g (a default of the add-on) is of a kind that the hub does not serve";
    scene.said("Configured", missing).await;
    // The kind appears, and then the object.
    scene.put(gadgets()).await;
    scene
        .said(
            "Configured",
            "ConfigurationNotFound configuration gadgets.example.com/default/g (a default of the add-on) does not exist",
        )
        .await;
    scene
        .put(json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g", "namespace": "default"},
            "spec": {"size": 1}}))
        .await;
    scene.said("Progressing", "InstallSucceed").await;
    scene.has_hash("cluster1", "configmaps", &data).await;
    scene
        .has_hash("cluster2", "gadgets", &json!({"spec": {"size": 1}}))
        .await;
    edits_arrive(&scene).await;
    only_what_is_referred_to_is_read(&scene).await;
    a_secret_is_never_asked_for(&scene).await;
    scene.stop().await;
}

async fn edits_arrive(scene: &Scene) {
    scene
        .patch(
            "v1",
            "ConfigMap",
            "default/settings",
            &json!({"data": {"a": "2"}}),
        )
        .await;
    let data = json!({"data": {"a": "2", "b": "x"}});
    scene.has_hash("cluster1", "configmaps", &data).await;
    scene.has_hash("cluster2", "configmaps", &data).await;
    let patch = json!({"spec": {"size": 2}});
    scene.patch("example.com/v1", "Gadget", "default/g", &patch).await;
    scene.has_hash("cluster2", "gadgets", &patch).await;
}

/// An object of one cluster's own, beside one that no reference names.
async fn only_what_is_referred_to_is_read(scene: &Scene) {
    let content = json!({"data": {"k": "v"}});
    for name in ["own", "unrelated"] {
        scene
            .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "cluster1"},
                "data": {"k": "v"}}))
            .await;
    }
    refer(
        scene,
        &json!([{"group": "", "resource": "configmaps", "name": "own", "namespace": "cluster1"}]),
    )
    .await;
    scene.has_hash("cluster1", "configmaps", &content).await;
    for (path, accept) in scene.gate.asked_for("configmaps") {
        let is_read = path.starts_with("/api/v1/namespaces/");
        assert!(!path.contains("unrelated"), "{path}");
        assert!(
            is_read || accept.contains("PartialObjectMetadata"),
            "{path} {accept}"
        );
    }
    refer(scene, &Value::Null).await;
    eventually("the defaults are back", || async {
        scene.hash("cluster1", "configmaps").await == scene.hash("cluster2", "configmaps").await
    })
    .await;
}

async fn refer(scene: &Scene, configs: &Value) {
    let own = json!({"spec": {"configs": configs}});
    let addons: Api<ManagedClusterAddOn> = Api::namespaced(scene.hub.client(), "cluster1");
    let patched = addons
        .patch(ADDON, &PatchParams::default(), &Patch::Merge(&own))
        .await;
    patched.expect("the add-on changes");
}

/// A user who can write a reference can have the controllers follow it: not to credentials.
async fn a_secret_is_never_asked_for(scene: &Scene) {
    scene
        .put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "cluster1"},
            "type": "Opaque", "data": {"k": "c2VjcmV0"}}))
        .await;
    refer(
        scene,
        &json!([{"group": "", "resource": "secrets", "name": "token", "namespace": "cluster1"}]),
    )
    .await;
    let why = "ConfigurationTypeOffLimits configuration secrets/cluster1/token (from the ManagedClusterAddOn) is not read, because its type cannot be a configuration";
    eventually("the reference is refused", || async {
        scene
            .conditions("Configured")
            .await
            .iter()
            .any(|said| said.starts_with(why))
    })
    .await;
    assert!(
        scene.gate.asked_for("secrets").is_empty(),
        "no Secret is listed, watched or read"
    );
    refer(scene, &Value::Null).await;
}

/// Three thousand types that no hub serves are one question, not thousands.
#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_types_cost_the_hub_next_to_nothing() {
    if !is_alone("hub::configs::thousands_of_types_cost_the_hub_next_to_nothing") {
        return;
    }
    let scene = scene(Gate::default(), &[]).await;
    scene.put_addon(&[]).await;
    let files = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    scene.said("Progressing", "InstallSucceed").await;
    let open = files();
    let types: Vec<Value> = (0..3_000)
        .map(|number| json!({"group": format!("g{number}.example.com"), "resource": "things", "namespace": "default", "name": "x"}))
        .collect();
    refer(&scene, &Value::from(types)).await;
    let asked = || {
        scene
            .gate
            .asked_for("apis")
            .iter()
            .filter(|(path, _)| path.ends_with("/apis"))
            .count()
    };
    let modest = stays(Duration::from_secs(8), async || {
        asked() <= 4 && files() <= open + 10
    })
    .await;
    assert!(
        modest,
        "{} times the hub was asked for its groups; {} connections, {open} before",
        asked(),
        files()
    );
    refer(&scene, &Value::Null).await;
    scene.said("Configured", "ConfigurationsConfigured").await;
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forbidden_kind_is_reported_with_the_missing_permission_and_recovers_without_a_restart() {
    let gate = Gate::default();
    gate.refuse(&["configmaps"]);
    let scene = scene(gate, &[]).await;
    scene
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"},
            "data": {"a": "1"}}))
        .await;
    scene.put_addon(&[default_of("", "configmaps", "settings")]).await;
    scene
        .said("Configured", "ConfigurationForbidden configuration configmaps/default/settings (a default of the add-on) cannot be read: the hub refuses")
        .await;
    let said = scene.conditions("Configured").await;
    assert!(
        said.iter()
            .all(|said| said.contains("configmaps; the controller needs get, list and watch")),
        "{said:?}"
    );
    scene.gate.refuse(&[]);
    scene.said("Configured", "ConfigurationsConfigured").await;
    scene.said("Progressing", "InstallSucceed").await;
    scene
        .has_hash("cluster1", "configmaps", &json!({"data": {"a": "1"}}))
        .await;
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_lacks_a_definition_is_driven_all_the_same() {
    let hub_configs = "addonhubconfigs.addon.open-cluster-management.io";
    let scene = scene(Gate::default(), &[hub_configs]).await;
    let default = json!({"group": GROUP, "resource": "addonhubconfigs", "defaultConfig": {"name": "hub"}});
    scene.put_addon(&[default]).await;
    scene
        .said(
            "Configured",
            "ConfigurationNotFound configuration addonhubconfigs.addon.open-cluster-management.io/hub",
        )
        .await;
    let definition = api::crds().into_iter().find(|crd| crd.name_any() == hub_configs);
    scene
        .put(serde_json::to_value(definition.expect("the definition")).expect("a CRD is JSON"))
        .await;
    scene
        .put(json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnHubConfig", "metadata": {"name": "hub"},
            "spec": {"desiredVersion": "v1"}}))
        .await;
    scene.said("Configured", "ConfigurationsConfigured").await;
    scene.stop().await;
}
