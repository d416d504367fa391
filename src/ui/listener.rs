//! The page's own door: an address, and connections to it.
//!
//! Decides how many there are and how long they may take. Shares no thread place, socket or limit with the gate.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use super::access::Access;
use super::state::{Ask, PageState, Sources};

/// Connections at once; a further one waits in the kernel.
const CONNECTIONS: usize = 128;
/// How long a handshake may take, and how long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long connections may take to end.
const GOODBYE: Duration = Duration::from_secs(2);
const BUFFER: usize = 32 << 10;

/// Who may look at the page.
#[derive(Clone)]
pub enum Visitors {
    /// Every visitor who reaches it: the hub does not authenticate, either.
    Anybody,
    /// Whom the hub knows by a token; it is asked with this client.
    Known(Client),
}

/// What a page is served with.
pub struct PageOptions {
    /// Where; port 0 takes any free one.
    pub bind: SocketAddr,
    /// Names by which browsers call it, beside addresses and localhost.
    pub hosts: BTreeSet<String>,
    /// The certificate that it shows; plain HTTP without one.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// What is shown.
    pub sources: Sources,
    /// What is read when it is asked for.
    pub asks: Arc<dyn Ask>,
    /// Who may look.
    pub visitors: Visitors,
}

/// A page that is served; dropped, it ends at once.
#[derive(Debug)]
pub struct Page {
    url: String,
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Page {
    /// Serves the page. It is served when this returns.
    pub async fn start(options: PageOptions) -> std::io::Result<Self> {
        let listener = TcpListener::bind(options.bind).await?;
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}/", listener.local_addr()?);
        let access = match options.visitors {
            Visitors::Anybody => None,
            Visitors::Known(client) => Some(Access::new(client)),
        };
        let hosts = options
            .hosts
            .iter()
            .map(|host| host.to_ascii_lowercase())
            .collect();
        let state = Arc::new(PageState::new(options.sources, options.asks, access, hosts));
        let (stop, connections) = (state.stop.clone(), TaskTracker::new());
        let tls = options.tls.map(TlsAcceptor::from);
        info!(%url, "the page is served");
        connections.spawn(accept(listener, tls, state, connections.clone()));
        Ok(Self {
            url,
            stop,
            connections,
        })
    }

    /// Returns where it is served.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it, and what follows it.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.connections.close();
        // A connection that is still open after that ends with the process.
        let _late = tokio::time::timeout(GOODBYE, self.connections.wait()).await;
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl std::fmt::Debug for Visitors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Anybody => "Anybody",
            Self::Known(_) => "Known",
        })
    }
}

impl std::fmt::Debug for PageOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageOptions")
            .field("bind", &self.bind)
            .finish_non_exhaustive()
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    state: Arc<PageState>,
    connections: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = state.stop.cancelled() => return,
        };
        let tcp = match accepted {
            Ok((tcp, _)) => tcp,
            Err(error) => {
                warn!(%error, "cannot accept a connection for the page");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (tls, state) = (tls.clone(), Arc::clone(&state));
        connections.spawn(async move {
            let _place = place;
            connect(tcp, tls, &state).await;
        });
    }
}

async fn connect(tcp: TcpStream, tls: Option<TlsAcceptor>, state: &Arc<PageState>) {
    let Some(tls) = tls else {
        return serve(tcp, state).await;
    };
    match tokio::time::timeout(PATIENCE, tls.accept(tcp)).await {
        Ok(Ok(stream)) => serve(stream, state).await,
        Ok(Err(error)) => debug!(%error, "TLS handshake of the page failed"),
        Err(_) => debug!("TLS handshake of the page timed out"),
    }
}

async fn serve(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, state: &Arc<PageState>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let state = Arc::clone(state);
        async move {
            // Nothing is read but the head: the page only reads.
            let (parts, _) = request.into_parts();
            Ok::<_, Infallible>(state.answer(parts).await)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(BUFFER);
    let connection = builder.serve_connection(TokioIo::new(io), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                debug!(%error, "a connection of the page ended early");
            }
            return;
        }
        () = state.stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _late = tokio::time::timeout(GOODBYE, connection).await;
}
