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
use crate::http::{Server, tls_config};
use crate::hub::Hub;
use crate::identity::{Authority, IdentityError};
use crate::instance::{DevHub, client_of};
use crate::seed;

/// Changes that are remembered per resource.
const HISTORY: usize = 10_000;
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
    Several(Vec<StartError>),
}

impl From<IdentityError> for StartError {
    fn from(error: IdentityError) -> Self {
        Self::Certificates(error.to_string())
    }
}

/// A hub to be started.
#[derive(Clone, Debug)]
pub struct Builder {
    bind: SocketAddr,
    definitions: Vec<Value>,
    token: Option<String>,
    history: usize,
    services: Services,
    controllers: BTreeSet<Controller>,
    event_ttl: Duration,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            definitions: Vec::new(),
            token: None,
            history: HISTORY,
            services: Services::default(),
            controllers: [Controller::Garbage, Controller::Namespaces, Controller::Events].into(),
            event_ttl: EVENT_TTL,
        }
    }

    /// Listens on this loopback address. Port 0 takes any free one.
    #[must_use]
    pub fn bind(mut self, address: SocketAddr) -> Self {
        self.bind = address;
        self
    }

    /// Loads a custom resource definition before anybody can connect.
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

    /// Removes events that nobody has written for this long (an hour unless said), if that controller runs.
    #[must_use]
    pub fn event_ttl(mut self, ttl: Duration) -> Self {
        self.event_ttl = ttl;
        self
    }

    /// Starts the hub. When this returns, everything is served.
    pub async fn start(self) -> Result<DevHub, StartError> {
        if !self.bind.ip().is_loopback() {
            return Err(StartError::NotLoopback(self.bind.ip()));
        }
        let authority = Authority::new()?;
        let serving = authority.serving()?;
        let admin = authority.client("admin", "system:masters")?;
        let token = self
            .token
            .unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
        let hub = Hub::new(&token, self.history, self.services);
        seed::namespaces(&hub).await?;
        load(&hub, &self.definitions).await?;
        let address = self.bind;
        let server = Server::start(Arc::clone(&hub), address, tls_config(&authority, &serving)?)
            .await
            .map_err(|source| StartError::Listen { address, source })?;
        hub.listens_on(server.address());
        let plan = Plan {
            which: self.controllers,
            event_ttl: self.event_ttl,
            ca_pem: authority.pem.clone(),
        };
        let controllers = Controllers::start(&client_of(&hub), &plan);
        Ok(DevHub {
            hub,
            server,
            controllers,
            ca_pem: plan.ca_pem,
            ca_der: authority.root().to_vec(),
            admin,
            token,
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
