//! Objects read once, for the tools that look at a hub without watching it.
//!
//! Decides that an object that cannot be read whole is returned as far as it can be (`raw`): one of them hides no other. Never
//! watches, never retries.

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::Request;
use kube::{Client, Error, Resource as _, Result};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::raw::tree;

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<Box<RawValue>>>,
}

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// Returns the objects of a kind in all namespaces, page by page, each with its kind, which items of a list may lack.
///
/// # Errors
///
/// What the hub answers instead, or that its answer is no list.
pub fn pages<'a>(
    client: &'a Client,
    resource: &'a ApiResource,
    labels: Option<String>,
) -> BoxStream<'a, Result<Vec<Value>>> {
    let mut params = ListParams::default().limit(PAGE);
    params.label_selector = labels;
    stream::try_unfold(Some(params), move |params| async move {
        let Some(mut params) = params else {
            return Ok(None);
        };
        let request = Request::new(DynamicObject::url_path(resource, None)).list(&params);
        let list: List = client.request(request.map_err(Error::BuildRequest)?).await?;
        let items = list.items.iter().flatten();
        let items = items.map(|item| with_kind(resource, tree(item.get()))).collect();
        let more = list.metadata.continue_.filter(|token| !token.is_empty());
        let next = more.map(|token| {
            params.continue_token = Some(token);
            params
        });
        Ok(Some((items, next)))
    })
    .boxed()
}

fn with_kind(resource: &ApiResource, mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.api_version.clone().into());
        fields.insert("kind".to_owned(), resource.kind.clone().into());
    }
    object
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
        Ok(object) => Ok(Some(tree(object.get()))),
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
