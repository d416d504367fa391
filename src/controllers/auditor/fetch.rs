//! Reads objects that have to be judged again.
//!
//! Decides that a page that has too many bytes is read in smaller ones. Whole kinds come in pages, so that neither the hub nor this
//! program ever holds all of them; the objects of a page are text until they are judged, for as trees of maps they would take about
//! ten times as much.

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::ListParams;
use kube::{Api, Client};

use crate::controllers::runtime::raw::{Raw, resource};
use crate::controllers::runtime::sign_of_life::{TooLarge, listening, smaller};
use audit::ObjectKey;
use store::Kind;

/// Up to how many objects are read one by one.
pub(super) const FEW: usize = 16;
/// Reads at the same time.
const AT_ONCE: usize = 4;

/// An object as text, with its key.
pub(super) type Text = (ObjectKey, Box<str>);
/// An object of a page, as text, with its key.
pub(super) type Listed = (ObjectKey, Raw);

/// Returns those of the objects that exist.
pub(super) async fn some(client: &Client, keys: Vec<ObjectKey>) -> kube::Result<Vec<Text>> {
    let reads = keys.into_iter().map(|key| one(client, key));
    let read: Vec<Option<Text>> = stream::iter(reads)
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    Ok(read.into_iter().flatten().collect())
}

async fn one(client: &Client, key: ObjectKey) -> kube::Result<Option<Text>> {
    let api: Api<Raw> = if key.kind.address().namespaced {
        Api::namespaced_with(client.clone(), &key.namespace, &resource(key.kind))
    } else {
        Api::all_with(client.clone(), &resource(key.kind))
    };
    let found = api.get_opt(&key.name).await?;
    Ok(found.map(|raw| (key, raw.into_text())))
}

/// Returns a page of a kind, and the continue token of the next page, if there is one.
pub(super) async fn page(
    client: &Client,
    kind: Kind,
    limit: u32,
    from: Option<&str>,
) -> kube::Result<(Vec<Listed>, Option<String>)> {
    let too_large = TooLarge::default();
    let api: Api<Raw> = Api::all_with(listening(client, || {}, &too_large), &resource(kind));
    let mut params = ListParams::default().limit(limit);
    if let Some(from) = from {
        params = params.continue_token(from);
    }
    let found = loop {
        let found = api.list(&params).await;
        let less = too_large.take().then(|| params.limit.and_then(smaller)).flatten();
        match less.filter(|_| found.is_err()) {
            Some(less) => params = params.limit(less),
            None => break found?,
        }
    };
    let next = found.metadata.continue_.filter(|token| !token.is_empty());
    let listed = found.items.into_iter().map(|raw| (raw.key(kind), raw));
    Ok((listed.collect(), next))
}
