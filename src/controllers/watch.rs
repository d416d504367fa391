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
    let mut refused = false;
    let mut listed = false;
    while let Some(next) = stream.next().await {
        let event = match next {
            Ok(event) => event,
            Err(error) if is_refused(kind, &error) => {
                if !std::mem::replace(&mut refused, true) {
                    let cause = root(&error);
                    warn!(kind = kind.address().kind, %cause, "the hub does not show this kind; going on without");
                }
                // What was known stays known; only the first list is waited for.
                let nothing = Event::Listed {
                    kind,
                    objects: Vec::new(),
                };
                if !std::mem::replace(&mut listed, true) && events.send(nothing).await.is_err() {
                    return;
                }
                continue;
            }
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
        listed |= matches!(event, Event::Listed { .. });
        refused &= !matches!(event, Event::Listed { .. });
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
        Kind::ServiceAccount | Kind::Role | Kind::RoleBinding => config.labels(terms::TOKEN_ADDON_NAME),
        Kind::SigningRequest => {
            // Anybody may create requests; only those that say whose they are can be answered.
            let selector = format!("{},{}", terms::ADDON_NAME, terms::CLUSTER_NAME);
            config.labels(&selector)
        }
    }
}

/// A hub that lacks or forbids a kind that it can do without must not hold up the others.
fn is_refused(kind: Kind, error: &watcher::Error) -> bool {
    let answer = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.code,
        _ => return false,
    };
    kind.is_for_registration() && matches!(answer, 403 | 404)
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
