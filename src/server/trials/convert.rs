//! `/convert` on trial: callers that send slowly, and callers that do not take their answer.
//!
//! Never tests what an object becomes.

use std::time::Duration;

use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::rig::{Rig, over_h2, post, quick};
use crate::server::Limits;

/// How long a slow machine may take for anything.
const PATIENCE: Duration = Duration::from_mins(1);
const GOES_ON: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A question about one object of so many bytes and a few more.
fn question(bytes: usize) -> Vec<u8> {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "helloworld", "namespace": "cluster1", "annotations": {"a": "x".repeat(bytes)}},
        "spec": {},
    });
    let request = json!({
        "uid": "u-1", "desiredAPIVersion": "addon.open-cluster-management.io/v1beta1", "objects": [object],
    });
    let review =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
    serde_json::to_vec(&review).expect("JSON")
}

#[tokio::test]
async fn slow_senders_take_no_turn_from_a_caller_that_has_sent_its_question() {
    let rig = Rig::start(Limits {
        body: Duration::from_hours(1),
        body_grace: Duration::from_hours(1),
        ..quick()
    })
    .await;
    // As many as are converted at once.
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = rig.tls(&[b"http/1.1"]).await;
        let head = "POST /convert HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4096\r\n\
            expect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.flush().await.expect("sent");
        // The gate says so when it begins to read the body.
        let mut said = [0; GOES_ON.len()];
        let heard = tokio::time::timeout(PATIENCE, stream.read_exact(&mut said)).await;
        heard.expect("a word").expect("a whole word");
        assert_eq!(&said, GOES_ON);
        stream.write_all(b"{").await.expect("sent");
        stream.flush().await.expect("sent");
        slow.push(stream);
    }
    let (status, body) = rig.post("/convert", question(0)).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let response = &answer["response"];
    assert_eq!(
        (&response["uid"], &response["result"]["status"]),
        (&json!("u-1"), &json!("Success"))
    );
    drop(slow);
}

#[tokio::test]
async fn an_answer_keeps_its_memory_until_it_is_received() {
    let rig = Rig::start(Limits {
        // An address alone may have half of it.
        buffered_bytes: 64 << 10,
        patience: Duration::from_millis(50),
        write: Duration::from_hours(1),
        ..quick()
    })
    .await;
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(rig.tls(&[b"h2"]).await))
        .await
        .expect("h2");
    tokio::spawn(connection);
    let asked = over_h2(post("/convert", question(20 << 10)));
    let untaken = sender.send_request(asked).await.expect("the head of an answer");
    assert_eq!(untaken.status(), 200);
    let ask = async || rig.post("/convert", question(20 << 10)).await.0;
    assert_eq!(ask().await, 429, "the memory does not suffice for both");
    drop((untaken, sender));
    let again = async { while ask().await != 200 {} };
    tokio::time::timeout(PATIENCE, again)
        .await
        .expect("there is memory again");
}
