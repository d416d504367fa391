//! The listening socket.
//!
//! Decides how connections are accepted, who stands at the other end of TLS and how serving ends.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::answer;
use crate::hub::Hub;
use crate::identity::{Authority, Credentials, IdentityError, Peer};

/// Requests that one client may have open on one connection; every watch is one.
const STREAMS: u32 = 10_000;
/// How long connections may take to end once their watches have.
const PATIENCE: Duration = Duration::from_secs(2);

/// A hub that listens.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// Returns the TLS configuration: client certificates are welcome, not required.
pub(crate) fn tls_config(
    authority: &Authority,
    serving: &Credentials,
) -> Result<ServerConfig, IdentityError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.root())?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(serving.chain(), serving.private_key())?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

impl Server {
    /// Starts to serve a hub.
    pub(crate) async fn start(hub: Arc<Hub>, bind: SocketAddr, tls: ServerConfig) -> std::io::Result<Self> {
        let listener = TcpListener::bind(bind).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, hub, TlsAcceptor::from(Arc::new(tls))));
        Ok(Self { address, task })
    }

    /// Returns where the hub listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until every connection has ended. The hub must have been told to stop.
    pub(crate) async fn finished(self) {
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the listener ended early");
        }
    }
}

async fn accept(listener: TcpListener, hub: Arc<Hub>, tls: TlsAcceptor) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = hub.stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(serve(stream, Arc::clone(&hub), tls.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    connections.close();
    if tokio::time::timeout(PATIENCE, connections.wait()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

async fn serve(stream: TcpStream, hub: Arc<Hub>, tls: TlsAcceptor) {
    stream.set_nodelay(true).unwrap_or_default();
    let stream = match tls.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => {
            tracing::debug!(%error, "TLS handshake failed");
            return;
        }
    };
    let peer = Peer::from_certificate(stream.get_ref().1.peer_certificates().and_then(<[_]>::first));
    let stop = hub.stop.clone();
    let service = service_fn(move |request| {
        let (hub, peer) = (Arc::clone(&hub), peer.clone());
        async move { Ok::<_, Infallible>(answer(&hub, &peer, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
