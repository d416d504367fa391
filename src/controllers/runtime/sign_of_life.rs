//! A client that tells whenever something of an answer arrives.
//!
//! Decides that every piece of a good answer is a sign of life: an event, a page of a list, and a bookmark, which the watcher
//! keeps to itself. Never changes an answer.

use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use tower::BoxError;

/// Returns a client that answers like another one, and calls `heard` with every piece that arrives.
pub(in crate::controllers) fn listening(
    client: &Client,
    heard: impl Fn() + Clone + Send + Sync + 'static,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, heard) = (client.clone(), heard.clone());
        async move {
            let answer: Response<Body> = client.send(request).await?;
            let is_good = answer.status().is_success();
            let answer = answer.map(|body| {
                body.map_frame(move |frame| {
                    if is_good {
                        heard();
                    }
                    frame
                })
            });
            Ok::<_, BoxError>(answer)
        }
    });
    Client::new(service, namespace)
}
