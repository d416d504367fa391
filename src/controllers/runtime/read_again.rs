//! A second look: reads objects that the watches should have shown by now.
//!
//! Decides nothing. What it reads goes into the store like any event; a hub that does not answer leaves the store as it is.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kube::core::Status;
use kube::{Api, Client};
use serde_json::json;

use super::raw::{Raw, resource};
use store::{Event, ObjectKey};

/// Reads at the same time.
const AT_ONCE: usize = 16;
/// How long a hub may think about one object.
const PATIENCE: Duration = Duration::from_secs(10);

/// An object that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {object}")]
pub(super) struct Unread {
    pub(super) object: ObjectKey,
    /// Why.
    #[source]
    pub(super) cause: Arc<Cause>,
}

impl Unread {
    /// Returns the same fault of another object, which was not read because of it.
    pub(super) fn of_another(&self, object: ObjectKey) -> Self {
        Self {
            object,
            cause: Arc::clone(&self.cause),
        }
    }
}

/// Why an object could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Cause {
    /// The hub refuses, or the way to it is broken.
    #[error("the hub does not return it")]
    Answer(#[source] Box<kube::Error>),
    /// The hub says nothing.
    #[error("no answer within {} s", .0.as_secs())]
    Silence(Duration),
}

/// What was found out about objects: as events, and those that cannot be read. One that cannot be read hides no other.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What was read.
    pub(super) events: Vec<Event>,
    /// What could not be read, in the order of the objects.
    pub(super) unread: Vec<Unread>,
}

impl Found {
    /// Takes in what was found out about other objects.
    pub(super) fn extend(&mut self, other: Self) {
        self.events.extend(other.events);
        self.unread.extend(other.unread);
    }
}

/// Returns how the objects are now.
pub(super) async fn look_again(client: Client, objects: Vec<ObjectKey>) -> Found {
    look_within(client, objects, PATIENCE).await
}

/// Returns how the objects are now; an object for which there is no answer in time counts as one that cannot be read.
pub(super) async fn look_within(client: Client, objects: Vec<ObjectKey>, patience: Duration) -> Found {
    let reads = objects.into_iter().map(|object| {
        let client = &client;
        async move {
            let cause = match tokio::time::timeout(patience, look(client, &object)).await {
                Ok(Ok(event)) => return Ok(event),
                Ok(Err(error)) => Cause::Answer(Box::new(error)),
                Err(_elapsed) => Cause::Silence(patience),
            };
            let cause = Arc::new(cause);
            Err(Unread { object, cause })
        }
    });
    let mut found = Found::default();
    let mut answers = stream::iter(reads).buffered(AT_ONCE);
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(event) => found.events.push(event),
            Err(unread) => found.unread.push(unread),
        }
    }
    found
}

async fn look(client: &Client, object: &ObjectKey) -> Result<Event, kube::Error> {
    let ObjectKey {
        kind,
        namespace,
        name,
    } = object;
    let api: Api<Raw> = if kind.address().namespaced {
        Api::namespaced_with(client.clone(), namespace, &resource(*kind))
    } else {
        Api::all_with(client.clone(), &resource(*kind))
    };
    match api.get(name).await {
        Ok(raw) => Ok(raw.event(*kind)),
        Err(kube::Error::Api(status)) if is_about(&status, name) => Ok(Event::Deleted {
            kind: *kind,
            object: json!({"metadata": {"namespace": &**namespace, "name": &**name}}),
        }),
        Err(error) => Err(error),
    }
}

/// Whether a hub says that it has no such object. One that does not serve the kind, or an intermediary that has no such page,
/// answers 404 as well, and does not know the object.
fn is_about(status: &Status, name: &str) -> bool {
    let named = status.details.as_ref().map(|details| details.name.as_str());
    status.code == 404 && status.reason == "NotFound" && named == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_about_the_object_says_that_it_is_deleted() {
        for (body, expected) in [
            (
                json!({"code": 404, "reason": "NotFound", "details": {"name": "c1", "kind": "managedclusters"}}),
                true,
            ),
            (
                json!({"code": 404, "reason": "NotFound", "details": {"name": "c2", "kind": "managedclusters"}}),
                false,
            ),
            (
                json!({"code": 404, "reason": "NotFound", "message": "the server could not find the requested resource"}),
                false,
            ),
            (json!({"code": 404, "message": "404 page not found"}), false),
            (
                json!({"code": 403, "reason": "Forbidden", "details": {"name": "c1"}}),
                false,
            ),
        ] {
            let status: Status = serde_json::from_value(body.clone()).expect("a status");
            assert_eq!(is_about(&status, "c1"), expected, "{body}");
        }
    }

    /// A hub that answers about every object with this code, and about `c3` never.
    fn hub(code: u16) -> Client {
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| async move {
            if request.uri().path().ends_with("/c3") {
                std::future::pending::<()>().await;
            }
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "Why", "message": "on purpose"});
            let answer = http::Response::builder().status(code);
            answer.body(kube::client::Body::from(status.to_string().into_bytes()))
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_named_with_the_answer() {
        let cluster = |name: &str| ObjectKey::new(store::Kind::Cluster, "", name);
        for (code, names, expected) in [
            (
                403,
                &["c1", "c2", "c3"] as &[&str],
                "cannot read ManagedCluster c1: on purpose: Why",
            ),
            (
                500,
                &["c2", "c1"],
                "cannot read ManagedCluster c2: on purpose: Why",
            ),
            (
                403,
                &["c3", "c1"],
                "cannot read ManagedCluster c3: no answer within 0 s",
            ),
        ] {
            let objects = names.iter().map(|name| cluster(name)).collect();
            let found = look_within(hub(code), objects, Duration::from_millis(50)).await;
            assert_eq!((found.events.len(), found.unread.len()), (0, names.len()));
            let unread = found.unread.first().expect("a fault");
            let told = format!(
                "{unread}: {}",
                crate::controllers::runtime::apply_error::root(unread)
            );
            assert_eq!(told, expected);
        }
    }
}
