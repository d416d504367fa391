//! From a request to its answer.
//!
//! Decides who answers which path, after asking who is there; never what is answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Request, Response};
use tower::Service;

use super::{Body, Menu, Query, Reply, Route, negotiate, parse_path, read_payload};
use crate::admission::Warnings;
use crate::documents;
use crate::error::ApiError;
use crate::hub::Hub;
use crate::identity::Peer;
use crate::rest::{self, Incoming};

/// The hub as a service without sockets. Its user is the administrator.
#[derive(Clone, Debug)]
pub(crate) struct InProcess {
    hub: Arc<Hub>,
}

impl InProcess {
    /// Returns the service of a hub.
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }
}

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let hub = Arc::clone(&self.hub);
        async move { Ok(answer(&hub, &Peer::InProcess, request).await) }.boxed()
    }
}

/// Answers one request.
pub(crate) async fn answer<B>(hub: &Arc<Hub>, peer: &Peer, request: Request<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let mut warnings = Warnings::new();
    let accept = header(&head.headers, ACCEPT);
    let encoding = negotiate(accept.as_deref(), Menu::Custom)
        .unwrap_or_default()
        .encoding;
    let reply = route(hub, peer, &head, body, &mut warnings).await;
    let reply = reply.unwrap_or_else(|error| Reply::error(&error));
    reply.into_response(encoding, &warnings)
}

async fn route<B>(
    hub: &Arc<Hub>,
    peer: &Peer,
    head: &http::request::Parts,
    body: B,
    warnings: &mut Warnings,
) -> Result<Reply, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let query = Query::parse(head.uri.query().unwrap_or_default());
    let route = parse_path(head.uri.path());
    if let Route::Health(name) = &route {
        return Ok(documents::health(name, &query));
    }
    let user = hub.users.identify(peer, &head.headers, &hub.store)?;
    let read_only = head.method == http::Method::GET;
    let accept = header(&head.headers, ACCEPT);
    let etag = header(&head.headers, http::header::IF_NONE_MATCH);
    match route {
        Route::Health(_) | Route::Unknown => Ok(Reply::unknown_path()),
        Route::Version if read_only => Ok(documents::version()),
        Route::Api if read_only => Ok(documents::core(hub, accept.as_deref(), etag.as_deref())),
        Route::Apis if read_only => Ok(documents::groups(hub, accept.as_deref(), etag.as_deref())),
        Route::Group(group) if read_only => Ok(documents::group(hub, &group)),
        Route::GroupVersion(group, version) if read_only => Ok(documents::resources(hub, &group, &version)),
        Route::OpenApiV2 if read_only => documents::swagger(hub, accept.as_deref(), etag.as_deref()),
        Route::OpenApiV3(document) if read_only => Ok(documents::openapi(hub, &document, etag.as_deref())),
        Route::Resource(target) => {
            let incoming = Incoming {
                method: head.method.as_str().to_owned(),
                target,
                query,
                content_type: header(&head.headers, CONTENT_TYPE),
                accept,
                user_agent: header(&head.headers, http::header::USER_AGENT).unwrap_or_default(),
                body: read_payload(body).await?,
                user,
            };
            rest::answer(hub, incoming, warnings).await
        }
        _ => Err(rest::method_not_allowed()),
    }
}

fn header(headers: &HeaderMap, name: http::header::HeaderName) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}
