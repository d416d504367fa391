//! From a request to its answer.
//!
//! Decides who answers which path, after asking who is there.

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
use crate::admission::{UserInfo, Warnings};
use crate::documents;
use crate::error::ApiError;
use crate::hub::Hub;
use crate::identity::{Peer, anonymous};
use crate::rest::{self, Incoming};
use crate::rights::{self, Authz};

/// The hub as a service without sockets. Its user is the administrator.
#[derive(Clone, Debug)]
pub(crate) struct InProcess {
    hub: Arc<Hub>,
    peer: Peer,
}

impl InProcess {
    /// Returns the service of a hub.
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        let peer = Peer::InProcess;
        Self { hub, peer }
    }

    /// Returns the service of a hub for those who meet no faults on purpose.
    pub(crate) fn spared(hub: Arc<Hub>) -> Self {
        let peer = Peer::Controller;
        Self { hub, peer }
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
        let (hub, peer) = (Arc::clone(&self.hub), self.peer.clone());
        async move { Ok(answer(&hub, &peer, request).await) }.boxed()
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
    let user = admitted(hub, peer, head, &route, &query)?;
    let read_only = head.method == http::Method::GET;
    let accept = header(&head.headers, ACCEPT);
    let etag = header(&head.headers, http::header::IF_NONE_MATCH);
    match route {
        Route::Health(name) => Ok(documents::health(&name, &query)),
        Route::Unknown => Ok(Reply::unknown_path()),
        Route::Version if read_only => Ok(documents::version()),
        Route::Api if read_only => Ok(documents::core(hub, accept.as_deref(), etag.as_deref())),
        Route::Apis if read_only => Ok(documents::groups(hub, accept.as_deref(), etag.as_deref())),
        Route::Group(group) if read_only => Ok(documents::group(hub, &group)),
        Route::GroupVersion(group, version) if read_only => Ok(documents::resources(hub, &group, &version)),
        Route::OpenApiV2 if read_only => Ok(documents::openapi_v2(accept.as_deref())),
        Route::OpenApiV3(document) if read_only => Ok(documents::openapi(hub, &document, etag.as_deref())),
        Route::Resource(target) => {
            let (method, path, spared) = (head.method.as_str(), head.uri.path(), *peer == Peer::Controller);
            if !spared {
                hub.fault_injector.wait(method, path).await;
                if let Some(struck) = hub.fault_injector.inject(method, path, &target, &query) {
                    return Ok(struck);
                }
            }
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
            let reply = rest::answer(hub, incoming, warnings).await?;
            Ok(if spared {
                reply
            } else {
                hub.fault_injector.tear(path, reply)
            })
        }
        _ => Err(rest::method_not_allowed()),
    }
}

/// Returns who asks, after impersonation, if he may do what he asks for.
fn admitted(
    hub: &Hub,
    peer: &Peer,
    head: &http::request::Parts,
    route: &Route,
    query: &Query,
) -> Result<UserInfo, ApiError> {
    let identified = hub.users.identify(peer, &head.headers, &hub.store);
    let user = match (hub.rights.mode(), route) {
        // Without access control every client may see health, even with credentials that are not valid.
        (Authz::Allow, Route::Health(_)) => identified.ok().flatten().unwrap_or_default(),
        (Authz::Allow, _) => identified?.ok_or_else(|| ApiError::new(401, "Unauthorized", "Unauthorized"))?,
        (Authz::Rbac, _) => identified?.unwrap_or_else(anonymous),
    };
    let user = rights::impersonate(hub, user, &head.headers)?;
    let question = rights::question(head.method.as_str(), head.uri.path(), route, query);
    hub.rights.require(&user, &question)?;
    Ok(user)
}

fn header(headers: &HeaderMap, name: http::header::HeaderName) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}
