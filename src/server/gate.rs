//! The gate: one listening server from start to shutdown.
//!
//! Decides the order of starting and stopping. When it has started it serves; when it has shut down, every request that
//! was accepted has been answered or its time was up.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::crypto::aws_lc_rs;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::callers::{ClientAuthority, PathSecrets};
use super::certificate::{Certificate, CertificateError, Shown};
use super::connection::{self, ConnectionContext};
use super::connection_limit::ConnectionLimit;
use super::health::Health;
use super::limits::Limits;
use super::routes;
use super::state::{AppState, Decide, GateOptions};
use crate::telemetry::{Closed, Metrics};

const BACKLOG: u32 = 4096;

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
    /// The certificate is not for the name that callers use.
    #[error("cannot serve the certificate")]
    ShowCertificate(#[source] CertificateError),
    /// There are no threads for decisions.
    #[error("cannot start the worker threads")]
    StartThreads(#[source] std::io::Error),
}

/// A running gate.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    shown: Arc<Shown>,
    tls: Arc<ArcSwap<rustls::ServerConfig>>,
    state: Arc<AppState>,
    health: Health,
    metrics: Metrics,
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
        // Listening needs the runtime, and nothing has to be waited for.
        std::future::ready(Self::start_deciding(options, limits, admission::decide)).await
    }

    pub(super) fn start_deciding(
        options: GateOptions,
        limits: Limits,
        decide: Decide,
    ) -> Result<Self, StartError> {
        admission::prepare();
        let bind = options.bind;
        let listen = |source| StartError::Listen {
            address: bind,
            source,
        };
        let listener = listen_at(bind).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shown = Shown::new(&options.certificate, options.name.clone());
        let shown = Arc::new(shown.map_err(StartError::ShowCertificate)?);
        let tls = tls(&shown, options.callers.authority.as_ref()).map_err(StartError::SetUpTls)?;
        let tls = Arc::new(ArcSwap::from_pointee(tls));
        let (metrics, health) = (options.metrics.clone(), options.health.clone());
        let stopping = CancellationToken::new();
        let names = Arc::new(options.callers.names.clone());
        let certificate = options.certificate.clone();
        let state = AppState::new(options, limits, decide).map_err(StartError::StartThreads)?;
        let state = Arc::new(state);
        let closing = state.closing.clone();
        let context = ConnectionContext {
            tls: Arc::clone(&tls),
            router: routes::router(Arc::clone(&state)),
            limits,
            closing: closing.clone(),
            names,
            metrics: metrics.clone(),
            health: health.clone(),
        };
        let accepting = tokio::spawn(accept(listener, context, stopping.clone()));
        info!(%address, "webhook is listening");
        let gate = Self {
            address,
            shown,
            tls,
            state,
            health,
            metrics,
            stopping,
            closing,
            accepting,
            limits,
        };
        gate.tell_of(&certificate);
        Ok(gate)
    }

    /// Returns the address that the gate listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows another certificate from the next handshake on, unless no caller could accept it at this time.
    pub fn swap_certificate(
        &self,
        certificate: &Certificate,
        now: Timestamp,
    ) -> Result<(), CertificateError> {
        self.shown.replace(certificate, now)?;
        self.tell_of(certificate);
        info!(until = %certificate.validity().not_after, "certificate replaced");
        Ok(())
    }

    /// Returns how another listener of this program shows the same certificate, replaced ones included; it asks callers for none.
    pub fn same_certificate(&self) -> Result<rustls::ServerConfig, StartError> {
        let mut config = tls(&self.shown, None).map_err(StartError::SetUpTls)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Returns what is to be said of the certificate's end, when it has come or comes soon.
    pub fn certificate_ends(&self, now: Timestamp) -> Option<String> {
        let validity = self.shown.validity();
        let fault = validity.fault(now).map(|fault| fault.to_string());
        fault.or_else(|| {
            validity
                .ends_soon(now)
                .then(|| format!("it expires at {}", validity.not_after))
        })
    }

    /// Returns where the gate counts what it does.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Notes why a new file of this kind cannot be used, so that what was taken before stays; `None` when it is over.
    pub fn keeps(&self, what: &'static str, refused: Option<&'static str>) {
        self.health.keeps(what, refused);
    }

    fn tell_of(&self, certificate: &Certificate) {
        let validity = certificate.validity().clone();
        self.metrics
            .connections()
            .shows_until(validity.not_after.as_second());
        self.health.shows(validity);
    }

    /// Requires client certificates of another CA from the next handshake on.
    pub fn swap_authority(&self, authority: &ClientAuthority) -> Result<(), StartError> {
        let tls = tls(&self.shown, Some(authority)).map_err(StartError::SetUpTls)?;
        self.tls.store(Arc::new(tls));
        info!("client CA bundle replaced");
        Ok(())
    }

    /// Takes other secrets of the path from now on.
    pub fn swap_secrets(&self, secrets: PathSecrets) {
        self.state.secrets.store(Some(Arc::new(secrets)));
        info!("path secrets replaced");
    }

    /// Stops: unready first, then no new connections, then the end of the open ones.
    pub async fn shutdown(self) {
        self.health.drain();
        let drained = self.health.drained_for(Instant::now()).unwrap_or_default();
        tokio::time::sleep(self.limits.linger.saturating_sub(drained)).await;
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
            warn!(
                open = connections.len(),
                "connections were still open at shutdown"
            );
        }
    }
}

fn tls(
    shown: &Arc<Shown>,
    authority: Option<&ClientAuthority>,
) -> Result<rustls::ServerConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let builder = match authority {
        Some(authority) => builder.with_client_cert_verifier(Arc::clone(&authority.0)),
        None => builder.with_no_client_auth(),
    };
    let mut config =
        builder.with_cert_resolver(Arc::clone(shown) as Arc<dyn rustls::server::ResolvesServerCert>);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Newcomers wait in the kernel while a crowd is being accepted: a client that finds the queue full retries a second later.
fn listen_at(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(
    listener: TcpListener,
    context: ConnectionContext,
    stopping: CancellationToken,
) -> TaskTracker {
    let connections = TaskTracker::new();
    let open = ConnectionLimit::new(
        context.limits.connections,
        context.limits,
        context.metrics.clone(),
    );
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => return connections,
        };
        match accepted {
            Ok((tcp, from)) => {
                let Some(slot) = open.take(from.ip().into(), Instant::now()) else {
                    context.metrics.connections().closes(Closed::NoPlace);
                    continue;
                };
                connections.spawn(connection::serve(context.clone(), tcp, slot));
            }
            Err(error) => {
                // Out of descriptors, most likely: a moment later there may be some again.
                warn!(%error, "cannot accept a connection");
                open.evict_one(Instant::now());
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}
