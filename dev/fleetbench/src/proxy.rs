//! A counting proxy: plain HTTP on loopback in front, a client of the hub behind. Watches stream through it.
//!
//! Changes nothing but the address, and leaves out the objects of other shares of the add-ons, if the manager behind it has a share;
//! credentials are those of the client of the hub.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::{Body as HttpBody, Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube::Client;
use kube::client::Body;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::counts::{Call, Counter};
use crate::share::{self, Share};

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
        Self::start_for(client, counter, None).await
    }

    /// Starts a proxy that shows a share of the add-ons, or all.
    pub(crate) async fn start_for(
        client: Client,
        counter: Counter,
        share: Option<Share>,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let hub = Behind {
            client,
            counter,
            share,
        };
        tokio::spawn(accept(listener, hub, stop.clone()));
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

/// A body that streams.
type Answer = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What every request needs.
#[derive(Clone)]
struct Behind {
    client: Client,
    counter: Counter,
    share: Option<Share>,
}

async fn accept(listener: TcpListener, hub: Behind, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        let connection = serve(stream, hub.clone());
        let stop = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = connection => {}
            }
        });
    }
}

async fn serve(stream: TcpStream, hub: Behind) {
    stream.set_nodelay(true).unwrap_or_default();
    let service = service_fn(move |request| {
        let hub = hub.clone();
        async move { Ok::<_, Infallible>(pass(&hub, request).await) }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "connection ended");
    }
}

async fn pass(hub: &Behind, request: Request<Incoming>) -> Response<Answer> {
    let (mut head, body) = request.into_parts();
    hub.counter.add(Call::of(&head.method, &head.uri));
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
    let is_read = head.method == http::Method::GET;
    let share = hub
        .share
        .filter(|_| is_read)
        .map(|share| (share, share::Answer::of(&head.uri)));
    head.uri = path.parse().unwrap_or_default();
    let Ok(body) = body.collect().await else {
        return failure(StatusCode::BAD_REQUEST);
    };
    match hub
        .client
        .send(Request::from_parts(head, Body::from(body.to_bytes())))
        .await
    {
        Ok(mut response) => {
            for name in [CONNECTION, TRANSFER_ENCODING] {
                response.headers_mut().remove(name);
            }
            match share {
                Some((share, share::Answer::Watch)) => watched(response, share),
                Some((share, share::Answer::List)) => listed(response, share).await,
                Some((_, share::Answer::Whole)) | None => {
                    response.map(|body| body.map_err(Into::into).boxed_unsync())
                }
            }
        }
        Err(error) => {
            tracing::warn!(%error, "the hub cannot be reached");
            failure(StatusCode::BAD_GATEWAY)
        }
    }
}

/// Streams the events of a share.
fn watched(response: Response<Body>, share: Share) -> Response<Answer> {
    response.map(|body| {
        let (mut body, mut held) = (Box::pin(body), Vec::new());
        let frames = futures::stream::poll_fn(move |context| {
            body.as_mut().poll_frame(context).map(|frame| match frame {
                Some(Ok(frame)) => Some(Ok(frame.map_data(|data| {
                    held.extend_from_slice(&data);
                    share.lines(&mut held)
                }))),
                Some(Err(error)) => Some(Err(error.into())),
                None => None,
            })
        });
        StreamBody::new(frames).boxed_unsync()
    })
}

/// Answers with the objects of a share.
async fn listed(response: Response<Body>, share: Share) -> Response<Answer> {
    let (mut head, body) = response.into_parts();
    let Ok(body) = body.collect().await else {
        return failure(StatusCode::BAD_GATEWAY);
    };
    let text = body.to_bytes();
    let filtered = share.list(&text).unwrap_or(text);
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Full::new(filtered).map_err(Into::into).boxed_unsync())
}

fn failure(status: StatusCode) -> Response<Answer> {
    let mut response = Response::new(Empty::new().map_err(Into::into).boxed_unsync());
    *response.status_mut() = status;
    response
}
