//! One connection, from the handshake to its end.
//!
//! Decides which version of HTTP a client speaks (by ALPN) and when its connection is closed. Never looks into a request.

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
use super::client_stream::ClientStream;
use super::connection_limit::ConnectionSlot;
use super::connection_state::{Connection, Overdue};
use super::health::Health;
use super::limits::Limits;
use super::request::HeadArrived;
use super::response_body::ResponseBody;
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
pub(super) async fn serve(context: ConnectionContext, tcp: TcpStream, slot: ConnectionSlot) {
    let conn = Arc::clone(slot.conn());
    let _undelayed = tcp.set_nodelay(true);
    let Some(tls) = handshake(&context, &conn, tcp).await else {
        return;
    };
    let h2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
    let tls = ClientStream::new(
        tls,
        Arc::clone(&conn),
        context.metrics.clone(),
        h2,
        context.limits,
    );
    let signal = tls.heads();
    let io = TokioIo::new(tls);
    let (router, tracked, health) = (context.router.clone(), Arc::clone(&conn), context.health.clone());
    let limits = context.limits;
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let (router, signal, conn) = (router.clone(), signal.clone(), Arc::clone(&tracked));
        let closes = !h2 && health.is_draining();
        let arrived = Instant::now();
        let in_flight = conn.request(arrived);
        request.extensions_mut().insert(Arc::clone(&conn));
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
            let response = response.map(|response| closing_after(response, closes));
            let response =
                response.map(|response| response.map(|body| ResponseBody::new(body, conn, &limits)));
            drop(in_flight);
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
        drive(&context, &conn, connection, http2::Connection::graceful_shutdown).await;
    } else {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .max_buf_size(H1_BUFFER)
            .header_read_timeout(context.limits.idle);
        let connection = std::pin::pin!(builder.serve_connection(io, service));
        drive(&context, &conn, connection, http1::Connection::graceful_shutdown).await;
    }
}

/// Adds `Connection: close` while the server drains: a client on HTTP/1.1 that learns of the end only when the connection breaks has
/// a request in flight then. HTTP/2 has GOAWAY for it.
fn closing_after<B>(mut response: hyper::Response<B>, closes: bool) -> hyper::Response<B> {
    if closes {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

/// Does the TLS handshake, and checks the name in the certificate of a client that had to show one.
async fn handshake(
    context: &ConnectionContext,
    conn: &Connection,
    tcp: TcpStream,
) -> Option<TlsStream<TcpStream>> {
    let acceptor = TlsAcceptor::from(context.tls.load_full());
    let accepted = tokio::select! {
        accepted = tokio::time::timeout(context.limits.handshake, acceptor.accept(tcp)) => accepted,
        () = conn.leave.cancelled() => return None,
    };
    let refuses = |reason| {
        context.metrics.connections().closes(reason);
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
        if !Callers::allow(&context.names, certificate) {
            debug!("the client certificate has none of the allowed names");
            return refuses(Closed::WrongName);
        }
        conn.mark_known();
    }
    conn.handshake_done(Instant::now());
    Some(tls)
}

/// Drives a connection, and ends it when it is time: gracefully, unless the client does not take its responses.
async fn drive<C>(
    context: &ConnectionContext,
    conn: &Connection,
    mut connection: Pin<&mut C>,
    shut: impl Fn(Pin<&mut C>),
) where
    C: Future<Output = hyper::Result<()>>,
{
    let mut look = tokio::time::interval(context.limits.look_every());
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
            () = context.closing.cancelled(), if !closing => {
                closing = true;
                shut(connection.as_mut());
                continue;
            }
            () = conn.leave.cancelled(), if !leaving => {
                leaving = true;
                until = Some(Instant::now() + GOODBYE);
                shut(connection.as_mut());
                continue;
            }
            now = look.tick() => now,
            () = past(until) => return,
        };
        match conn.overdue(&context.limits, now) {
            Some(Overdue::Cut) => return context.metrics.connections().closes(Closed::SlowReader),
            Some(Overdue::Leave) if until.is_none() => {
                context.metrics.connections().closes(Closed::Rested);
                until = Some(now + context.limits.write);
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
