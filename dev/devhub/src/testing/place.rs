//! Objects onto a hub that only its API can reach.
//!
//! Decides when a kind counts as served: an API server says so of a definition a moment before it does so.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use super::TestHubError;

const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Returns where custom resource definitions are.
pub(super) fn definitions() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ))
}

/// Waits until a kind is in discovery and can be listed, in each of its versions.
pub(super) async fn served(client: &Client, definition: &CustomResourceDefinition) {
    let spec = &definition.spec;
    for version in spec.versions.iter().filter(|version| version.served) {
        let kind = GroupVersionKind::gvk(&spec.group, &version.name, &spec.names.kind);
        loop {
            // Read from discovery: the server may have changed the CRD.
            if let Ok((resource, _)) = pinned_kind(client, &kind).await {
                let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
                if api.list(&ListParams::default().limit(1)).await.is_ok() {
                    break;
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// Makes an object; one that exists is left alone. Waits for its kind.
pub(super) async fn object(client: &Client, object: &Value, patience: Duration) -> Result<(), TestHubError> {
    let made: DynamicObject = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
    let types = made.types.clone().unwrap_or_default();
    let not_served = || TestHubError::NotServed(format!("{} {}", types.api_version, types.kind));
    let Ok(kind) = GroupVersionKind::try_from(&types) else {
        return Err(not_served());
    };
    let known = async {
        loop {
            match pinned_kind(client, &kind).await {
                Ok(known) => return known,
                Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    };
    let Ok((resource, capabilities)) = tokio::time::timeout(patience, known).await else {
        return Err(not_served());
    };
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            let namespace = made.namespace().unwrap_or_else(|| "default".to_owned());
            Api::namespaced_with(client.clone(), &namespace, &resource)
        }
    };
    match api.create(&PostParams::default(), &made).await {
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        outcome => outcome.map(|_| ()).map_err(TestHubError::Request),
    }
}
