//! The hub before it runs.
//!
//! Decides how a hub is configured and in which order its parts start.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::admission::Services;
use crate::controllers::{Controller, Controllers, Plan};
use crate::error::ApiError;
use crate::faults::Faults;
use crate::http::{Server, tls_config};
use crate::hub::{Hub, Parts};
use crate::identity::{Identity, IdentityError};
use crate::instance::{DevHub, controllers_client};
use crate::rights::Authz;
use crate::seed;
use crate::store::Store;

/// Changes that are remembered per resource.
const HISTORY: usize = 10_000;
/// Interval of bookmarks for idle watches.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long an event lives, as on a real server.
const EVENT_TTL: Duration = Duration::from_hours(1);

/// Why a hub did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address can be reached from other machines.
    #[error(
        "cannot serve on {0}: the hub holds administrator credentials and serves loopback addresses only"
    )]
    NotLoopback(IpAddr),
    /// The address cannot be bound.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// Certificates could not be made.
    #[error("cannot make the hub's certificates: {0}")]
    Certificates(String),
    /// A preloaded object was refused.
    #[error("cannot load {kind} \"{name}\": {message}")]
    Preload {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// What the hub said.
        message: String,
    },
    /// Several preloaded objects were refused.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<Self>),
}

impl From<IdentityError> for StartError {
    fn from(error: IdentityError) -> Self {
        Self::Certificates(error.to_string())
    }
}

/// What can be had from any hub, a real API server too.
#[derive(Debug)]
pub(crate) struct Wishes {
    /// Custom resource definitions.
    pub(crate) definitions: Vec<Value>,
    /// Controllers beside the API server.
    pub(crate) controllers: BTreeSet<Controller>,
    /// How long an event lives.
    pub(crate) event_ttl: Duration,
    /// The administrator's token.
    pub(crate) token: Option<String>,
}

/// A hub to be started.
#[derive(Clone, Debug)]
pub struct Builder {
    bind: SocketAddr,
    definitions: Vec<Value>,
    token: Option<String>,
    history: usize,
    bookmark_every: Duration,
    services: Services,
    controllers: BTreeSet<Controller>,
    event_ttl: Duration,
    authz: Authz,
    faults: Faults,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            definitions: Vec::new(),
            token: None,
            history: HISTORY,
            bookmark_every: BOOKMARK_EVERY,
            services: Services::default(),
            controllers: [
                Controller::Garbage,
                Controller::Namespaces,
                Controller::Events,
                Controller::Policies,
            ]
            .into(),
            event_ttl: EVENT_TTL,
            authz: Authz::Allow,
            faults: Faults::default(),
        }
    }

    /// Listens on this loopback address. Port 0 takes any free one.
    #[must_use]
    pub fn bind(mut self, address: SocketAddr) -> Self {
        self.bind = address;
        self
    }

    /// Loads a custom resource definition before a client can connect.
    #[must_use]
    pub fn crd(mut self, definition: Value) -> Self {
        self.definitions.push(definition);
        self
    }

    /// Uses this administrator token instead of a random one.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Remembers this many changes per resource for watches and lists of older states.
    #[must_use]
    pub fn history(mut self, changes: usize) -> Self {
        self.history = changes.max(1);
        self
    }

    /// Tells quiet watchers that allow bookmarks so often how far the hub has come.
    #[must_use]
    pub fn bookmark_every(mut self, pause: Duration) -> Self {
        self.bookmark_every = pause.max(Duration::from_millis(1));
        self
    }

    /// Tells where webhooks behind a Service listen: the hub has no cluster network.
    #[must_use]
    pub fn service(mut self, namespace: &str, name: &str, address: SocketAddr) -> Self {
        self.services = self.services.with(namespace, name, address);
        self
    }

    /// Runs these controllers and no others.
    #[must_use]
    pub fn controllers(mut self, which: impl IntoIterator<Item = Controller>) -> Self {
        self.controllers = which.into_iter().collect();
        self
    }

    /// Leaves out garbage collection, the deletion of namespaces' contents and the end of events, like a bare API server.
    #[must_use]
    pub fn without_controllers(mut self) -> Self {
        self.controllers.retain(|one| *one == Controller::Accounts);
        self
    }

    /// Gives every namespace a `default` service account and the hub's root certificate.
    #[must_use]
    pub fn with_service_accounts(mut self) -> Self {
        self.controllers.insert(Controller::Accounts);
        self
    }

    /// Removes events that were not written for this long (an hour unless said), if that controller runs.
    #[must_use]
    pub fn event_ttl(mut self, ttl: Duration) -> Self {
        self.event_ttl = ttl;
        self
    }

    /// Authorizes requests this way. Roles and bindings bring the default ones and the controller that keeps them.
    #[must_use]
    pub fn authz(mut self, authz: Authz) -> Self {
        self.authz = authz;
        match authz {
            Authz::Allow => {}
            Authz::Rbac => {
                self.controllers.insert(Controller::Roles);
            }
        }
        self
    }

    /// Lets things go wrong on purpose, for every client but the hub's own controllers.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Returns what any hub can have, or the names of everything else that was wished for. Where it listens does not count, nor
    /// who may do what: a real server asks for rights whatever is said here.
    pub(crate) fn wishes_of_any_hub(self) -> Result<Wishes, Vec<&'static str>> {
        let usual = Self::new();
        let own: Vec<&'static str> = [
            ("a short history", self.history != usual.history),
            (
                "bookmarks at its own pace",
                self.bookmark_every != usual.bookmark_every,
            ),
            ("services at addresses", self.services != usual.services),
            ("faults on purpose", self.faults != usual.faults),
        ]
        .into_iter()
        .filter_map(|(name, wished)| wished.then_some(name))
        .collect();
        if !own.is_empty() {
            return Err(own);
        }
        Ok(Wishes {
            definitions: self.definitions,
            controllers: self.controllers,
            event_ttl: self.event_ttl,
            token: self.token,
        })
    }

    /// Starts the hub. When this returns, everything is served.
    pub async fn start(self) -> Result<DevHub, StartError> {
        if !self.bind.ip().is_loopback() {
            return Err(StartError::NotLoopback(self.bind.ip()));
        }
        let identity = Identity::new(self.token)?;
        let serving = identity.authority.serving()?;
        let tls = tls_config(&identity.authority, &serving)?;
        let hub = Hub::new(Parts {
            store: Store::new(self.history),
            users: identity.users(),
            services: self.services,
            authz: self.authz,
            faults: self.faults,
            bookmark_every: self.bookmark_every,
        });
        seed::namespaces(&hub).await?;
        if self.authz == Authz::Rbac {
            seed::roles(&hub).await?;
        }
        load(&hub, &self.definitions).await?;
        let server = Server::start(Arc::clone(&hub), self.bind, tls)
            .await
            .map_err(|source| StartError::Listen {
                address: self.bind,
                source,
            })?;
        hub.listens_on(server.address());
        let plan = Plan {
            which: self.controllers,
            event_ttl: self.event_ttl,
            ca_pem: identity.authority.pem.clone(),
        };
        let controllers = Controllers::start(&controllers_client(&hub), &plan);
        Ok(DevHub {
            hub,
            server,
            controllers,
            ca_pem: plan.ca_pem,
            ca_der: identity.authority.root().to_vec(),
            admin: identity.admin,
            token: identity.token,
        })
    }
}

/// Loads definitions; tells all that are refused.
async fn load(hub: &Arc<Hub>, definitions: &[Value]) -> Result<(), StartError> {
    let mut refused = Vec::new();
    for definition in definitions {
        if let Err(error) = seed::definition(hub, definition).await {
            refused.push(error);
        }
    }
    match refused.len() {
        0 => Ok(()),
        1 => Err(refused.remove(0)),
        _ => Err(StartError::Several(refused)),
    }
}

/// Returns the failure to load an object.
pub(crate) fn refused(object: &Value, error: &ApiError) -> StartError {
    let part = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    StartError::Preload {
        kind: part("/kind"),
        name: part("/metadata/name"),
        message: error.message.clone(),
    }
}

/// Returns the object of a namespace.
pub(crate) fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}
