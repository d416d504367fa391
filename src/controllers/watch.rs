//! One watch per kind: a paginated list, then events, for ever.
//!
//! Never clears anything before a new list is complete, and never gives up: errors are retried with growing pauses.

use futures::StreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::warn;

use super::cause::root;
use super::raw::{Raw, resource};
use crate::snapshot::{Event, Kind, terms};

/// Sends everything that happens to a kind, until nobody listens any more.
pub(super) async fn watch_kind(client: Client, kind: Kind, events: mpsc::Sender<Event>) {
    let api: Api<Raw> = Api::all_with(client, &resource(kind));
    let mut stream = std::pin::pin!(watcher(api, config(kind)).default_backoff());
    let mut listing = Vec::new();
    while let Some(next) = stream.next().await {
        let event = match next {
            Ok(event) => event,
            Err(error) => {
                warn!(
                    kind = kind.address().kind,
                    error = %root(&error),
                    "watch interrupted"
                );
                continue;
            }
        };
        let Some(event) = translate(kind, event, &mut listing) else {
            continue;
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// Only works that belong to an add-on matter; a hub has many others.
fn config(kind: Kind) -> watcher::Config {
    let config = watcher::Config::default();
    match kind {
        Kind::Work => config.labels(terms::ADDON_NAME),
        Kind::Cluster
        | Kind::Placement
        | Kind::Decision
        | Kind::AddOn
        | Kind::Instance
        | Kind::DeploymentConfig
        | Kind::Template
        | Kind::HubConfig => config,
    }
}

fn translate(kind: Kind, event: watcher::Event<Raw>, listing: &mut Vec<Value>) -> Option<Event> {
    match event {
        watcher::Event::Apply(raw) => Some(Event::Applied {
            kind,
            object: raw.object,
        }),
        watcher::Event::Delete(raw) => Some(Event::Deleted {
            kind,
            object: raw.object,
        }),
        watcher::Event::Init => {
            listing.clear();
            None
        }
        watcher::Event::InitApply(raw) => {
            listing.push(raw.object);
            None
        }
        watcher::Event::InitDone => Some(Event::Listed {
            kind,
            objects: std::mem::take(listing),
        }),
    }
}
