//! A client that reports whenever something of an answer arrives, and ends answers to lists that are too large.
//!
//! Every piece of a good answer is a sign of life: an event, a page of a list, and a bookmark, which the watcher keeps to itself. A page
//! has a limit in bytes, because the API has none: a page of large objects would be in memory as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::{Request, Response};
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

/// The largest page of a list that is read, in bytes; ten objects of the largest size are smaller.
pub(super) const MOST_OF_A_PAGE: usize = 16 << 20;

/// Returns how many objects a page has after one of this many was too large; nothing where a page cannot be smaller.
pub(in crate::controllers) fn smaller(page: u32) -> Option<u32> {
    (page > 1).then_some((page / 4).max(1))
}

/// Whether a page was too large.
#[derive(Debug, Clone, Default)]
pub(in crate::controllers) struct TooLarge(Arc<AtomicBool>);

impl TooLarge {
    /// Returns whether a page was too large since the last call.
    pub(in crate::controllers) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Returns a client that answers like another one, and calls `heard` with every piece that arrives.
pub(in crate::controllers) fn listening(
    client: &Client,
    heard: impl Fn() + Clone + Send + Sync + 'static,
    too_large: &TooLarge,
) -> Client {
    let too_large = too_large.clone();
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, heard, too_large) = (client.clone(), heard.clone(), too_large.clone());
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        async move {
            let answer: Response<Body> = client.send(request).await?;
            let is_good = answer.status().is_success();
            let answer = answer.map(|body| {
                let seen = AtomicUsize::new(0);
                let body = body.map_frame(move |frame| {
                    if is_good {
                        heard();
                    }
                    let more = frame.data_ref().map_or(0, bytes::Bytes::len);
                    if !is_watch && seen.fetch_add(more, Ordering::Relaxed) + more > MOST_OF_A_PAGE {
                        too_large.0.store(true, Ordering::Relaxed);
                    }
                    frame
                });
                if is_watch {
                    body.map_err(BoxError::from).boxed_unsync()
                } else {
                    Limited::new(body, MOST_OF_A_PAGE).boxed_unsync()
                }
            });
            Ok::<_, BoxError>(answer)
        }
    });
    Client::new(service, namespace)
}
