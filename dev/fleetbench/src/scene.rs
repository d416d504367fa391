//! What the user of the fleet writes: a placement of all clusters, a configuration, and add-ons with a template each.
//!
//! Decides the names. Everything is created over the ordinary API and removed again.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::error::BenchError;

/// Name of the first add-on and of the namespace, the placement and the configuration, which all add-ons share.
pub(crate) const ADDON: &str = "fleetbench";
const ADDON_GROUP: &str = "addon.open-cluster-management.io";
const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";

/// A kind that the scene uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sort {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    namespaced: bool,
}

const fn sort(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Sort {
    Sort {
        group,
        version,
        kind,
        plural,
        namespaced,
    }
}

const NAMESPACE: Sort = sort("", "v1", "Namespace", "namespaces", false);
const BINDING: Sort = sort(
    CLUSTER_GROUP,
    "v1beta2",
    "ManagedClusterSetBinding",
    "managedclustersetbindings",
    true,
);
const PLACEMENT: Sort = sort(CLUSTER_GROUP, "v1beta1", "Placement", "placements", true);
const CONFIG: Sort = sort(
    ADDON_GROUP,
    "v1alpha1",
    "AddOnDeploymentConfig",
    "addondeploymentconfigs",
    true,
);
const TEMPLATE: Sort = sort(ADDON_GROUP, "v1alpha1", "AddOnTemplate", "addontemplates", false);
const CMA: Sort = sort(
    ADDON_GROUP,
    "v1alpha1",
    "ClusterManagementAddOn",
    "clustermanagementaddons",
    false,
);
/// The add-on of one cluster.
pub(crate) const MCA: Sort = sort(
    ADDON_GROUP,
    "v1alpha1",
    "ManagedClusterAddOn",
    "managedclusteraddons",
    true,
);
/// The work of one cluster.
pub(crate) const WORK: Sort = sort(
    "work.open-cluster-management.io",
    "v1",
    "ManifestWork",
    "manifestworks",
    true,
);
/// A cluster.
pub(crate) const CLUSTER: Sort = sort(CLUSTER_GROUP, "v1", "ManagedCluster", "managedclusters", false);

impl Sort {
    fn api_version(self) -> String {
        if self.group.is_empty() {
            return self.version.to_owned();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// Returns the resource as clients name it.
    pub(crate) fn resource(self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// Returns the API of all objects of the kind.
    pub(crate) fn everywhere(self, client: &Client) -> Api<DynamicObject> {
        Api::all_with(client.clone(), &self.resource())
    }

    fn own(self, client: &Client) -> Api<DynamicObject> {
        if self.namespaced {
            return Api::namespaced_with(client.clone(), ADDON, &self.resource());
        }
        self.everywhere(client)
    }

    fn name(self) -> &'static str {
        if self.kind == BINDING.kind {
            "global"
        } else {
            ADDON
        }
    }
}

/// Returns the name of an add-on by its number, from 0.
pub(crate) fn addon(number: usize) -> String {
    match number {
        0 => ADDON.to_owned(),
        number => format!("{ADDON}-{number}"),
    }
}

/// Writes everything but the add-ons themselves.
pub(crate) async fn prepare(client: &Client, addons: usize) -> Result<(), BenchError> {
    create(client, NAMESPACE, ADDON, Value::Null).await?;
    create(client, BINDING, BINDING.name(), json!({"clusterSet": "global"})).await?;
    create(client, PLACEMENT, ADDON, json!({"clusterSets": ["global"]})).await?;
    create(client, CONFIG, ADDON, config("one")).await?;
    for name in (0..addons).map(addon) {
        create(client, TEMPLATE, &name, template(&name)).await?;
    }
    Ok(())
}

/// Writes the add-ons: from here on time is measured.
pub(crate) async fn install(client: &Client, addons: usize) -> Result<(), BenchError> {
    for number in 0..addons {
        install_one(client, &addon(number)).await?;
    }
    Ok(())
}

async fn install_one(client: &Client, name: &str) -> Result<(), BenchError> {
    let default = |sort: Sort, namespace: Option<&str>| {
        let mut place = json!({"name": if namespace.is_none() { name } else { ADDON }});
        if let Some(namespace) = namespace {
            place["namespace"] = json!(namespace);
        }
        json!({"group": sort.group, "resource": sort.plural, "defaultConfig": place})
    };
    let spec = json!({
        "supportedConfigs": [default(TEMPLATE, None), default(CONFIG, Some(ADDON))],
        "installStrategy": {"type": "Placements", "placements": [{"name": ADDON, "namespace": ADDON}]},
    });
    create_object(client, CMA, object(CMA, name, spec)).await
}

/// Changes the configuration.
pub(crate) async fn reconfigure(client: &Client) -> Result<(), BenchError> {
    let patch = Patch::Merge(json!({"spec": config("two")}));
    let patched = CONFIG
        .own(client)
        .patch(ADDON, &PatchParams::default(), &patch)
        .await;
    patched.map(|_| ()).map_err(|source| failed(CONFIG, source))
}

/// Removes the add-ons.
pub(crate) async fn uninstall(client: &Client, addons: usize) {
    for name in (0..addons).map(addon) {
        remove(client, CMA, &name).await;
    }
}

/// Deletes the rest; missing objects are ignored.
pub(crate) async fn clear(client: &Client, addons: usize) {
    for name in (0..addons).map(addon) {
        remove(client, TEMPLATE, &name).await;
    }
    for sort in [CONFIG, PLACEMENT, BINDING, NAMESPACE] {
        remove(client, sort, sort.name()).await;
    }
}

async fn remove(client: &Client, sort: Sort, name: &str) {
    if let Err(error) = sort.own(client).delete(name, &DeleteParams::default()).await {
        tracing::debug!(%error, kind = sort.kind, name, "not removed");
    }
}

async fn create(client: &Client, sort: Sort, name: &str, spec: Value) -> Result<(), BenchError> {
    create_object(client, sort, object(sort, name, spec)).await
}

fn object(sort: Sort, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": sort.api_version(), "kind": sort.kind, "metadata": {"name": name}});
    if sort.namespaced {
        object["metadata"]["namespace"] = json!(ADDON);
    }
    if !spec.is_null() {
        object["spec"] = spec;
    }
    object
}

async fn create_object(client: &Client, sort: Sort, object: Value) -> Result<(), BenchError> {
    let object: DynamicObject =
        serde_json::from_value(object).map_err(|error| BenchError::Hub(error.to_string()))?;
    match sort.own(client).create(&PostParams::default(), &object).await {
        Ok(_) => Ok(()),
        Err(source) => Err(failed(sort, source)),
    }
}

fn failed(sort: Sort, source: kube::Error) -> BenchError {
    BenchError::Write {
        object: format!("{} {}", sort.kind, sort.name()),
        source: Box::new(source),
    }
}

fn config(edition: &str) -> Value {
    json!({"customizedVariables": [{"name": "EDITION", "value": edition}]})
}

/// A deployment and its settings, of ordinary size.
fn template(addon: &str) -> Value {
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": addon, "namespace": "default"},
        "data": {"edition": "{{EDITION}}", "cluster": "{{CLUSTER_NAME}}"}});
    let container = json!({"name": "agent", "image": "registry.example/agent:1.0", "args": ["--cluster={{CLUSTER_NAME}}"],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}}});
    let labels = json!({"app": addon});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": addon, "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    json!({"addonName": addon, "agentSpec": {"workload": {"manifests": [settings, deployment]}}})
}
