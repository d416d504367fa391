//! A client that gets wrong responses for one kind, as from a faulty hub or proxy. It counts the deletions that pass.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;

type Answer = Response<UnsyncBoxBody<Bytes, tower::BoxError>>;

/// What a hub answers about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no such kind.
    NotFound,
    /// Every request is forbidden.
    Forbidden,
    /// Something is broken.
    Broken,
    /// Lists are empty.
    Empty,
    /// Lists show every second object; the rest is said to follow, and does not.
    Partial,
    /// Lists show what was there some time ago.
    Old,
    /// Lists succeed; every watch ends with 410 Gone.
    Gone,
    /// Lists and watches are right; to read an object by its name is forbidden.
    Unnamed,
    /// Lists and watches are right; to read an object by its name ends in an error of the API server.
    Unsound,
    /// Lists and watches are right; to read an object by its name ends in 404 as for a path that is not served.
    Pathless,
    /// Lists and watches are right; to read an object by its name has no answer.
    Silent,
    /// Lists and watches are right; what is read by its name cannot be decoded.
    Garbled,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] = [
        Self::NotFound,
        Self::Forbidden,
        Self::Broken,
        Self::Empty,
        Self::Partial,
        Self::Old,
        Self::Gone,
    ];

    /// Those of reading an object by its name.
    pub(crate) const BY_NAME: [Self; 5] = [
        Self::Unnamed,
        Self::Unsound,
        Self::Pathless,
        Self::Silent,
        Self::Garbled,
    ];
}

/// The path of all kinds.
pub(crate) const EVERY_KIND: &str = "";

/// Which fault there is now.
#[derive(Clone)]
pub(crate) struct Faulty {
    inner: Client,
    /// The path of the kind behind `/apis`, and the fault; the number grows with every change.
    now: watch::Sender<(u64, Option<(String, Fault)>)>,
    old: Arc<Mutex<BTreeMap<String, Bytes>>>,
    deletions: Arc<AtomicUsize>,
}

impl Faulty {
    pub(crate) fn new(inner: Client) -> Self {
        Self {
            inner,
            now: watch::channel((0, None)).0,
            old: Arc::default(),
            deletions: Arc::default(),
        }
    }

    /// Returns a client that answers like the hub does, but for the fault.
    pub(crate) fn client(&self) -> Client {
        let this = self.clone();
        let service = tower::service_fn(move |request| {
            let this = this.clone();
            async move { this.answer(request).await }
        });
        Client::new(service, "default")
    }

    /// Remembers how the list of a kind is now.
    pub(crate) async fn remember(&self, path: &str) {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let answer = self.inner.send(request).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        self.old().insert(path.to_owned(), body);
    }

    /// From now on answers about a kind are wrong, and watches that are open end.
    pub(crate) fn begin(&self, path: &str, fault: Fault) {
        self.now
            .send_modify(|now| *now = (now.0 + 1, Some((path.to_owned(), fault))));
    }

    /// From now on all answers are right.
    pub(crate) fn heal(&self) {
        self.now.send_modify(|now| *now = (now.0 + 1, None));
    }

    /// Returns how many deletions were sent.
    pub(crate) fn deletions(&self) -> usize {
        self.deletions.load(Ordering::Relaxed)
    }

    fn old(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.old.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: Request<Body>) -> Result<Answer, tower::BoxError> {
        if request.method() == Method::DELETE {
            self.deletions.fetch_add(1, Ordering::Relaxed);
        }
        let fault = self.now.borrow().1.clone();
        let (path, query) = (
            request.uri().path().to_owned(),
            request.uri().query().unwrap_or_default().to_owned(),
        );
        let is_watch = query.contains("watch=true");
        if let Some((kind, fault)) = fault.filter(|(kind, _)| is_about(kind, &path))
            && request.method() == Method::GET
        {
            let is_list = path == kind && !is_watch || kind == EVERY_KIND && !is_named(&path);
            if fault == Fault::Silent && !is_list && !is_watch {
                return std::future::pending().await;
            }
            if let Some(wrong) = self.wrong(&kind, fault, (is_list, is_watch), &query) {
                return Ok(wrong);
            }
            if is_list && fault == Fault::Partial {
                let answer = self.inner.send(request).await?;
                let body = answer.into_body().collect().await?.to_bytes();
                return Ok(halved(&body));
            }
        }
        let answer = self.inner.send(request).await?;
        Ok(if is_watch {
            self.until_it_changes(answer)
        } else {
            answer.map(boxed)
        })
    }

    fn wrong(
        &self,
        kind: &str,
        fault: Fault,
        (is_list, is_watch): (bool, bool),
        query: &str,
    ) -> Option<Answer> {
        match fault {
            Fault::NotFound => Some(text(StatusCode::NOT_FOUND, "404 page not found\n")),
            Fault::Forbidden => Some(status(StatusCode::FORBIDDEN, "Forbidden")),
            Fault::Broken => Some(status(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")),
            Fault::Empty | Fault::Partial | Fault::Old | Fault::Gone if is_watch => {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired",
                    "message": "too old resource version"});
                let event = json!({"type": "ERROR", "object": status});
                Some(text(StatusCode::OK, &format!("{event}\n")))
            }
            Fault::Empty if is_list => {
                let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "999999999"}, "items": []});
                Some(text(StatusCode::OK, &list.to_string()))
            }
            Fault::Partial if is_list && query.contains("continue=nowhere") => {
                let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []});
                Some(text(StatusCode::OK, &list.to_string()))
            }
            Fault::Old if is_list => {
                let body = self.old().get(kind).cloned()?;
                Some(Response::new(boxed(Full::new(body))))
            }
            Fault::Unnamed if !is_list && !is_watch => Some(status(StatusCode::FORBIDDEN, "Forbidden")),
            Fault::Unsound if !is_list && !is_watch => {
                Some(status(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"))
            }
            Fault::Pathless if !is_list && !is_watch => {
                Some(text(StatusCode::NOT_FOUND, "404 page not found\n"))
            }
            Fault::Garbled if !is_list && !is_watch => Some(text(StatusCode::OK, "{\"kind\": ")),
            Fault::Empty
            | Fault::Partial
            | Fault::Old
            | Fault::Gone
            | Fault::Unnamed
            | Fault::Unsound
            | Fault::Pathless
            | Fault::Silent
            | Fault::Garbled => None,
        }
    }

    /// A watch that was opened under other circumstances ends.
    fn until_it_changes(&self, answer: Response<Body>) -> Answer {
        let mut now = self.now.subscribe();
        now.mark_unchanged();
        let change = async move {
            let _ended = now.changed().await.is_err();
        };
        answer.map(|body| {
            StreamBody::new(BodyStream::new(body).take_until(Box::pin(change)))
                .map_err(Into::into)
                .boxed_unsync()
        })
    }
}

/// Whether a path ends in the name of an object.
fn is_named(path: &str) -> bool {
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let rest = match words.first() {
        Some(&"api") => words.get(2..),
        Some(&"apis") => words.get(3..),
        _ => None,
    };
    let rest = rest.unwrap_or_default();
    let rest = if rest.len() > 2 && rest.first() == Some(&"namespaces") {
        &rest[2..]
    } else {
        rest
    };
    rest.len() == 2
}

/// Lists of a kind and its objects, those of all namespaces.
fn is_about(kind: &str, path: &str) -> bool {
    if kind == EVERY_KIND {
        return path.starts_with("/api");
    }
    let (group, resource) = kind.rsplit_once('/').unwrap_or(("", kind));
    path.starts_with(group) && path.split('/').any(|part| part == resource)
}

fn boxed<B>(body: B) -> UnsyncBoxBody<Bytes, tower::BoxError>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<tower::BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(boxed(Full::new(Bytes::from(text.to_owned()))));
    *answer.status_mut() = status;
    answer
}

fn status(code: StatusCode, reason: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(), "reason": reason,
        "message": "a fault on purpose"});
    text(code, &status.to_string())
}

fn halved(body: &Bytes) -> Answer {
    let mut list: Value = serde_json::from_slice(body).expect("a list");
    if let Some(items) = list["items"].as_array_mut() {
        let mut index = 0;
        items.retain(|_| {
            index += 1;
            index % 2 == 0
        });
    }
    list["metadata"]["continue"] = json!("nowhere");
    text(StatusCode::OK, &list.to_string())
}
