//! OCM's add-on manager on a served hub: objects are read, `stock` acts on them, and its changes are written, ten times a second and only
//! while it holds its Lease, if there is one.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use store::{Kind, ObjectKey, Settings};
use tokio::task::JoinHandle;

use super::stock;
use super::world::World;

/// How often it looks.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);
/// Who it is.
pub(crate) const IDENTITY: &str =
    "cluster-manager-addon-manager-controller-1_0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10";

const READ: [Kind; 6] = [
    Kind::AddOn,
    Kind::Instance,
    Kind::Work,
    Kind::Template,
    Kind::DeploymentConfig,
    Kind::Decision,
];

/// Lets it act on a hub until the handle is aborted.
pub(crate) fn start(client: Client, lease: Option<&'static str>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(PERIOD);
        loop {
            ticks.tick().await;
            if leads(&client, lease).await {
                act(&client).await;
            }
        }
    })
}

async fn leads(client: &Client, lease: Option<&str>) -> bool {
    let Some(name) = lease else { return true };
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    let found = leases.get_opt(name).await.ok().flatten();
    let holder = found.and_then(|lease| lease.spec?.holder_identity);
    holder.as_deref() == Some(IDENTITY)
}

/// Who loses a race looks again.
async fn act(client: &Client) {
    let mut before = BTreeMap::new();
    for kind in READ {
        let listed = Api::<DynamicObject>::all_with(client.clone(), &resource(kind));
        let Ok(listed) = listed.list(&ListParams::default()).await else {
            return;
        };
        for object in listed.items {
            let object = serde_json::to_value(object).expect("JSON");
            before.insert(World::key(kind, &object), object);
        }
    }
    let mut world = World::new(Settings::default());
    world.now = jiff::Timestamp::now();
    world.objects.clone_from(&before);
    stock::act(&mut world);
    for (key, object) in &world.objects {
        let _wrote_first = write(client, key, before.get(key), object).await.is_ok();
    }
}

async fn write(client: &Client, key: &ObjectKey, before: Option<&Value>, object: &Value) -> kube::Result<()> {
    let of = resource(key.kind);
    let api: Api<DynamicObject> = if key.namespace.is_empty() {
        Api::all_with(client.clone(), &of)
    } else {
        Api::namespaced_with(client.clone(), &key.namespace, &of)
    };
    let Some(before) = before else {
        let metadata = &object["metadata"];
        let mut new =
            json!({"apiVersion": of.api_version, "kind": of.kind, "spec": object["spec"], "metadata": {}});
        for field in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
            if let Some(value) = metadata.get(field) {
                new["metadata"][field] = value.clone();
            }
        }
        let new: DynamicObject = serde_json::from_value(new).expect("an object");
        return api.create(&PostParams::default(), &new).await.map(drop);
    };
    let version = &before["metadata"]["resourceVersion"];
    if before["status"] != object["status"] {
        let patch = json!({"metadata": {"resourceVersion": version}, "status": object["status"]});
        let params = PatchParams::default();
        api.patch_status(&key.name, &params, &Patch::Merge(patch)).await?;
    }
    let mut new = before.clone();
    new["spec"] = object["spec"].clone();
    for field in ["labels", "annotations"] {
        if let Some(value) = object["metadata"].get(field) {
            json_patch::merge(&mut new["metadata"][field], value);
        }
    }
    if let Some(owners) = object["metadata"].get("ownerReferences") {
        new["metadata"]["ownerReferences"] = owners.clone();
    }
    if new == *before || before["status"] != object["status"] {
        return Ok(());
    }
    new["apiVersion"] = json!(of.api_version);
    new["kind"] = json!(of.kind);
    let new: DynamicObject = serde_json::from_value(new).expect("an object");
    let params = PostParams::default();
    api.replace(&key.name, &params, &new).await.map(drop)
}

/// Returns where the API serves a kind.
pub(crate) fn resource(kind: Kind) -> ApiResource {
    let of = kind.address();
    ApiResource {
        group: of.group.to_owned(),
        version: of.version.to_owned(),
        api_version: kind.api_version(),
        kind: of.kind.to_owned(),
        plural: of.resource.to_owned(),
    }
}
