//! Objects read once, for the tools that look at a hub without watching it.
//!
//! Decides that an object that cannot be read whole is returned as far as it can be (`raw`): one of them hides no other. Never
//! watches, never retries.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::Request;
use kube::{Client, Error, Resource as _, Result};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::raw::tree;

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    /// Its objects. Those of custom resources say their kind, those of Kubernetes' own do not.
    pub items: Vec<Value>,
    /// Where the next page begins; absent after the last one.
    pub more: Option<String>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<Box<RawValue>>>,
}

/// Returns a page of the objects of a kind, in all namespaces.
///
/// # Errors
///
/// What the hub answers instead, or that its answer is no list.
pub async fn page(client: &Client, resource: &ApiResource, params: &ListParams) -> Result<Page> {
    let request = Request::new(DynamicObject::url_path(resource, None)).list(params);
    let list: List = client.request(request.map_err(Error::BuildRequest)?).await?;
    let more = list.metadata.continue_;
    Ok(Page {
        items: list.items.iter().flatten().map(|item| tree(item)).collect(),
        more: more.filter(|token| !token.is_empty()),
    })
}

/// Returns one object, of a namespace or "" of none; nothing where there is none.
///
/// # Errors
///
/// What the hub answers instead, or that its answer is no JSON.
pub async fn one(
    client: &Client,
    resource: &ApiResource,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>> {
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    let path = DynamicObject::url_path(resource, namespace);
    let request = Request::new(path).get(name, &kube::api::GetParams::default());
    let answer = client.request::<Box<RawValue>>(request.map_err(Error::BuildRequest)?);
    match answer.await {
        Ok(object) => Ok(Some(tree(&object))),
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
