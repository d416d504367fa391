//! Until when this replica may write, and a client that begins no write after that.
//!
//! Decides by the clock that goes on while a process is stopped: a replica that wakes up after its Lease has ended knows so
//! before the hub has told it. What was on the wire before is guarded by the revision that it names. Never reads the Lease.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::BoxError;

/// Until when this replica leads; without an end where replicas do not elect. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(in crate::controllers) struct Term(Arc<Mutex<Option<Instant>>>);

impl Term {
    /// Notes until when; a time that is past is the end.
    pub(in crate::controllers) fn lasts_until(&self, until: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    fn is_over(&self, now: Instant) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| until <= now)
    }

    /// Returns a client that answers like another one, and refuses to begin a write when the term is over.
    pub(in crate::controllers) fn fenced(&self, client: &Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let (client, term) = (client.clone(), self.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, term) = (client.clone(), term.clone());
            async move {
                if request.method() != Method::GET && term.is_over(Instant::now()) {
                    return Err(BoxError::from("this replica is no longer the leader"));
                }
                let answer: Response<Body> = client.send(request).await?;
                Ok(answer)
            }
        });
        Client::new(service, namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn no_write_begins_after_the_end_and_reads_go_on() {
        let service =
            tower::service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Body::empty())) });
        let term = Term::default();
        let client = term.fenced(&Client::new(service, "default"));
        let send = |method: Method| {
            let request = Request::builder().method(method).uri("/apis").body(Body::empty());
            client.send(request.expect("a request"))
        };
        assert!(send(Method::POST).await.is_ok(), "there is no leader election");
        term.lasts_until(Instant::now() + Duration::from_secs(10));
        assert!(send(Method::PATCH).await.is_ok());
        tokio::time::advance(Duration::from_secs(10)).await;
        for method in [Method::POST, Method::PATCH, Method::PUT, Method::DELETE] {
            assert!(send(method.clone()).await.is_err(), "{method}");
        }
        assert!(send(Method::GET).await.is_ok());
        term.lasts_until(Instant::now() + Duration::from_secs(10));
        assert!(send(Method::POST).await.is_ok(), "it leads again");
    }
}
