//! A conversion webhook that loses what it does not know, as Open Cluster Management's does.
//!
//! Decides nothing: fields of both versions go where they belong, annotations are passed on as they are, and the rest is dropped.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use axum::serve::Listener;
use conversion::{Extensions, Version, convert};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tidegate::server::Authority;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A running webhook; ended when dropped.
pub(crate) struct Lossy {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl Lossy {
    pub(crate) async fn start(authority: &Authority) -> Self {
        let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
        let chain = CertificateDer::pem_slice_iter(issued.chain_pem().as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .expect("PEM");
        let key = PrivateKeyDer::from_pem_slice(issued.key_pem().as_bytes()).expect("PEM");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a pair");
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}", tcp.local_addr().expect("an address"));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let routes = Router::new().route("/convert", post(answer));
        let serving = axum::serve(Tls { tcp, acceptor }, routes);
        let task = tokio::spawn(async move { serving.await.expect("it serves") });
        Self { url, task }
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(body: String) -> String {
    let review: Value = serde_json::from_str(&body).expect("a review");
    let request = &review["request"];
    let desired = request["desiredAPIVersion"].as_str().and_then(Version::parse);
    let desired = desired.expect("a version");
    let objects = request["objects"].as_array().expect("objects");
    let converted: Vec<Value> = objects.iter().map(|one| carried(one, desired)).collect();
    let response =
        json!({"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted});
    json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).to_string()
}

fn carried(object: &Value, to: Version) -> Value {
    let kept_in = Version::EVERY.map(Version::kept_in);
    let mut before = object.clone();
    let given = before
        .pointer("/metadata/annotations")
        .cloned()
        .unwrap_or(Value::Null);
    forget(&mut before, &kept_in);
    let mut after = convert(before, to, Extensions::Kept);
    forget(&mut after, &kept_in);
    for name in kept_in {
        if let Some(text) = given.get(name) {
            after["metadata"]["annotations"][name] = text.clone();
        }
    }
    after
}

fn forget(object: &mut Value, names: &[&str]) {
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !names.contains(&name.as_str()));
    }
}

struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.tcp.accept().await else {
                continue;
            };
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
