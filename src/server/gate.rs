//! The gate: one listening server from start to shutdown.
//!
//! Decides the order of starting and stopping. When it has started it serves; when it has shut down, every request that
//! was accepted has been answered or its time was up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::certificate::{Certificate, Shown};
use super::connection::{self, Hall};
use super::limits::Limits;
use super::routes::{self, Decide, Desk};
use super::witness::Witness;
use crate::admission::{self, Facts, Rulebook};
use crate::telemetry::Metrics;

/// What a gate is started with.
#[derive(Debug)]
pub struct GateOptions {
    /// Address to listen on; port 0 takes any free one.
    pub bind: SocketAddr,
    /// Certificate to show.
    pub certificate: Certificate,
    /// Facts of the fleet; whoever watches the fleet replaces them.
    pub facts: Arc<ArcSwap<Facts>>,
    /// What the rules do and which policies hold; whoever reads them replaces them.
    pub rulebook: Arc<ArcSwap<Rulebook>>,
    /// Where the gate counts what it does.
    pub metrics: Metrics,
    /// Who tells whether an object exists that the facts do not have; without one, nothing that rests on it refuses.
    pub witness: Option<Witness>,
}

/// Why a gate cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    SetUpTls(#[source] rustls::Error),
}

/// A running gate.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    shown: Arc<Shown>,
    desk: Arc<Desk>,
    stopping: CancellationToken,
    closing: CancellationToken,
    accepting: JoinHandle<TaskTracker>,
    limits: Limits,
}

impl Gate {
    /// Starts a gate with the default limits. It serves when this returns.
    pub async fn start(options: GateOptions) -> Result<Self, StartError> {
        Self::start_with(options, Limits::default()).await
    }

    /// Starts a gate with other limits.
    pub async fn start_with(options: GateOptions, limits: Limits) -> Result<Self, StartError> {
        Self::start_deciding(options, limits, admission::decide).await
    }

    pub(super) async fn start_deciding(
        options: GateOptions,
        limits: Limits,
        decide: Decide,
    ) -> Result<Self, StartError> {
        let GateOptions {
            bind,
            certificate,
            facts,
            rulebook,
            metrics,
            witness,
        } = options;
        let listen = |source| StartError::Listen {
            address: bind,
            source,
        };
        let listener = TcpListener::bind(bind).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shown = Arc::new(Shown::new(&certificate));
        let tls = acceptor(Arc::clone(&shown)).map_err(StartError::SetUpTls)?;
        let desk = Arc::new(Desk::new((facts, rulebook), witness, limits, (decide, metrics)));
        let (stopping, closing) = (CancellationToken::new(), CancellationToken::new());
        let hall = Hall {
            tls,
            router: routes::router(Arc::clone(&desk)),
            limits,
            closing: closing.clone(),
        };
        let accepting = tokio::spawn(accept(listener, hall, stopping.clone()));
        info!(%address, "gate is open");
        Ok(Self {
            address,
            shown,
            desk,
            stopping,
            closing,
            accepting,
            limits,
        })
    }

    /// Returns the address that the gate listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows another certificate from the next handshake on.
    pub fn swap_certificate(&self, certificate: &Certificate) {
        self.shown.replace(certificate);
        info!("certificate replaced");
    }

    /// Stops: unready first, then no new connections, then the end of the open ones.
    pub async fn shutdown(self) {
        self.desk.draining.store(true, Ordering::Release);
        tokio::time::sleep(self.limits.linger).await;
        self.stopping.cancel();
        self.closing.cancel();
        let Ok(connections) = self.accepting.await else {
            return;
        };
        connections.close();
        if tokio::time::timeout(self.limits.drain, connections.wait())
            .await
            .is_err()
        {
            warn!(open = connections.len(), "connections were still open at the end");
        }
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
}

fn acceptor(shown: Arc<Shown>) -> Result<TlsAcceptor, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(shown);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(listener: TcpListener, hall: Hall, stopping: CancellationToken) -> TaskTracker {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(hall.limits.connections));
    loop {
        // A place is taken before a connection is: callers beyond the limit wait in the backlog of the socket.
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = stopping.cancelled() => return connections,
        };
        match accepted {
            Ok((tcp, _)) => {
                let hall = hall.clone();
                connections.spawn(async move {
                    connection::serve(hall, tcp).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of descriptors, most likely: a moment later there may be some again.
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}
