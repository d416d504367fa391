//! What the hub is asked, and how it answers: every request of the client, by verb, resource and code.
//!
//! Decides names and labels, and how a path becomes a verb and a resource. Passes every request on as it is; never reads a body.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use http::{Method, Request, Response, Uri};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tower::{Layer, Service};

/// A resource that is not named to `ApiMetrics::layer`; configurations may be of any kind.
const OTHER: &str = "other";
/// What is served, and in which version.
const DISCOVERY: &str = "discovery";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    verb: &'static str,
    resource: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    verb: &'static str,
    resource: &'static str,
    code: u32,
}

/// From a millisecond to half a minute, when clients give up.
fn buckets() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    ])
}

/// What is counted of requests to the hub. Clones count into the same place.
#[derive(Clone, Debug)]
pub struct ApiMetrics {
    requests: Family<Answer, Counter>,
    seconds: Family<Call, Histogram, fn() -> Histogram>,
}

impl Default for ApiMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
        }
    }
}

impl ApiMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "api_requests",
            "Requests to the hub by response code; 0 without a response",
            self.requests.clone(),
        );
        all.register_with_unit(
            "api_request_duration",
            "Latency of requests to the hub, without watches",
            Unit::Seconds,
            self.seconds.clone(),
        );
    }

    fn count(&self, call: Call, code: u32, took: Duration) {
        let Call { verb, resource } = call;
        let labels = Answer { verb, resource, code };
        self.requests.get_or_create(&labels).inc();
        if verb != "watch" {
            self.seconds.get_or_create(&call).observe(took.as_secs_f64());
        }
    }

    /// Returns what counts every request of a client; resources (plural) that are not named are `other`.
    pub fn layer(&self, resources: impl IntoIterator<Item = &'static str>) -> CountCalls {
        CountCalls {
            metrics: self.clone(),
            resources: Arc::new(resources.into_iter().collect()),
        }
    }
}

/// Counts the requests of a client.
#[derive(Clone, Debug)]
pub struct CountCalls {
    metrics: ApiMetrics,
    resources: Arc<BTreeSet<&'static str>>,
}

impl<S> Layer<S> for CountCalls {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            counts: self.clone(),
        }
    }
}

/// A client's service whose requests are counted.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    counts: CountCalls,
}

impl<S, B, A> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let call = self.counts.call(request.method(), request.uri());
        let (metrics, begun) = (self.counts.metrics.clone(), Instant::now());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer
                .as_ref()
                .map_or(0, |answer| answer.status().as_u16().into());
            metrics.count(call, code, begun.elapsed());
            answer
        })
    }
}

impl CountCalls {
    fn call(&self, method: &Method, uri: &Uri) -> Call {
        let Place { resource, is_named } = Place::of(uri.path());
        let known = resource.map_or(Some(DISCOVERY), |resource| self.resources.get(resource).copied());
        let is_watch = || {
            let mut pairs = uri.query().unwrap_or_default().split('&');
            pairs.any(|pair| matches!(pair, "watch=true" | "watch=1"))
        };
        let verb = match (method, is_named) {
            (&Method::GET, false) if is_watch() => "watch",
            (&Method::GET, false) if resource.is_some() => "list",
            (&Method::GET, _) => "get",
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, true) => "delete",
            (&Method::DELETE, false) => "deletecollection",
            _ => OTHER,
        };
        Call {
            verb,
            resource: known.unwrap_or(OTHER),
        }
    }
}

/// What a path is about.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    /// The resource; absent where the path is about what is served.
    resource: Option<&'a str>,
    /// Whether one object is meant.
    is_named: bool,
}

impl<'a> Place<'a> {
    /// Reads `/api/v1/…` and `/apis/GROUP/VERSION/…`.
    fn of(path: &'a str) -> Self {
        let mut words = path.split('/').filter(|word| !word.is_empty());
        let skipped = match words.next() {
            Some("api") => 1,
            Some("apis") => 2,
            Some(_) | None => usize::MAX,
        };
        let mut rest = words.skip(skipped);
        let first = rest.next();
        let (second, third) = (rest.next(), rest.next());
        match (first, second, third) {
            (Some("namespaces"), Some(_), Some(resource)) => Self {
                resource: Some(resource),
                is_named: rest.next().is_some(),
            },
            (resource, name, _) => Self {
                resource,
                is_named: name.is_some(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    fn told(method: &Method, uri: &str) -> String {
        let counts =
            ApiMetrics::default().layer(["manifestworks", "leases", "managedclusters", "namespaces"]);
        let Call { verb, resource } = counts.call(method, &uri.parse().expect("a path"));
        format!("{verb} {resource}")
    }

    #[test]
    fn a_request_is_a_verb_and_a_resource() {
        let works = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
        let rows = [
            (Method::GET, format!("{works}/a"), "get manifestworks"),
            (Method::GET, format!("{works}?limit=5"), "list manifestworks"),
            (Method::PATCH, format!("{works}/a/status"), "patch manifestworks"),
            (Method::POST, works.to_owned(), "create manifestworks"),
            (Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/x/leases/l".to_owned(), "update leases"),
            (
                Method::GET,
                "/apis/cluster.open-cluster-management.io/v1/managedclusters?allowWatchBookmarks=true&watch=true".to_owned(),
                "watch managedclusters",
            ),
            (Method::DELETE, "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1".to_owned(), "delete managedclusters"),
            (Method::GET, "/api/v1/namespaces/c1".to_owned(), "get namespaces"),
            (Method::GET, "/api/v1/namespaces".to_owned(), "list namespaces"),
            (Method::GET, "/api/v1/namespaces/c1/secrets/s".to_owned(), "get other"),
            (Method::GET, "/apis/what.ever/v1/gadgets/x".to_owned(), "get other"),
            (Method::GET, "/version".to_owned(), "get discovery"),
            (Method::GET, "/apis/work.open-cluster-management.io/v1".to_owned(), "get discovery"),
            (Method::GET, "/apis".to_owned(), "get discovery"),
        ];
        for (method, uri, expected) in rows {
            assert_eq!(told(&method, &uri), expected, "{method} {uri}");
        }
    }

    #[tokio::test]
    async fn answers_and_their_absence_are_counted() {
        let metrics = ApiMetrics::default();
        let hub = tower::service_fn(|request: Request<()>| async move {
            match request.uri().path() {
                "/api/v1/namespaces/x/events" => Err(std::io::Error::other("no way there")),
                _ => Ok(Response::builder().status(409).body(()).expect("an answer")),
            }
        });
        let mut client = metrics.layer(["events", "leases"]).layer(hub);
        let asked = |method, path: &str| {
            let request = Request::builder().method(method).uri(path);
            request.body(()).expect("a request")
        };
        let lease = asked(Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/x/leases/l");
        let answer = client.call(lease).await.expect("an answer");
        assert_eq!(answer.status(), 409);
        client
            .call(asked(Method::POST, "/api/v1/namespaces/x/events"))
            .await
            .expect_err("none");
        let mut all = Registry::default();
        metrics.register(&mut all);
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        for line in [
            "api_requests_total{verb=\"update\",resource=\"leases\",code=\"409\"} 1",
            "api_requests_total{verb=\"create\",resource=\"events\",code=\"0\"} 1",
            "api_request_duration_seconds_count{verb=\"update\",resource=\"leases\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
