//! The page of metrics: `GET /metrics` over plain HTTP, on an address of its own.
//!
//! Decides nothing. Nothing that admission needs depends on it, and nothing on it is secret.

use std::net::SocketAddr;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use crate::telemetry::Metrics;

/// What the text is, in the words of its format.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A page that is served until this is dropped.
#[derive(Debug)]
pub struct Exposition {
    address: SocketAddr,
    _stop_on_drop: DropGuard,
}

impl Exposition {
    /// Serves the page; port 0 takes any free one.
    pub async fn start(bind: SocketAddr, metrics: Metrics) -> std::io::Result<Self> {
        let listener = TcpListener::bind(bind).await?;
        let address = listener.local_addr()?;
        let page = move || {
            let text = metrics.text();
            async move { ([(header::CONTENT_TYPE, CONTENT_TYPE)], text) }
        };
        let router = Router::new().route("/metrics", get(page));
        let stop = CancellationToken::new();
        let end = stop.clone().cancelled_owned();
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(end).await {
                warn!(%error, "metrics are not served any more");
            }
        });
        info!(%address, "metrics are served");
        Ok(Self {
            address,
            _stop_on_drop: stop.drop_guard(),
        })
    }

    /// Returns the address of the page.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
