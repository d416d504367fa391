//! The page's own listener: an address, and connections to it.
//!
//! Decides how many there are, how long they may take, and whose place a further one gets: connections that have shown no token
//! give up theirs first, and no stream of an authenticated user does. Shares no thread, socket or limit with the gate.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use super::access::Access;
use super::answer::is_stream;
use super::places::{Connection, Places};
use super::state::{Ask, Known, PageState, Sources};

/// Connections at once; a further one gets the place of one that has shown no token, or has rested longest.
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
    All,
    /// Users authenticate with a token of the hub, which is read with this client.
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
    /// What is read on request.
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
            Visitors::All => None,
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
        info!(%url, "serving the web page");
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
            Self::All => "All",
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
    let places = Places::new(CONNECTIONS);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = state.stop.cancelled() => return,
        };
        let (tcp, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "cannot accept a connection of the web page");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(place) = places.take(from.ip()) else {
            continue;
        };
        let (tls, state) = (tls.clone(), Arc::clone(&state));
        connections.spawn(async move {
            let connection = &place.connection;
            tokio::select! {
                () = connect(tcp, tls, &state, connection) => {}
                () = connection.leave.cancelled() => debug!("connection of the web page closed for a new one"),
            }
        });
    }
}

async fn connect(
    tcp: TcpStream,
    tls: Option<TlsAcceptor>,
    state: &Arc<PageState>,
    connection: &Arc<Connection>,
) {
    let Some(tls) = tls else {
        return serve(tcp, state, connection).await;
    };
    match tokio::time::timeout(PATIENCE, tls.accept(tcp)).await {
        Ok(Ok(stream)) => serve(stream, state, connection).await,
        Ok(Err(error)) => debug!(%error, "TLS handshake of the web page failed"),
        Err(_) => debug!("TLS handshake of the web page timed out"),
    }
}

async fn serve(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    state: &Arc<PageState>,
    connection: &Arc<Connection>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (state, connection) = (Arc::clone(state), Arc::clone(connection));
        async move {
            let (parts, body) = request.into_parts();
            let answer = state.answer(parts, Body::new(body)).await;
            if answer.extensions().get::<Known>().is_some() {
                connection.answered(is_stream(&answer));
            }
            Ok::<_, Infallible>(answer)
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
                debug!(%error, "a connection of the web page ended early");
            }
            return;
        }
        () = state.stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _late = tokio::time::timeout(GOODBYE, connection).await;
}
