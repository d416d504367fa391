//! Requests as they stand on the wire, for what client libraries hide: options, statuses, lines of a watch.

use bytes::Bytes;
use futures::{AsyncBufRead, AsyncBufReadExt as _, StreamExt as _, stream::BoxStream};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use crate::within;

/// Path of the widgets.
pub(crate) const WIDGETS: &str = "/apis/probe.example.io/v1/namespaces/default/widgets";

/// Asks and returns status and answer.
pub(crate) async fn ask(client: &Client, method: &str, path: &str) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .expect("a request");
    let response = within(client.send(request)).await.expect("an answer");
    let status = response.status().as_u16();
    let bytes: Bytes = within(response.into_body().collect_bytes())
        .await
        .expect("a body");
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Tells an answer in one line: its status with the names in it, or what was wrong.
pub(crate) async fn says(client: &Client, path: &str) -> String {
    let (status, answer) = ask(client, "GET", path).await;
    if let Some(message) = answer["message"].as_str() {
        return format!("{status} {message}");
    }
    let names: Vec<&str> = answer["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect();
    let metadata = &answer["metadata"];
    let goes_on = metadata["continue"]
        .as_str()
        .is_some_and(|token| !token.is_empty());
    let remaining = metadata["remainingItemCount"]
        .as_u64()
        .map(|count| format!(" +{count}"));
    format!(
        "{status} {}{}{}",
        names.join(" "),
        if goes_on { " …" } else { "" },
        remaining.unwrap_or_default()
    )
}

/// The lines of a watch.
pub(crate) struct Lines(BoxStream<'static, String>);

impl Lines {
    /// Opens a watch on a path with its query.
    pub(crate) async fn open(client: &Client, path: &str) -> Self {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        let stream: std::pin::Pin<Box<dyn AsyncBufRead + Send>> =
            Box::pin(within(client.request_stream(request)).await.expect("a stream"));
        Self(stream.lines().map(|line| line.expect("a line")).boxed())
    }

    /// Returns the next event; nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = within(self.0.next()).await?;
        Some(serde_json::from_str(&line).expect("a line is JSON"))
    }

    /// Returns the next event in a word or two; at the end `end`.
    pub(crate) async fn told(&mut self) -> String {
        let Some(event) = self.next().await else {
            return "end".to_owned();
        };
        let (kind, object) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
        let marked = &object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true";
        match kind {
            "BOOKMARK" if marked => "BOOKMARK initial".to_owned(),
            "BOOKMARK" => "BOOKMARK".to_owned(),
            "ERROR" => format!("ERROR {} {}", object["code"], object["reason"]),
            _ => format!(
                "{kind} {}",
                object["metadata"]["name"].as_str().unwrap_or_default()
            ),
        }
    }

    /// Returns the next events in a word or two each.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<String> {
        let mut told = Vec::with_capacity(count);
        for _ in 0..count {
            told.push(self.told().await);
        }
        told
    }
}

/// Returns the resource version of an object, an event's object or a list.
pub(crate) fn version(value: &Value) -> u64 {
    let text = value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    text.parse().expect("a resource version is a number")
}
