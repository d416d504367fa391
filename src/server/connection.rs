//! One connection, from the handshake to its end.
//!
//! Decides which HTTP a caller speaks (what ALPN settled) and when it is hung up on. Never looks into a request.

use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tracing::debug;

use super::head::{HeadDeadline, HeadSignal};
use super::limits::Limits;

const H2_STREAMS: u32 = 250;
const H2_HEADERS: u32 = 16 << 10;
const H2_PING: Duration = Duration::from_secs(30);

/// What every connection shares.
#[derive(Clone)]
pub(super) struct Hall {
    pub(super) tls: TlsAcceptor,
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) closing: CancellationToken,
}

/// Serves one connection until it ends; a caller's misbehaviour ends it and nothing else.
pub(super) async fn serve(hall: Hall, tcp: TcpStream) {
    let _undelayed = tcp.set_nodelay(true);
    let tls = match tokio::time::timeout(hall.limits.handshake, hall.tls.accept(tcp)).await {
        Ok(Ok(tls)) => tls,
        Ok(Err(error)) => return debug!(%error, "TLS handshake failed"),
        Err(_) => return debug!("TLS handshake timed out"),
    };
    let h2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
    let signal = HeadSignal::default();
    let io = TokioIo::new(HeadDeadline::new(tls, signal.clone(), hall.limits.head));
    let router = hall.router.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (router, signal) = (router.clone(), signal.clone());
        async move {
            if h2 {
                // One h2 connection carries many requests: only the first is waited for, then pings and bounds watch.
                signal.stays_open();
                return router.oneshot(request).await;
            }
            signal.arrived();
            let response = router.oneshot(request).await;
            signal.answered();
            response
        }
    });
    if h2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(H2_STREAMS)
            .max_header_list_size(H2_HEADERS)
            .keep_alive_interval(H2_PING);
        let connection = std::pin::pin!(builder.serve_connection(io, service));
        finish(connection, &hall.closing, http2::Connection::graceful_shutdown).await;
    } else {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(hall.limits.idle);
        let connection = std::pin::pin!(builder.serve_connection(io, service));
        finish(connection, &hall.closing, http1::Connection::graceful_shutdown).await;
    }
}

async fn finish<C>(
    mut connection: std::pin::Pin<&mut C>,
    closing: &CancellationToken,
    shut: impl FnOnce(std::pin::Pin<&mut C>),
) where
    C: Future<Output = hyper::Result<()>>,
{
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            shut(connection.as_mut());
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "connection ended early");
    }
}
