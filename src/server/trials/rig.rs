//! A running gate with a client that trusts it.
//!
//! Decides nothing about the gate; it only asks.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::server::state::Decide;
use crate::server::{Authority, Callers, ExistenceReader, Health, Limits};
use crate::server::{Gate, GateOptions};
use crate::telemetry::Metrics;
use admission::{Facts, Rulebook, decide};

pub(super) struct Rig {
    pub(super) gate: Gate,
    pub(super) authority: Authority,
    pub(super) facts: Arc<ArcSwap<Facts>>,
    pub(super) metrics: Metrics,
    pub(super) health: Health,
}

impl Rig {
    pub(super) async fn start(limits: Limits) -> Self {
        Self::deciding(limits, decide).await
    }

    pub(super) async fn deciding(limits: Limits, decide: Decide) -> Self {
        Self::asking(limits, decide, Rulebook::default(), None).await
    }

    pub(super) async fn asking(
        limits: Limits,
        decide: Decide,
        rulebook: Rulebook,
        witness: Option<ExistenceReader>,
    ) -> Self {
        Self::admitting(limits, Callers::default(), decide, rulebook, witness).await
    }

    pub(super) async fn admitting(
        limits: Limits,
        callers: Callers,
        decide: Decide,
        rulebook: Rulebook,
        witness: Option<ExistenceReader>,
    ) -> Self {
        let health = Health::default();
        let authority = Authority::generate().expect("an authority");
        let certificate = authority
            .issue(["localhost"])
            .expect("a certificate")
            .certificate()
            .clone();
        let facts = Arc::new(ArcSwap::from_pointee(Facts::default().completed()));
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let metrics = Metrics::default();
        let options = GateOptions {
            metrics: metrics.clone(),
            bind,
            certificate,
            name: None,
            callers,
            health: health.clone(),
            facts: Arc::clone(&facts),
            rulebook: Arc::new(ArcSwap::from_pointee(rulebook)),
            witness,
        };
        let gate = std::future::ready(Gate::start_deciding(options, limits, decide)).await;
        let gate = gate.expect("the gate starts");
        Self {
            gate,
            authority,
            facts,
            metrics,
            health,
        }
    }

    pub(super) fn connector(&self, alpn: &[&[u8]]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.authority.ca_pem().as_bytes()).expect("a certificate");
        roots.add(ca).expect("an authority");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }

    pub(super) async fn tls(&self, alpn: &[&[u8]]) -> TlsStream<TcpStream> {
        let tcp = TcpStream::connect(self.gate.address())
            .await
            .expect("a connection");
        tcp.set_nodelay(true).expect("a socket");
        let name = ServerName::try_from("localhost").expect("a name");
        self.connector(alpn)
            .connect(name, tcp)
            .await
            .expect("a handshake")
    }

    pub(super) async fn send(&self, request: http::Request<Full<Bytes>>) -> (u16, String) {
        let io = TokioIo::new(self.tls(&[b"http/1.1"]).await);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        let response = sender.send_request(request).await.expect("a response");
        read(response).await
    }

    pub(super) async fn post(&self, path: &str, body: impl Into<Bytes>) -> (u16, String) {
        self.send(post(path, body)).await
    }
}

pub(super) async fn read(response: http::Response<hyper::body::Incoming>) -> (u16, String) {
    let status = response.status().as_u16();
    let body = response
        .into_body()
        .collect()
        .await
        .expect("a whole body")
        .to_bytes();
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

pub(super) fn post(path: &str, body: impl Into<Bytes>) -> http::Request<Full<Bytes>> {
    http::Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .expect("a request")
}

/// Returns a request as HTTP/2 has it.
pub(super) fn over_h2(mut request: http::Request<Full<Bytes>>) -> http::Request<Full<Bytes>> {
    let path = request.uri().path_and_query().expect("a path");
    let uri = format!("https://localhost{path}");
    *request.uri_mut() = uri.parse().expect("a URI");
    request.headers_mut().remove("host");
    request
}

pub(super) fn get(path: &str) -> http::Request<Full<Bytes>> {
    http::Request::get(path)
        .header("host", "localhost")
        .body(Full::new(Bytes::new()))
        .expect("a request")
}

pub(super) fn review(spec: &Value) -> Vec<u8> {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "helloworld", "namespace": "cluster1"},
        "spec": spec,
    });
    let resource = json!({
        "group": "addon.open-cluster-management.io", "version": "v1alpha1", "resource": "managedclusteraddons",
    });
    let request = json!({
        "uid": "u-1", "operation": "CREATE", "name": "helloworld", "namespace": "cluster1",
        "kind": {"group": "addon.open-cluster-management.io", "version": "v1alpha1", "kind": "ManagedClusterAddOn"},
        "resource": resource, "object": object,
    });
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    serde_json::to_vec(&review).expect("JSON")
}

/// The limits of a gate that is not in a hurry: what a test is about it sets for itself, and nothing else ends on a slow machine.
pub(super) fn quick() -> Limits {
    Limits {
        handshake: Duration::from_mins(1),
        head: Duration::from_mins(1),
        decision: Duration::from_mins(1),
        ..strict()
    }
}

/// The limits that the gate has.
pub(super) fn strict() -> Limits {
    Limits {
        drain: Duration::from_secs(2),
        ..Limits::default()
    }
}
