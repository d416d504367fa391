//! What all requests of one hub share.
//!
//! Decides nothing; holds the store, the served resources, the users and the webhooks, and the signal to stop.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::{Chain, Services};
use crate::documents::DocumentCache;
use crate::faults::{FaultInjector, Faults};
use crate::identity::Users;
use crate::registry::Directory;
use crate::rights::{Authz, Rights};
use crate::store::Store;

/// A hub without its sockets.
#[derive(Debug)]
pub(crate) struct Hub {
    /// The objects.
    pub(crate) store: Store,
    /// The served resources.
    pub(crate) directory: Directory,
    /// Who may ask.
    pub(crate) users: Users,
    /// What they may do.
    pub(crate) rights: Rights,
    /// What goes wrong on purpose.
    pub(crate) fault_injector: FaultInjector,
    /// The admission webhooks.
    pub(crate) chain: Chain,
    /// Where webhooks behind services listen.
    pub(crate) services: Services,
    /// How often a quiet watcher hears how far the hub has come.
    pub(crate) bookmark_every: Duration,
    /// Cancelled when the hub stops; ends every watch.
    pub(crate) stop: CancellationToken,
    /// Made `OpenAPI` documents.
    pub(crate) openapi: DocumentCache,
    address: OnceLock<String>,
    reactions: Mutex<()>,
    /// Work of the hub itself, such as removing the instances of a deleted definition.
    pub(crate) tasks: TaskTracker,
}

/// What a hub is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The objects.
    pub(crate) store: Store,
    /// Who may ask.
    pub(crate) users: Users,
    /// Where webhooks behind services listen.
    pub(crate) services: Services,
    /// How requests are authorized.
    pub(crate) authz: Authz,
    /// What goes wrong on purpose.
    pub(crate) faults: Faults,
    /// How often a quiet watcher hears how far the hub has come.
    pub(crate) bookmark_every: Duration,
}

impl Hub {
    /// Returns a hub that serves the built-in kinds and has no objects.
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts {
            store,
            users,
            services,
            authz,
            faults,
            bookmark_every,
        } = parts;
        let directory = Directory::new(&store);
        Arc::new(Self {
            rights: Rights::new(authz, &store),
            store,
            directory,
            users,
            fault_injector: FaultInjector::new(faults),
            chain: Chain::new(),
            services,
            bookmark_every,
            stop: CancellationToken::new(),
            openapi: DocumentCache::default(),
            address: OnceLock::new(),
            reactions: Mutex::new(()),
            tasks: TaskTracker::new(),
        })
    }

    /// Lets one reaction to a stored definition or configuration happen at a time: what is read last is then published last.
    pub(crate) fn react_alone(&self) -> MutexGuard<'_, ()> {
        self.reactions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes where the hub listens. Only the first note counts.
    pub(crate) fn listens_on(&self, address: SocketAddr) {
        self.address.set(address.to_string()).unwrap_or_default();
    }

    /// Returns host and port where the hub listens; empty before it does.
    pub(crate) fn address(&self) -> &str {
        self.address.get().map_or("", String::as_str)
    }
}

/// Returns the time as Kubernetes writes it: whole seconds in UTC.
pub(crate) fn timestamp() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
