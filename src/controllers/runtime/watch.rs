//! One watch per kind: a paginated list, then events, for ever.
//!
//! Never clears anything before a new list is complete, and never gives up: errors are retried with growing backoff. A kind that
//! a hub may withhold and that it does not serve has no objects. A kind that must exist is never taken for empty because of an
//! error: whoever needs it waits, and is told. Lists anew when somebody doubts the last list.

use std::sync::Arc;

use futures::StreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tracing::{debug, info, warn};

use super::error_root::root;
use super::raw::{Raw, resource};
use crate::controllers::auditor::WatchTap;
use crate::snapshot::{Event, Kind};
use crate::telemetry::Metrics;

/// Where a watch tells what it sees, and hears that it should look again.
#[derive(Debug, Clone)]
pub(in crate::controllers) struct Ends {
    /// The loop.
    pub(in crate::controllers) events: mpsc::Sender<Event>,
    /// An audit, which hears of everything first.
    pub(in crate::controllers) tap: Option<WatchTap>,
    /// Where it is counted what cannot be read.
    pub(in crate::controllers) metrics: Metrics,
    /// Asks for a new list.
    pub(in crate::controllers) again: Arc<Notify>,
}

/// Nobody listens any more.
struct Over;

/// What is known of a kind. What was once listed is not forgotten because of one answer: a hub that is starting denies kinds
/// that it is about to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Served {
    Unknown,
    No,
    Yes,
}

/// Sends everything that happens to a kind, until nobody listens any more.
pub(in crate::controllers) async fn watch_kind(client: Client, kind: Kind, ends: Ends) {
    let mut watch = Watch {
        kind,
        ends,
        served: Served::Unknown,
        listing: Vec::new(),
    };
    loop {
        let api: Api<Raw> = Api::all_with(client.clone(), &resource(kind));
        let mut stream = std::pin::pin!(watcher(api, config(kind)).default_backoff());
        watch.listing.clear();
        loop {
            let again = Arc::clone(&watch.ends.again);
            let next = tokio::select! {
                next = stream.next() => next,
                () = again.notified() => break,
            };
            let Some(next) = next else { return };
            if watch.take(next).await.is_err() {
                return;
            }
        }
        debug!(kind = kind.address().kind, "listing anew");
    }
}

struct Watch {
    kind: Kind,
    ends: Ends,
    served: Served,
    listing: Vec<Value>,
}

impl Watch {
    async fn take(&mut self, next: Result<watcher::Event<Raw>, watcher::Error>) -> Result<(), Over> {
        let kind_name = self.kind.address().kind;
        let event = match next {
            Ok(event) => event,
            Err(error) if self.served != Served::Yes && is_withheld(self.kind, &error) => {
                if std::mem::replace(&mut self.served, Served::No) == Served::No {
                    debug!(kind = kind_name, "still not served");
                    return Ok(());
                }
                info!(kind = kind_name, answer = %root(&error), "the hub does not show this kind; watching for it");
                return self.tell(Event::Withheld { kind: self.kind }).await;
            }
            Err(error) if self.served != Served::Yes => {
                self.ends.metrics.reads(self.kind.address().resource, false);
                warn!(kind = kind_name, error = %root(&error), "the hub does not list a kind that must exist; everything waits for it");
                return Ok(());
            }
            Err(error) => {
                self.ends.metrics.reads(self.kind.address().resource, false);
                warn!(kind = kind_name, error = %root(&error), "watch interrupted");
                return Ok(());
            }
        };
        self.translate(event).await
    }

    async fn translate(&mut self, event: watcher::Event<Raw>) -> Result<(), Over> {
        let kind = self.kind;
        let event = match event {
            watcher::Event::Apply(raw) => Event::Applied {
                kind,
                object: raw.object,
            },
            watcher::Event::Delete(raw) => Event::Deleted {
                kind,
                object: raw.object,
            },
            watcher::Event::Init => {
                self.listing.clear();
                return Ok(());
            }
            watcher::Event::InitApply(raw) => {
                self.listing.push(raw.object);
                return Ok(());
            }
            watcher::Event::InitDone => Event::Listed {
                kind,
                objects: std::mem::take(&mut self.listing),
            },
        };
        self.served = Served::Yes;
        self.ends.metrics.reads(kind.address().resource, true);
        self.tell(event).await
    }

    async fn tell(&self, event: Event) -> Result<(), Over> {
        self.ends.tap.iter().for_each(|tap| tap.see(&event));
        match self.ends.events.send(event).await {
            Ok(()) => Ok(()),
            Err(_unheard) => Err(Over),
        }
    }
}

/// A kind that a hub may lack has no objects where it is not served; one that only policies or the registration of agents need may
/// be forbidden as well: the others need not wait for it.
fn is_withheld(kind: Kind, error: &watcher::Error) -> bool {
    let watcher::Error::InitialListFailed(kube::Error::Api(status)) = error else {
        return false;
    };
    match status.code {
        404 => !kind.must_exist(),
        403 => kind.may_be_withheld(),
        _ => false,
    }
}

/// Only objects that count are asked for; a hub has many others.
fn config(kind: Kind) -> watcher::Config {
    let config = watcher::Config::default();
    match kind.selector() {
        Some(selector) => config.labels(&selector),
        None => config,
    }
}
