//! The webhook as an API server calls it: a review over TLS on loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use admission::{Facts, MUTATE_PATH, Operation};
use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tidegate::server::{Authority, Gate, GateOptions, Limits};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;

use super::answers::Answer;
use crate::kit::asked::resource;
use crate::kit::pages::Example;

/// A gate and a connection to it.
pub(crate) struct Webhook {
    gate: Gate,
    authority: Authority,
    facts: Arc<ArcSwap<Facts>>,
    sender: Mutex<SendRequest<Full<Bytes>>>,
}

impl Webhook {
    pub(crate) async fn start() -> Self {
        let authority = Authority::generate().expect("an authority");
        let certificate = authority
            .issue(["localhost"])
            .expect("a certificate")
            .certificate()
            .clone();
        let facts = Arc::new(ArcSwap::from_pointee(Facts::default()));
        let options = GateOptions {
            metrics: tidegate::telemetry::Metrics::default(),
            witness: None,
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            certificate,
            name: None,
            callers: tidegate::server::Callers::default(),
            health: tidegate::server::Health::default(),
            facts: Arc::clone(&facts),
            rulebook: Arc::default(),
        };
        let limits = Limits {
            linger: std::time::Duration::ZERO,
            ..Limits::default()
        };
        let gate = Gate::start_with(options, limits).await.expect("the gate starts");
        let sender = Mutex::new(connect(&gate, &authority).await);
        Self {
            gate,
            authority,
            facts,
            sender,
        }
    }

    pub(crate) async fn stop(self) {
        drop(self.sender);
        self.gate.shutdown().await;
    }

    pub(crate) async fn answer(&self, example: &Example) -> Answer {
        let mut sender = self.sender.lock().await;
        self.facts.store(Arc::new(example.facts.clone()));
        let request = http::Request::post(MUTATE_PATH)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(review(example).to_string())))
            .expect("a request");
        // The first verdict takes its time on a slow machine, and who only waits is sent away.
        if sender.ready().await.is_err() {
            *sender = connect(&self.gate, &self.authority).await;
        }
        let response = sender.send_request(request).await.expect("a response");
        assert_eq!(response.status(), 200);
        let body = response
            .into_body()
            .collect()
            .await
            .expect("a whole body")
            .to_bytes();
        let review: Value = serde_json::from_slice(&body).expect("JSON");
        read(&review["response"])
    }
}

async fn connect(gate: &Gate, authority: &Authority) -> SendRequest<Full<Bytes>> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(authority.ca_pem().as_bytes()).expect("a certificate");
    roots.add(ca).expect("an authority");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect(gate.address()).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let tls = TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
        .expect("a handshake");
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tls))
        .await
        .expect("HTTP/1.1");
    tokio::spawn(connection);
    sender
}

fn review(example: &Example) -> Value {
    let asked = &example.asked;
    let object = &asked.object;
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().unwrap_or_default();
    let operation = match asked.operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    };
    let mut request = json!({
        "uid": "u-1", "operation": operation,
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": resource(group, kind)},
        "name": object["metadata"]["name"].as_str().unwrap_or_default(),
        "namespace": object["metadata"]["namespace"].as_str().unwrap_or_default(),
        "object": object,
    });
    if !asked.subresource.is_empty() {
        request["subResource"] = json!(asked.subresource);
    }
    if let Some(old) = &asked.old {
        request["oldObject"] = old.clone();
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

fn read(response: &Value) -> Answer {
    let cause = |cause: &Value| match text(&cause["field"]).as_str() {
        // A fault of the whole object.
        "object" => text(&cause["message"]),
        field => format!("{field}: {}", text(&cause["message"])),
    };
    let list = |value: &Value, read: &dyn Fn(&Value) -> String| {
        value
            .as_array()
            .into_iter()
            .flatten()
            .map(read)
            .collect::<Vec<String>>()
    };
    let patch = response["patch"].as_str().map_or_else(
        || json!([]),
        |patch| serde_json::from_slice(&STANDARD.decode(patch).expect("base64")).expect("a patch"),
    );
    Answer {
        allowed: response["allowed"].as_bool().expect("a verdict"),
        violations: list(&response["status"]["details"]["causes"], &cause),
        short_warnings: Some(list(&response["warnings"], &text)),
        patch: Some(patch),
        ..Answer::default()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
