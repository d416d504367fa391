//! One connection, from the handshake to its end.
//!
//! Decides which HTTP a caller speaks (what ALPN settled) and when it is hung up on. Never looks into a request.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tracing::debug;

use super::callers::Callers;
use super::header_timeout::{HeadDeadline, HeadSignal};
use super::health::Health;
use super::limits::Limits;
use super::outbound::Outbound;
use super::peer::{Life, Overdue};
use super::places::Place;
use super::review_deadline::HeadArrived;
use super::watched::Watched;
use crate::telemetry::{Closed, Metrics};

const H2_STREAMS: u32 = 250;
const H2_HEADERS: u32 = 16 << 10;
const H2_PING: Duration = Duration::from_secs(30);
/// What one stream, and one connection, may send before it is read.
const H2_STREAM_WINDOW: u32 = 64 << 10;
const H2_WINDOW: u32 = 256 << 10;
const H2_SEND_BUFFER: usize = 16 << 10;
const H1_BUFFER: usize = 64 << 10;
/// How long a connection may take to end once its place has been taken from it.
const GOODBYE: Duration = Duration::from_millis(250);

/// What every connection shares.
#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub(super) tls: Arc<ArcSwap<rustls::ServerConfig>>,
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) closing: CancellationToken,
    pub(super) names: Arc<std::collections::BTreeSet<String>>,
    pub(super) metrics: Metrics,
    pub(super) health: Health,
}

/// Serves one connection until it ends; a caller's misbehaviour ends it and nothing else.
pub(super) async fn serve(hall: ConnectionContext, tcp: TcpStream, place: Place) {
    let life = Arc::clone(place.life());
    let _undelayed = tcp.set_nodelay(true);
    let Some(tls) = shaken(&hall, &life, tcp).await else {
        return;
    };
    let h2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
    let tls = Watched::new(tls, Arc::clone(&life), hall.metrics.clone(), h2, hall.limits);
    let signal = HeadSignal::default();
    let io = TokioIo::new(HeadDeadline::new(tls, signal.clone(), hall.limits.head));
    let (router, asked, health) = (hall.router.clone(), Arc::clone(&life), hall.health.clone());
    let limits = hall.limits;
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let (router, signal, life) = (router.clone(), signal.clone(), Arc::clone(&asked));
        let parts = !h2 && health.is_draining();
        let arrived = Instant::now();
        let asking = life.request(arrived);
        request.extensions_mut().insert(Arc::clone(&life));
        request.extensions_mut().insert(HeadArrived(arrived));
        async move {
            if h2 {
                // One h2 connection carries many requests: only the first is waited for, then pings and bounds watch.
                signal.stays_open();
            } else {
                signal.arrived();
            }
            let response = router.oneshot(request).await;
            if !h2 {
                signal.answered();
            }
            let response = response.map(|response| parting(response, parts));
            let response = response.map(|response| response.map(|body| Outbound::new(body, life, &limits)));
            drop(asking);
            response
        }
    });
    if h2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(H2_STREAMS)
            .max_header_list_size(H2_HEADERS)
            .initial_stream_window_size(H2_STREAM_WINDOW)
            .initial_connection_window_size(H2_WINDOW)
            .max_send_buf_size(H2_SEND_BUFFER)
            .keep_alive_interval(H2_PING);
        let connection = std::pin::pin!(builder.serve_connection(io, service));
        until_it_ends(&hall, &life, connection, http2::Connection::graceful_shutdown).await;
    } else {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .max_buf_size(H1_BUFFER)
            .header_read_timeout(hall.limits.idle);
        let connection = std::pin::pin!(builder.serve_connection(io, service));
        until_it_ends(&hall, &life, connection, http1::Connection::graceful_shutdown).await;
    }
}

/// Tells a caller on HTTP/1.1 to come again by another connection, from the moment on when the gate is to end: a caller that
/// learns of it only when the connection breaks has a question under way then. HTTP/2 has GOAWAY for it.
fn parting<B>(mut response: hyper::Response<B>, parts: bool) -> hyper::Response<B> {
    if parts {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

/// Shakes hands, and looks at the certificate that the caller has shown if it had to.
async fn shaken(hall: &ConnectionContext, life: &Life, tcp: TcpStream) -> Option<TlsStream<TcpStream>> {
    let acceptor = TlsAcceptor::from(hall.tls.load_full());
    let accepted = tokio::select! {
        accepted = tokio::time::timeout(hall.limits.handshake, acceptor.accept(tcp)) => accepted,
        () = life.leave.cancelled() => return None,
    };
    let refuses = |reason| {
        hall.metrics.door().closes(reason);
        None
    };
    let tls = match accepted {
        Ok(Ok(tls)) => tls,
        Ok(Err(error)) => {
            debug!(%error, "TLS handshake failed");
            return refuses(Closed::NoHandshake);
        }
        Err(_) => {
            debug!("TLS handshake timed out");
            return refuses(Closed::NoHandshake);
        }
    };
    if let Some(certificate) = tls.get_ref().1.peer_certificates().and_then(<[_]>::first) {
        if !Callers::allow(&hall.names, certificate) {
            debug!("the caller's certificate has none of the names that may ask");
            return refuses(Closed::WrongName);
        }
        life.is_known();
    }
    life.shaken(Instant::now());
    Some(tls)
}

/// Drives a connection, and ends it when it is time: after a word to the caller, unless the caller does not take its answers.
async fn until_it_ends<C>(
    hall: &ConnectionContext,
    life: &Life,
    mut connection: Pin<&mut C>,
    shut: impl Fn(Pin<&mut C>),
) where
    C: Future<Output = hyper::Result<()>>,
{
    let mut look = tokio::time::interval(hall.limits.look_every());
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut closing, mut leaving) = (false, false);
    let mut until: Option<Instant> = None;
    loop {
        let now = tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(%error, "connection ended early");
                }
                return;
            }
            () = hall.closing.cancelled(), if !closing => {
                closing = true;
                shut(connection.as_mut());
                continue;
            }
            () = life.leave.cancelled(), if !leaving => {
                leaving = true;
                until = Some(Instant::now() + GOODBYE);
                shut(connection.as_mut());
                continue;
            }
            now = look.tick() => now,
            () = past(until) => return,
        };
        match life.overdue(&hall.limits, now) {
            Some(Overdue::Cut) => return hall.metrics.door().closes(Closed::SlowReader),
            Some(Overdue::Leave) if until.is_none() => {
                hall.metrics.door().closes(Closed::Rested);
                until = Some(now + hall.limits.write);
                shut(connection.as_mut());
            }
            Some(Overdue::Leave) | None => {}
        }
    }
}

/// Ends at a time, if there is one.
async fn past(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}
