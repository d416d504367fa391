//! The hub as its users see it.
//!
//! Decides what a running hub tells of itself and how it ends; how it is configured and started is decided in `builder`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::builder::{Builder, StartError};
use crate::controllers::Controllers;
use crate::http::{InProcess, Server};
use crate::hub::Hub;
use crate::identity::{Credentials, kubeconfig};
use crate::program;
use crate::seed;

pub(crate) fn client_of(hub: &Arc<Hub>) -> kube::Client {
    kube::Client::new(InProcess::new(Arc::clone(hub)), "default")
}

/// Returns the client of the hub's own controllers: an ordinary one that meets no faults on purpose.
pub(crate) fn controllers_client(hub: &Arc<Hub>) -> kube::Client {
    kube::Client::new(InProcess::spared(Arc::clone(hub)), "default")
}

/// A running hub.
#[derive(Debug)]
pub struct DevHub {
    pub(crate) hub: Arc<Hub>,
    pub(crate) server: Server,
    pub(crate) controllers: Controllers,
    pub(crate) ca_pem: String,
    pub(crate) ca_der: Vec<u8>,
    pub(crate) admin: Credentials,
    pub(crate) token: String,
}

impl DevHub {
    /// Returns a hub to be configured: any free port of 127.0.0.1, with controllers.
    pub fn builder() -> Builder {
        Builder::new()
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
        program::write_private(path, &self.kubeconfig())
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
