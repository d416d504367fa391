//! Sends spans to a collector: OTLP over HTTP, in the binary form.
//!
//! Decides how many go at once, how long a collector may take, and that the end of the program waits two seconds for the last. No
//! request waits for it otherwise; what a collector does not take is counted and gone. Never repeats a collector's words.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Uri, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::trace_context::Ratio;
use super::trace_wire::export;
use super::traces::{Span, SpanCounts, SpanEnd, TraceMetrics, Tracer};

/// So many spans go at once.
const BATCH: usize = 512;
/// So long the first span of a batch waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// So long a collector may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// So long the end of the program waits.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// TLS cannot be set up.
    #[error("cannot set up TLS for the collector")]
    SetUpTls(#[source] rustls::Error),
    /// No certificate authority that this machine trusts can be read.
    #[error("cannot read the CA certificates of this machine: set SSL_CERT_FILE, or use http://")]
    NoAuthority,
}

/// Where spans go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector(Uri);

impl Collector {
    /// Reads the address of a collector; without a path, OTLP's own is meant.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "must be the address of a collector, such as http://collector:4318".to_owned();
        let uri: Uri = text.parse().map_err(|_error| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            return Err(wrong());
        }
        if authority.as_str().contains('@') {
            return Err(
                "must have no user and password: they would be visible in the list of processes".to_owned(),
            );
        }
        let path = match uri.path() {
            "" | "/" => "/v1/traces",
            path => path,
        };
        let whole = Uri::builder()
            .scheme(uri.scheme_str().unwrap_or_default())
            .authority(authority.as_str())
            .path_and_query(path)
            .build();
        whole.map(Self).map_err(|_error| wrong())
    }
}

/// Sends spans until it ends.
#[derive(Debug)]
pub struct Sending {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Sending {
    /// Starts to send, and has spans made.
    pub fn start(to: Collector, ratio: Ratio, traces: &TraceMetrics) -> Result<Self, TraceError> {
        let client = client(&to)?;
        let (tracer, waiting) = Tracer::new(ratio, traces.spans.clone());
        let stop = CancellationToken::new();
        info!(collector = %to.0, "sending traces");
        let post = Post {
            client,
            to,
            counts: traces.spans.clone(),
            is_refused: false,
        };
        let task = tokio::spawn(send(post, waiting, stop.clone()));
        traces.trace_with(tracer);
        Ok(Self { stop, task })
    }

    /// Sends what waits, for two seconds at most.
    pub async fn end(mut self) {
        self.stop.cancel();
        if tokio::time::timeout(FAREWELL, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

/// A client for requests that leave the hub.
pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

fn client(to: &Collector) -> Result<HttpClient, TraceError> {
    let mut roots = RootCertStore::empty();
    if to.0.scheme_str() == Some("https") {
        roots = native_roots();
        if roots.is_empty() {
            return Err(TraceError::NoAuthority);
        }
    }
    http_client(roots).map_err(TraceError::SetUpTls)
}

/// Returns the certificate authorities that this machine trusts.
pub(crate) fn native_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// Returns a client for HTTP, and for HTTPS with these certificate authorities.
pub(crate) fn http_client(roots: RootCertStore) -> Result<HttpClient, rustls::Error> {
    let tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .build();
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

struct Post {
    client: HttpClient,
    to: Collector,
    counts: SpanCounts,
    is_refused: bool,
}

async fn send(mut post: Post, mut waiting: mpsc::Receiver<Span>, stop: CancellationToken) {
    loop {
        let mut batch = Vec::new();
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            first = waiting.recv() => match first {
                Some(first) => batch.push(first),
                None => return,
            },
        }
        let gathered = async {
            while batch.len() < BATCH {
                let left = BATCH - batch.len();
                if waiting.recv_many(&mut batch, left).await == 0 {
                    return;
                }
            }
        };
        tokio::select! {
            () = gathered => {}
            () = stop.cancelled() => {}
            () = tokio::time::sleep(GATHER) => {}
        }
        post.send(batch).await;
    }
    waiting.close();
    loop {
        let mut batch = Vec::new();
        if waiting.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        post.send(batch).await;
    }
}

impl Post {
    async fn send(&mut self, batch: Vec<Span>) {
        let count = batch.len();
        let refused = match tokio::time::timeout(PATIENCE, self.post(&batch)).await {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_elapsed) => Some("the collector does not respond in time".to_owned()),
        };
        let outcome = if refused.is_none() {
            SpanEnd::Sent
        } else {
            SpanEnd::Failed
        };
        self.counts.count(outcome, count);
        // Told when it begins and when it is over: the metric says how much.
        match (refused, self.is_refused) {
            (Some(why), false) => {
                warn!(why, collector = %self.to.0, "cannot export spans to the trace collector");
            }
            (None, true) => info!(collector = %self.to.0, "the trace collector accepts spans again"),
            (Some(_), true) | (None, false) => {}
        }
        self.is_refused = outcome == SpanEnd::Failed;
    }

    async fn post(&self, batch: &[Span]) -> Result<(), String> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.to.0)
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(Bytes::from(export(batch))))
            .map_err(|error| error.to_string())?;
        let answer = self
            .client
            .request(request)
            .await
            .map_err(|error| error.to_string())?;
        // Its words are its own: the status says enough.
        if answer.status().is_success() {
            return Ok(());
        }
        Err(format!("the collector returns {}", answer.status()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_whole_and_what_is_none_is_refused() {
        for (text, whole) in [
            ("http://collector:4318", "http://collector:4318/v1/traces"),
            ("https://collector/", "https://collector/v1/traces"),
            ("http://127.0.0.1:1/own/path", "http://127.0.0.1:1/own/path"),
        ] {
            assert_eq!(
                Collector::parse(text).map(|to| to.0.to_string()),
                Ok(whole.to_owned())
            );
        }
        for wrong in [
            "collector:4318",
            "grpc://collector:4317",
            "http://",
            "http://a:b@c",
            "http://c?d",
            "",
        ] {
            assert!(Collector::parse(wrong).is_err(), "{wrong}");
        }
    }
}
