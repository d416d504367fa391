//! Deletion of namespaces.
//!
//! Decides that a namespace goes when everything in it has gone.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio_util::task::TaskTracker;

use super::catalogue::{self, Kind};

const FINALIZER: &str = "kubernetes";
const PAUSE: Duration = Duration::from_millis(100);

/// Empties and finalizes namespaces that are being deleted, in a loop.
pub(super) async fn run(client: Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut changes = watcher(namespaces, watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .boxed();
    let work = TaskTracker::new();
    let mut busy = std::collections::BTreeSet::new();
    while let Some(change) = changes.next().await {
        match change {
            Ok(namespace) if is_leaving(&namespace) => {
                // A namespace is emptied once in its life; uids keep a second one of the same name apart.
                if busy.insert(namespace.uid().unwrap_or_default()) {
                    work.spawn(empty(client.clone(), namespace.name_any()));
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "watching namespaces failed"),
        }
    }
}

fn is_leaving(namespace: &Namespace) -> bool {
    let held = namespace.spec.as_ref().and_then(|spec| spec.finalizers.as_ref());
    namespace.metadata.deletion_timestamp.is_some()
        && held.is_some_and(|held| held.iter().any(|f| f == FINALIZER))
}

async fn empty(client: Client, name: String) {
    loop {
        match sweep(&client, &name).await {
            Ok(true) => match release(&client, &name).await {
                Ok(()) => return,
                Err(error) if is_not_found(&error) => return,
                Err(error) => tracing::debug!(namespace = %name, %error, "cannot release a namespace yet"),
            },
            Ok(false) => {}
            Err(error) => tracing::debug!(namespace = %name, %error, "cannot empty a namespace yet"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Deletes everything in a namespace; true when nothing is left.
async fn sweep(client: &Client, name: &str) -> Result<bool, kube::Error> {
    let mut left = false;
    for kind in catalogue::kinds(client)
        .await?
        .iter()
        .filter(|kind| kind.namespaced)
    {
        left |= !sweep_kind(client, name, kind).await?;
    }
    Ok(!left)
}

async fn sweep_kind(client: &Client, name: &str, kind: &Kind) -> Result<bool, kube::Error> {
    let api: Api<PartialObjectMeta<DynamicObject>> =
        Api::namespaced_with(client.clone(), name, &kind.resource);
    let one = ListParams::default().limit(1);
    if api.list(&one).await?.items.is_empty() {
        return Ok(true);
    }
    api.delete_collection(&DeleteParams::background(), &ListParams::default())
        .await?;
    Ok(api.list(&one).await?.items.is_empty())
}

async fn release(client: &Client, name: &str) -> Result<(), kube::Error> {
    let api: Api<Namespace> = Api::all(client.clone());
    let mut namespace = api.get(name).await?;
    if let Some(finalizers) = namespace.spec.as_mut().and_then(|spec| spec.finalizers.as_mut()) {
        finalizers.retain(|finalizer| finalizer != FINALIZER);
    }
    api.replace_subresource("finalize", name, &PostParams::default(), &namespace)
        .await
        .map(|_| ())
}
