//! The HTTPS server of the webhook.
//!
//! Decides nothing about answers; it records every call before it answers.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use super::{action, conversion};

/// One call as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct HookCall {
    pub(crate) path: String,
    pub(crate) query: String,
    /// User agent, and number of the connection on which it came.
    pub(crate) caller: (String, usize),
    pub(crate) review: Value,
}

type Calls = Arc<Mutex<Vec<HookCall>>>;

/// A running webhook.
pub(crate) struct Hook {
    pub(crate) address: SocketAddr,
    pub(crate) ca_pem: String,
    calls: Calls,
    accepting: JoinHandle<()>,
}

impl Hook {
    /// Starts on a free port of the loopback interface.
    pub(crate) async fn start() -> Self {
        let (ca_pem, config) = certificates();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let calls = Calls::default();
        let accepting = tokio::spawn(accept(
            listener,
            TlsAcceptor::from(Arc::new(config)),
            Arc::clone(&calls),
        ));
        Self {
            address,
            ca_pem,
            calls,
            accepting,
        }
    }

    /// Returns the base URL.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Returns the calls since the last time and forgets them.
    pub(crate) fn take_calls(&self) -> Vec<HookCall> {
        std::mem::take(&mut self.calls.lock().expect("no call panics"))
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn certificates() -> (String, ServerConfig) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
        .distinguished_name
        .push(DnType::CommonName, "golden webhook CA");
    let key = KeyPair::generate().expect("a key");
    let authority = params.self_signed(&key).expect("a CA");
    let issuer = Issuer::new(params, key);
    let names = ["127.0.0.1", "localhost", "hook.default.svc"].map(str::to_owned);
    let leaf_key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(names)
        .expect("valid names")
        .signed_by(&leaf_key, &issuer)
        .expect("a certificate");
    let private = PrivateKeyDer::try_from(leaf_key.serialize_der()).expect("a usable key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("default protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], private)
        .expect("a usable certificate");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (authority.pem(), config)
}

/// Connections live as long as the task that accepts them.
async fn accept(listener: TcpListener, tls: TlsAcceptor, calls: Calls) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((socket, _)) = listener.accept().await {
        number += 1;
        let (tls, calls, number) = (tls.clone(), Arc::clone(&calls), number);
        connections.spawn(async move {
            let Ok(stream) = tls.accept(socket).await else {
                return;
            };
            let service = service_fn(move |request| answer(request, Arc::clone(&calls), number));
            drop(
                auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    request: Request<Incoming>,
    calls: Calls,
    connection: usize,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let user_agent = head
        .headers
        .get("user-agent")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    calls.lock().expect("no call panics").push(HookCall {
        path: path.clone(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        caller: (user_agent.to_owned(), connection),
        review: review.clone(),
    });
    let reply = match path.strip_prefix("/convert/") {
        Some(action) => conversion::reply(action, &review),
        None => action::reply(&path, &review),
    };
    tokio::time::sleep(reply.delay).await;
    let response = Response::builder()
        .status(reply.status)
        .header("content-type", reply.content_type);
    Ok(response
        .body(Full::new(Bytes::from(reply.body)))
        .expect("a valid answer"))
}

/// What is sent back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) body: String,
    pub(super) delay: Duration,
}

impl Reply {
    pub(super) fn json(body: &Value) -> Self {
        Self::text(200, "application/json", &body.to_string())
    }

    pub(super) fn text(status: u16, content_type: &'static str, body: &str) -> Self {
        Self {
            status,
            content_type,
            body: body.to_owned(),
            delay: Duration::ZERO,
        }
    }
}
