//! The pages that are no admission: `/healthz`, `/readyz`, `/metrics` and `/pending`, over plain HTTP,
//! on addresses and a thread of their own.
//!
//! Decides nothing. Whatever happens at the gate, a question here gets an answer: no thread, socket or place is shared. Nothing
//! that admission needs depends on it, and nothing on it is secret.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::connection_limit::{ConnectionLimit, ConnectionSlot};
use super::health::Health;
use super::limits::Limits;
use super::responses::probe_response;
use crate::telemetry::Metrics;

/// What the text is, in the words of its format.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What a page for people is.
const PLAIN: &str = "text/plain; charset=utf-8";
/// Connections at once; a further one takes the place of the oldest.
const CONNECTIONS: usize = 128;
/// How long one may take, from its first byte to its last: one page each.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which page is served where.
#[derive(Clone, Copy, Debug, Default)]
pub struct PagesAt {
    /// Address of `/healthz` and `/readyz`.
    pub health: Option<SocketAddr>,
    /// Address of `/metrics`; may be the same.
    pub metrics: Option<SocketAddr>,
}

/// Pages that are served until this is dropped.
#[derive(Debug)]
pub struct Pages {
    at: PagesAt,
    _stop_on_drop: DropGuard,
    _thread: Option<JoinHandle<()>>,
}

/// What one address serves.
#[derive(Clone)]
struct Page {
    health: Option<Health>,
    metrics: Option<Metrics>,
}

/// Why the pages are not served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve probes and metrics at {address}")]
pub struct PagesError {
    /// Where they should be.
    pub address: SocketAddr,
    /// Why they are not.
    pub source: std::io::Error,
}

impl Pages {
    /// Serves the pages; port 0 takes any free one. They are served when this returns.
    pub fn start(at: PagesAt, health: &Health, metrics: &Metrics) -> Result<Self, PagesError> {
        let listens = |address: SocketAddr| {
            let opened =
                TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
            opened.map_err(|source| PagesError { address, source })
        };
        let mut pages: Vec<(TcpListener, Page)> = Vec::new();
        let mut served = PagesAt::default();
        if let Some(address) = at.health {
            let (bound, listener) = listens(address)?;
            served.health = Some(bound);
            info!(address = %bound, "serving probes");
            let page = Page {
                health: Some(health.clone()),
                metrics: None,
            };
            pages.push((listener, page));
        }
        match (at.metrics, pages.first_mut()) {
            (Some(address), Some((_, page))) if at.health == Some(address) => {
                served.metrics = served.health;
                page.metrics = Some(metrics.clone());
            }
            (Some(address), _) => {
                let (bound, listener) = listens(address)?;
                served.metrics = Some(bound);
                let page = Page {
                    health: None,
                    metrics: Some(metrics.clone()),
                };
                pages.push((listener, page));
            }
            (None, _) => {}
        }
        if let Some(address) = served.metrics {
            info!(%address, "serving metrics");
        }
        let stop = CancellationToken::new();
        let thread = if pages.is_empty() {
            None
        } else {
            let any = served
                .health
                .or(served.metrics)
                .unwrap_or_else(|| SocketAddr::from(([0; 4], 0)));
            let apart = serve_apart(pages, stop.clone());
            Some(apart.map_err(|source| PagesError { address: any, source })?)
        };
        Ok(Self {
            at: served,
            _stop_on_drop: stop.drop_guard(),
            _thread: thread,
        })
    }

    /// Returns where the pages are served.
    pub fn at(&self) -> PagesAt {
        self.at
    }
}

/// Serves on a thread that has nothing else to do.
fn serve_apart(pages: Vec<(TcpListener, Page)>, stop: CancellationToken) -> std::io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for (listener, _) in &pages {
        listener.set_nonblocking(true)?;
    }
    std::thread::Builder::new()
        .name("pages".to_owned())
        .spawn(move || {
            let all = pages.into_iter().map(|(listener, page)| accept(listener, page));
            let serving = async {
                tokio::select! {
                    _ended = futures::future::join_all(all) => {}
                    () = stop.cancelled() => {}
                }
            };
            runtime.block_on(serving);
        })
}

async fn accept(listener: TcpListener, page: Page) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return warn!(%error, "cannot serve probes and metrics"),
    };
    // Counted apart from the gate's connections.
    let open = ConnectionLimit::new(CONNECTIONS, Limits::default(), Metrics::default());
    loop {
        match listener.accept().await {
            Ok((tcp, from)) => {
                if let Some(slot) = open.take(from.ip().into(), Instant::now()) {
                    tokio::spawn(one(tcp, slot, page.clone()));
                }
            }
            Err(error) => {
                warn!(%error, "cannot accept a connection for probes and metrics");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// One connection, one page.
async fn one(tcp: TcpStream, slot: ConnectionSlot, page: Page) {
    let service = service_fn(move |request| {
        let response = page.answer(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .keep_alive(false)
        .max_buf_size(16 << 10);
    let connection = builder.serve_connection(TokioIo::new(tcp), service);
    let conn = Arc::clone(slot.conn());
    tokio::select! {
        _ended = tokio::time::timeout(PATIENCE, connection) => {}
        () = conn.leave.cancelled() => {}
    }
    drop(slot);
}

impl Page {
    fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let known = match (request.uri().path(), &self.health, &self.metrics) {
            ("/healthz", Some(health), _) => Some(probe_response(health.alive(Instant::now()))),
            ("/readyz", Some(health), _) => Some(probe_response(health.ready(Timestamp::now()))),
            ("/metrics", _, Some(metrics)) => Some(text(metrics.text(), CONTENT_TYPE)),
            ("/pending", _, Some(metrics)) => metrics.modes().page().map(|page| text(page, PLAIN)),
            _ => None,
        };
        let wrong = |status: StatusCode| {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = status;
            response
        };
        match (request.method(), known) {
            (_, None) => wrong(StatusCode::NOT_FOUND),
            (&Method::GET | &Method::HEAD, Some(page)) => page,
            (_, Some(_)) => wrong(StatusCode::METHOD_NOT_ALLOWED),
        }
    }
}

fn text(text: String, kind: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    let kind = header::HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
