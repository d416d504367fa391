//! One watch per kind: a paginated list, then events, for ever.
//!
//! Never clears anything before a new list is complete, and never gives up: errors are retried with growing pauses. A kind
//! that the hub does not serve has no objects: the other kinds need not wait until somebody defines it.

use futures::StreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::auditor::Tap;
use super::cause::root;
use super::raw::{Raw, resource};
use crate::snapshot::{Event, Kind, terms};

/// Sends everything that happens to a kind, until nobody listens any more; an audit hears of it first.
pub(super) async fn watch_kind(
    client: Client,
    kind: Kind,
    (events, tap): (mpsc::Sender<Event>, Option<Tap>),
) {
    let tell = |event: &Event| tap.iter().for_each(|tap| tap.see(event));
    let api: Api<Raw> = Api::all_with(client, &resource(kind));
    let mut stream = std::pin::pin!(watcher(api, config(kind)).default_backoff());
    let mut listing = Vec::new();
    let mut served = Served::Unknown;
    while let Some(next) = stream.next().await {
        let event = match next {
            Ok(event) => event,
            Err(error) if served != Served::Yes && is_not_served(kind, &error) => {
                let kind_name = kind.address().kind;
                if std::mem::replace(&mut served, Served::No) == Served::No {
                    debug!(kind = kind_name, "still not served");
                    continue;
                }
                info!(
                    kind = kind_name,
                    answer = %root(&error),
                    "the hub does not show this kind; watching for it"
                );
                let empty = Event::Listed {
                    kind,
                    objects: Vec::new(),
                };
                tell(&empty);
                if events.send(empty).await.is_err() {
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
        served = Served::Yes;
        tell(&event);
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// What is known of a kind. What was once listed is not forgotten because of one answer: a hub that is starting denies kinds
/// that it is about to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Served {
    Unknown,
    No,
    Yes,
}

/// A kind that only policies or the registration of agents need may be withheld as well: the others need not wait for it.
fn is_not_served(kind: Kind, error: &watcher::Error) -> bool {
    let watcher::Error::InitialListFailed(kube::Error::Api(status)) = error else {
        return false;
    };
    status.code == 404 || (status.code == 403 && kind.may_be_withheld())
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
        | Kind::HubConfig
        | Kind::Namespace => config,
        Kind::ServiceAccount | Kind::Role | Kind::RoleBinding => config.labels(terms::TOKEN_ADDON_NAME),
        Kind::SigningRequest => {
            // Anybody may create requests; only those that say whose they are can be answered.
            let selector = format!("{},{}", terms::ADDON_NAME, terms::CLUSTER_NAME);
            config.labels(&selector)
        }
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
