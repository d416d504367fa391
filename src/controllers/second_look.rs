//! A second look: reads objects that the watches should have shown by now.
//!
//! Decides nothing. What it reads goes into the store like any event; a hub that does not answer leaves the store as it is.

use futures::{StreamExt, TryStreamExt, stream};
use kube::{Api, Client};
use serde_json::json;

use super::raw::{Raw, resource};
use crate::snapshot::{Event, ObjectKey};

/// Reads at the same time.
const AT_ONCE: usize = 16;

/// Returns how the objects are now, as events.
pub(super) async fn look_again(client: Client, objects: Vec<ObjectKey>) -> Result<Vec<Event>, kube::Error> {
    let reads = objects.into_iter().map(|object| look(&client, object));
    stream::iter(reads).buffer_unordered(AT_ONCE).try_collect().await
}

async fn look(client: &Client, object: ObjectKey) -> Result<Event, kube::Error> {
    let ObjectKey {
        kind,
        namespace,
        name,
    } = &object;
    let api: Api<Raw> = if kind.address().namespaced {
        Api::namespaced_with(client.clone(), namespace, &resource(*kind))
    } else {
        Api::all_with(client.clone(), &resource(*kind))
    };
    let read = api.get_opt(name).await?;
    Ok(match read {
        Some(raw) => Event::Applied {
            kind: *kind,
            object: raw.object,
        },
        None => Event::Deleted {
            kind: *kind,
            object: json!({"metadata": {"namespace": &**namespace, "name": &**name}}),
        },
    })
}
