//! The shell of a neighbour: it looks at the hub whenever something changes there, and writes what `decide` says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{StreamExt, future, stream};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::decide::{ADDON_NAME, Key, Scene, Write, decide};
use super::framework::{ConfigKind, Framework};
use crate::wire::Kind;

/// How long changes are collected before the hub is read again; who lost a race looks again after as long.
const PAUSE: Duration = Duration::from_millis(50);
const ADDON_GROUP: &str = "addon.open-cluster-management.io";

/// A neighbour could not be started.
#[derive(Debug, thiserror::Error)]
pub enum NeighbourError {
    /// The hub does not serve what the program needs.
    #[error("cannot read the hub")]
    ReadHub(#[source] Box<kube::Error>),
}

/// A program at work. Dropping it ends it without waiting.
#[derive(Debug)]
pub struct Neighbour {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Neighbour {
    /// Starts the program of an add-on on the hub that this client talks to.
    pub async fn start(client: Client, framework: Framework) -> Result<Self, NeighbourError> {
        let shell = Shell { client, framework };
        let first = shell.read().await;
        first.map_err(|source| NeighbourError::ReadHub(Box::new(source)))?;
        let stop = CancellationToken::new();
        let ended = stop.clone();
        #[expect(clippy::disallowed_methods, reason = "the handle of this very value ends it")]
        let task = tokio::spawn(async move {
            tokio::select! { () = ended.cancelled() => {}, () = shell.run() => {} }
        });
        Ok(Self { stop, task })
    }

    /// Ends the program and waits until it makes no more calls. What it wrote stays.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        let _ended = (&mut self.task).await.is_ok();
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Shell {
    client: Client,
    framework: Framework,
}

/// Everything that the program looks at.
struct HubObjects {
    addon: Option<Value>,
    instances: Vec<Value>,
    clusters: Vec<Value>,
    works: Vec<Value>,
    configs: BTreeMap<(String, String, String), Value>,
}

impl Shell {
    async fn run(&self) {
        let kinds = [
            Kind::ManagedCluster.resource(),
            Kind::ManagedClusterAddOn.resource(),
            Kind::ManifestWork.resource(),
            addons(),
        ];
        let configs = self.framework.types.iter().map(of_config);
        let watches = kinds.into_iter().chain(configs).map(|resource| {
            let api = Api::<DynamicObject>::all_with(self.client.clone(), &resource);
            let watch = watcher::watcher(api, watcher::Config::default()).default_backoff();
            watch.filter_map(|change| future::ready(change.ok())).boxed()
        });
        let mut changes = stream::select_all(watches);
        while changes.next().await.is_some() {
            while !self.act().await {
                tokio::time::sleep(PAUSE).await;
            }
            // What has come meanwhile was seen; one change more than that wakes the program again.
            tokio::time::sleep(PAUSE).await;
            while future::poll_immediate(changes.next()).await.flatten().is_some() {}
            while !self.act().await {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Writes what is to be written; returns whether nothing was.
    async fn act(&self) -> bool {
        let Ok(seen) = self.read().await else {
            return false;
        };
        let Some(addon) = &seen.addon else { return true };
        let names: BTreeSet<String> = seen.clusters.iter().map(name).collect();
        let absent = Value::Null;
        let mut is_quiet = true;
        for instance in &seen.instances {
            let home = |cluster: &&Value| {
                cluster.pointer("/metadata/name") == instance.pointer("/metadata/namespace")
            };
            let scene = Scene {
                addon,
                instance,
                cluster: seen.clusters.iter().find(home).unwrap_or(&absent),
                clusters: &names,
                works: &seen.works,
                configs: &seen.configs,
            };
            for write in decide(&self.framework, &scene, Timestamp::now()) {
                is_quiet = false;
                if let Err(error) = self.write(&scene, write).await {
                    debug!(%error, "write conflict, retrying");
                }
            }
        }
        is_quiet
    }

    async fn read(&self) -> kube::Result<HubObjects> {
        let own = |objects: Vec<Value>| -> Vec<Value> {
            let mine = |object: &Value| name(object) == self.framework.addon;
            objects.into_iter().filter(mine).collect()
        };
        let addon = own(self.list(&addons()).await?).pop();
        let label = format!("{ADDON_NAME}={}", self.framework.addon);
        let labelled = ListParams::default().labels(&label);
        let mut configs = BTreeMap::new();
        for of in &self.framework.types {
            for object in self.list(&of_config(of)).await? {
                let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
                let place = (
                    of.resource.clone(),
                    namespace.unwrap_or_default().to_owned(),
                    name(&object),
                );
                configs.insert(place, object);
            }
        }
        Ok(HubObjects {
            addon,
            instances: own(self.list(&Kind::ManagedClusterAddOn.resource()).await?),
            clusters: self.list(&Kind::ManagedCluster.resource()).await?,
            works: self.list_some(&Kind::ManifestWork.resource(), &labelled).await?,
            configs,
        })
    }

    async fn list(&self, resource: &ApiResource) -> kube::Result<Vec<Value>> {
        self.list_some(resource, &ListParams::default()).await
    }

    async fn list_some(&self, resource: &ApiResource, which: &ListParams) -> kube::Result<Vec<Value>> {
        let api = Api::<DynamicObject>::all_with(self.client.clone(), resource);
        let listed = api.list(which).await?.items.into_iter();
        let full = |object| {
            let mut object: Value = serde_json::to_value::<DynamicObject>(object).ok()?;
            let fields = object.as_object_mut()?;
            fields.insert("apiVersion".to_owned(), json!(resource.api_version));
            fields.insert("kind".to_owned(), json!(resource.kind));
            Some(object)
        };
        Ok(listed.filter_map(full).collect())
    }

    /// Every write of what was read names the revision that it was decided from.
    async fn write(&self, scene: &Scene<'_>, write: Write) -> kube::Result<()> {
        let params = PatchParams::default();
        match write {
            Write::Create(work) => {
                let work: DynamicObject = serde_json::from_value(work).map_err(kube::Error::SerdeError)?;
                let namespace = work.metadata.namespace.clone().unwrap_or_default();
                let api = self.api(&("ManifestWork".to_owned(), namespace, String::new()));
                api.create(&PostParams::default(), &work).await.map(|_| ())
            }
            Write::Patch(key, mut patch) => {
                pin(scene, &key, &mut patch);
                let patch = Patch::Merge(patch);
                self.api(&key).patch(&key.2, &params, &patch).await.map(|_| ())
            }
            Write::Status(key, status) => {
                let mut patch = json!({"status": status});
                pin(scene, &key, &mut patch);
                let patch = Patch::Merge(patch);
                self.api(&key)
                    .patch_status(&key.2, &params, &patch)
                    .await
                    .map(|_| ())
            }
            Write::Delete(key) => {
                let gone = DeleteParams::default();
                self.api(&key).delete(&key.2, &gone).await.map(|_| ())
            }
        }
    }

    fn api(&self, (kind, namespace, _): &Key) -> Api<DynamicObject> {
        let client = self.client.clone();
        match kind.as_str() {
            "ClusterManagementAddOn" => Api::all_with(client, &addons()),
            "ManagedClusterAddOn" => {
                Api::namespaced_with(client, namespace, &Kind::ManagedClusterAddOn.resource())
            }
            _ => Api::namespaced_with(client, namespace, &Kind::ManifestWork.resource()),
        }
    }
}

fn pin(scene: &Scene<'_>, (kind, _, _): &Key, patch: &mut Value) {
    let object = match kind.as_str() {
        "ClusterManagementAddOn" => scene.addon,
        "ManagedClusterAddOn" => scene.instance,
        _ => return,
    };
    let version = object.pointer("/metadata/resourceVersion").cloned();
    let Some(fields) = patch.as_object_mut() else {
        return;
    };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("resourceVersion".to_owned(), json!(version));
    }
}

fn name(object: &Value) -> String {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn addons() -> ApiResource {
    of_config(&ConfigKind {
        group: ADDON_GROUP.to_owned(),
        version: "v1alpha1".to_owned(),
        kind: "ClusterManagementAddOn".to_owned(),
        resource: "clustermanagementaddons".to_owned(),
    })
}

fn of_config(of: &ConfigKind) -> ApiResource {
    let api_version = if of.group.is_empty() {
        of.version.clone()
    } else {
        format!("{}/{}", of.group, of.version)
    };
    ApiResource {
        group: of.group.clone(),
        version: of.version.clone(),
        api_version,
        kind: of.kind.clone(),
        plural: of.resource.clone(),
    }
}
