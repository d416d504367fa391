//! A counting proxy: plain HTTP on loopback in front, a client of the hub behind. Watches stream through it.
//!
//! Decides nothing and changes nothing but the address; credentials are those of the client behind it.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, HOST, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube::Client;
use kube::client::Body;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::counts::{Call, Counter};

/// A proxy that listens; dropped, it ends.
#[derive(Debug)]
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    _stop_on_drop: DropGuard,
}

impl Proxy {
    /// Starts a proxy to the hub of a client.
    pub async fn start(client: Client, counter: Counter) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        tokio::spawn(accept(listener, client, counter, stop.clone()));
        Ok(Self {
            address,
            _stop_on_drop: stop.drop_guard(),
        })
    }

    /// Returns the kubeconfig of a client that goes through the proxy.
    pub fn kubeconfig(&self) -> String {
        serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "fleetbench",
            "clusters": [{"name": "hub", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "anonymous", "user": {}}],
            "contexts": [{"name": "fleetbench", "context": {"cluster": "hub", "user": "anonymous"}}],
        })
        .to_string()
    }
}

async fn accept(listener: TcpListener, client: Client, counter: Counter, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        let connection = serve(stream, client.clone(), counter.clone());
        let stop = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = connection => {}
            }
        });
    }
}

async fn serve(stream: TcpStream, client: Client, counter: Counter) {
    stream.set_nodelay(true).unwrap_or_default();
    let service = service_fn(move |request| {
        let (client, counter) = (client.clone(), counter.clone());
        async move { Ok::<_, Infallible>(pass(&client, &counter, request).await) }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "connection ended");
    }
}

async fn pass(client: &Client, counter: &Counter, request: Request<Incoming>) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    counter.add(Call::of(&head.method, &head.uri));
    for name in [
        HOST,
        CONNECTION,
        TRANSFER_ENCODING,
        AUTHORIZATION,
        ACCEPT_ENCODING,
    ] {
        head.headers.remove(name);
    }
    let path = head
        .uri
        .path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str);
    head.uri = path.parse().unwrap_or_default();
    let Ok(body) = body.collect().await else {
        return failure(StatusCode::BAD_REQUEST);
    };
    match client
        .send(Request::from_parts(head, Body::from(body.to_bytes())))
        .await
    {
        Ok(mut response) => {
            for name in [CONNECTION, TRANSFER_ENCODING] {
                response.headers_mut().remove(name);
            }
            response
        }
        Err(error) => {
            tracing::warn!(%error, "the hub cannot be reached");
            failure(StatusCode::BAD_GATEWAY)
        }
    }
}

fn failure(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
