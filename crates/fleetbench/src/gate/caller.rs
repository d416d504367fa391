//! One connection to the gate: TLS, HTTP/1.1, kept open.
//!
//! Decides what counts as an answer: a review that carries a verdict. Opens a new connection when the old one ended.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::error::BenchError;

/// How a gate is reached.
#[derive(Clone)]
pub(super) struct Line {
    address: SocketAddr,
    tls: TlsConnector,
}

/// One open connection.
pub(super) struct Caller {
    line: Line,
    open: Option<SendRequest<Full<Bytes>>>,
}

#[derive(Deserialize)]
struct Review {
    response: AdmissionResponse,
}

#[derive(Deserialize)]
struct AdmissionResponse {
    allowed: bool,
}

impl Line {
    /// Returns the way to a gate whose certificate is its own authority.
    pub(super) fn to(address: SocketAddr, certificate: &str) -> Result<Self, BenchError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(certificate.as_bytes()) {
            let certificate = certificate.map_err(|error| BenchError::Gate(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| BenchError::Gate(error.to_string()))?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| BenchError::Gate(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            address,
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    /// Returns a caller that has not called yet.
    pub(super) fn caller(&self) -> Caller {
        Caller {
            line: self.clone(),
            open: None,
        }
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = TcpStream::connect(self.address)
            .await
            .map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let name = ServerName::from(self.address.ip());
        let stream = self
            .tls
            .connect(name, stream)
            .await
            .map_err(|error| error.to_string())?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
        });
        Ok(sender)
    }
}

impl Caller {
    /// Asks; returns whether the object is let in.
    pub(super) async fn ask(&mut self, path: &str, body: Bytes) -> Result<bool, String> {
        let answer = self.send(Method::POST, path, body).await?;
        let review: Review = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        Ok(review.response.allowed)
    }

    /// Tells whether the gate says that it is ready.
    pub(super) async fn is_ready(&mut self) -> bool {
        self.send(Method::GET, "/readyz", Bytes::new()).await.is_ok()
    }

    async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes, String> {
        let mut sender = match self.open.take() {
            Some(open) if !open.is_closed() => open,
            Some(_) | None => self.line.open().await?,
        };
        sender.ready().await.map_err(|error| error.to_string())?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.line.address.to_string())
            .header("content-type", "application/json")
            .body(Full::new(body))
            .map_err(|error| error.to_string())?;
        let response = sender
            .send_request(request)
            .await
            .map_err(|error| error.to_string())?;
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        self.open = Some(sender);
        if status.is_success() {
            Ok(body.to_bytes())
        } else {
            Err(format!("status {status}"))
        }
    }
}
