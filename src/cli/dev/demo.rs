//! The demos: the files of `manifests/examples/`, stored through the hub's ordinary API.
//!
//! Decides only the order. Never goes around the gate: the examples are admitted like a user's objects.

use std::time::Duration;

use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::args::Demo;
use crate::cli::CliError;
use crate::cli::about::examples::{ADDON, UPGRADE};
use crate::cli::error::Cause;
use api::hash::render_go_json;
use api::v1alpha1::ManagedClusterAddOn;

/// How long the start waits for the add-on to begin everywhere.
const BEGIN_WITHIN: Duration = Duration::from_secs(3);
/// How often it looks meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How often an object is offered to a gate that has no time.
const MOST_TRIES: usize = 20;
/// What the gate and the API server answer then: too many requests, no answer in time.
const ASK_AGAIN: [u16; 2] = [429, 504];
/// The field manager of `kubectl apply`: a user may change what the demo has set, as if a user had applied it.
const MANAGER: &str = "kubectl-client-side-apply";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Stores every object of the examples that is not there yet, and waits until the add-on has begun on every cluster, so
/// that a client that waits for it right after the READY line finds it.
pub(super) async fn store(client: &Client, what: Demo, clusters: usize) -> Result<(), CliError> {
    let examples = match what {
        Demo::AddOn => ADDON,
        Demo::Upgrade => UPGRADE,
        Demo::None => return Ok(()),
    };
    for (file, text) in examples {
        for mut object in parse(text).map_err(|source| failed(file, source))? {
            remember(&mut object).map_err(|source| failed(file, source))?;
            create_in_time(client, object)
                .await
                .map_err(|source| failed(file, source.into()))?;
        }
    }
    if what == Demo::Upgrade {
        return Ok(());
    }
    // Slow or not, the hub serves: a fleet of thousands is not waited for.
    let begun = tokio::time::timeout(BEGIN_WITHIN, begun_everywhere(client, clusters)).await;
    match begun {
        Ok(Ok(())) | Err(_) => Ok(()),
        Ok(Err(error)) => Err(failed("06-cluster-management-addon.yaml", error.into())),
    }
}

async fn begun_everywhere(client: &Client, clusters: usize) -> Result<(), kube::Error> {
    let api: Api<ManagedClusterAddOn> = Api::all(client.clone());
    let mine = ListParams::default().fields("metadata.name=helloworld");
    while api.list_metadata(&mine).await?.items.len() < clusters {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

fn failed(file: &str, source: Cause) -> CliError {
    tracing::error!(file, "cannot create the demo objects");
    CliError::Start {
        part: "the demo (--no-demo leaves it out)",
        source,
    }
}

fn parse(text: &str) -> Result<Vec<DynamicObject>, Cause> {
    Ok(serde_saphyr::from_multiple(text)?)
}

/// Notes the object as applied, in kubectl's words, so that a later `kubectl apply` of the same file changes nothing.
fn remember(object: &mut DynamicObject) -> Result<(), Cause> {
    // kubectl writes the annotations into its note even where there are none.
    object.annotations_mut();
    let text = format!("{}\n", render_go_json(&serde_json::to_value(&*object)?));
    object.annotations_mut().insert(LAST_APPLIED.to_owned(), text);
    Ok(())
}

/// Creates an object, and asks again when the gate had no time to judge it: on a busy machine it says so.
async fn create_in_time(client: &Client, object: DynamicObject) -> Result<(), kube::Error> {
    for _ in 0..MOST_TRIES {
        match create(client, object.clone()).await {
            Err(kube::Error::Api(status)) if ASK_AGAIN.contains(&status.code) => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            ended => return ended,
        }
    }
    create(client, object).await
}

/// The demo counts as applied by a user with kubectl, who may change it with `tidegate rollout`.
fn by_kubectl() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    }
}

async fn create(client: &Client, object: DynamicObject) -> Result<(), kube::Error> {
    let types = object.types.clone().unwrap_or_default();
    let kind =
        GroupVersionKind::try_from(&types).unwrap_or_else(|_| GroupVersionKind::gvk("", "", &types.kind));
    let (resource, abilities) = discovery::pinned_kind(client, &kind).await?;
    let api: Api<DynamicObject> = match abilities.scope {
        Scope::Namespaced => Api::namespaced_with(
            client.clone(),
            &object.namespace().unwrap_or_else(|| "default".to_owned()),
            &resource,
        ),
        Scope::Cluster => Api::all_with(client.clone(), &resource),
    };
    match api.create(&by_kubectl(), &object).await {
        Ok(_) => Ok(()),
        // It is there already, such as the set that the clusters make: it keeps its spec, and kubectl's note is added.
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => note(&api, &object).await,
        Err(error) => Err(error),
    }
}

async fn note(api: &Api<DynamicObject>, object: &DynamicObject) -> Result<(), kube::Error> {
    let note = json!({ "metadata": { "annotations": object.annotations() } });
    let patched = api
        .patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(note))
        .await;
    patched.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_parses() {
        for (file, text) in ADDON.iter().chain(UPGRADE) {
            let objects = parse(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(!objects.is_empty(), "{file} holds nothing");
        }
    }
}
