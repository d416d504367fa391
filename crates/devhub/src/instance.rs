//! The hub as its users see it.
//!
//! Decides how a hub is configured, started and stopped.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::admission::Services;
use crate::controllers::{Controllers, Switches};
use crate::error::ApiError;
use crate::http::{InProcess, Server, tls_config};
use crate::hub::Hub;
use crate::identity::{Authority, Credentials, IdentityError, kubeconfig, write_private};
use crate::seed;

/// Changes that are remembered per resource.
const HISTORY: usize = 10_000;
/// How often quiet watchers are told how far the hub has come.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

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
    bookmark_every: Duration,
    services: Services,
    switches: Switches,
}

impl Builder {
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

    /// Leaves out garbage collection and the deletion of namespaces' contents, like a bare API server.
    #[must_use]
    pub fn without_controllers(mut self) -> Self {
        self.switches.basic = false;
        self
    }

    /// Gives every namespace a `default` service account and the hub's root certificate.
    #[must_use]
    pub fn with_service_accounts(mut self) -> Self {
        self.switches.accounts = true;
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
        let hub = Hub::new(&token, self.history, self.services, self.bookmark_every);
        seed::namespaces(&hub).await?;
        for definition in &self.definitions {
            seed::definition(&hub, definition).await?;
        }
        let address = self.bind;
        let server = Server::start(Arc::clone(&hub), address, tls_config(&authority, &serving)?)
            .await
            .map_err(|source| StartError::Listen { address, source })?;
        hub.listens_on(server.address());
        let client = client_of(&hub);
        let controllers = Controllers::start(&client, self.switches, &authority.pem);
        Ok(DevHub {
            hub,
            server,
            controllers,
            ca_pem: authority.pem.clone(),
            ca_der: authority.root().to_vec(),
            admin,
            token,
        })
    }
}

fn client_of(hub: &Arc<Hub>) -> kube::Client {
    kube::Client::new(InProcess::new(Arc::clone(hub)), "default")
}

/// A running hub.
#[derive(Debug)]
pub struct DevHub {
    hub: Arc<Hub>,
    server: Server,
    controllers: Controllers,
    ca_pem: String,
    ca_der: Vec<u8>,
    admin: Credentials,
    token: String,
}

impl DevHub {
    /// Returns a hub to be configured: any free port of 127.0.0.1, with controllers.
    pub fn builder() -> Builder {
        Builder {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            definitions: Vec::new(),
            token: None,
            history: HISTORY,
            bookmark_every: BOOKMARK_EVERY,
            services: Services::default(),
            switches: Switches {
                basic: true,
                accounts: false,
            },
        }
    }

    /// Returns the address that the hub listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the URL of the hub.
    pub fn url(&self) -> String {
        format!("https://{}", self.server.address())
    }

    /// Returns the certificate of the hub's authority as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Returns the administrator's bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns a kubeconfig with everything embedded.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url(), &self.ca_pem, &self.admin, &self.token)
    }

    /// Writes the kubeconfig to a file that only its owner can read.
    pub fn write_kubeconfig(&self, path: &Path) -> std::io::Result<()> {
        write_private(path, &self.kubeconfig())
    }

    /// Returns a client of the same process. It uses no sockets and acts as the administrator.
    ///
    /// Must be called inside of a tokio runtime, which then drives the client.
    pub fn client(&self) -> kube::Client {
        client_of(&self.hub)
    }

    /// Returns the configuration of a client that connects over TLS as the administrator.
    pub fn config(&self) -> kube::Config {
        // An address of a bound socket is always a valid authority.
        let mut config = kube::Config::new(self.url().parse().unwrap_or_default());
        config.root_cert = Some(vec![self.ca_der.clone()]);
        config.auth_info.token = Some(self.token.clone().into());
        config
    }

    /// Creates an object as the administrator, for instance one read from a file; an existing one is left alone.
    pub async fn preload(&self, object: &Value) -> Result<(), StartError> {
        seed::object(&self.hub, object).await
    }

    /// Stops the hub: watches end, connections close, tasks finish.
    pub async fn shutdown(self) {
        self.controllers.shutdown().await;
        self.hub.stop.cancel();
        self.hub.tasks.close();
        self.hub.tasks.wait().await;
        self.server.finished().await;
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
