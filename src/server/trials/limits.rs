//! Each limit of the serving path, met by a caller that does not keep it.
//!
//! Never asks what an answer means.

use std::time::{Duration, Instant};

use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::rig::{Rig, get, post, quick, read, review};

use crate::server::Limits;

/// How long a slow machine may take for anything.
const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_body_over_the_cap_is_refused_whether_or_not_it_says_so() {
    let limits = Limits {
        body_bytes: 64,
        ..quick()
    };
    let rig = Rig::start(limits).await;
    let too_large = (413, "the request body is too large\n".to_owned());
    assert_eq!(
        rig.post("/validate", vec![b' '; 65]).await,
        too_large,
        "its caller is not known"
    );
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    let head = "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("41\r\n{}\r\n0\r\n\r\n", " ".repeat(0x41));
    stream
        .write_all(format!("{head}{chunk}").as_bytes())
        .await
        .expect("sent");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 413");
}

/// A question as an API server writes it: uid and operation first.
fn question(operation: &str, object: &Value, old: &Value) -> String {
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u-1","kind":{{"group":"addon.open-cluster-management.io","version":"v1alpha1","kind":"ClusterManagementAddOn"}},"resource":{{"group":"addon.open-cluster-management.io","version":"v1alpha1","resource":"clustermanagementaddons"}},"name":"a","operation":"{operation}","userInfo":{{}},"object":{object},"oldObject":{old}}}}}"#
    )
}

async fn answered(rig: &Rig, question: String) -> Value {
    let (status, text) = rig.post("/validate", question).await;
    assert_eq!(
        status, 200,
        "an API server stores what any other status answers: {text}"
    );
    let review: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(review["response"]["uid"], "u-1");
    review["response"].clone()
}

#[tokio::test]
async fn a_question_over_the_cap_is_refused_in_so_many_words_and_a_deletion_passes() {
    let rig = Rig::start(quick()).await;
    let large = json!({"metadata": {"annotations": {"a": "x".repeat(8 << 20)}}});
    for operation in ["CREATE", "UPDATE"] {
        let response = answered(&rig, question(operation, &large, &json!(null))).await;
        assert_eq!(
            (&response["allowed"], &response["status"]["code"]),
            (&json!(false), &json!(413))
        );
        let message = response["status"]["message"].as_str().expect("a message");
        assert!(
            message.contains("at most 7340032 bytes") && message.contains("hint: split it"),
            "{message}"
        );
    }
    let response = answered(&rig, question("DELETE", &json!(null), &large)).await;
    assert_eq!(response["allowed"], true);
}

#[tokio::test]
async fn two_objects_as_large_as_an_api_server_takes_fit() {
    let rig = Rig::start(quick()).await;
    let with = |name: &str, size: usize| json!({"metadata": {"name": "a"}, "spec": {"addOnMeta": {name: "x".repeat(size)}}});
    let (new, old) = (with("new", 1500 << 10), with("old", 1500 << 10));
    let response = answered(&rig, question("UPDATE", &new, &old)).await;
    assert_eq!(response["allowed"], true);
}

#[tokio::test]
async fn what_is_beyond_a_bound_is_refused_with_the_bound_its_place_and_the_cure() {
    let rig = Rig::start(quick()).await;
    let placements = |count: usize| {
        let all: Vec<Value> = (0..count)
            .map(|n| json!({"name": format!("p{n}"), "namespace": "default"}))
            .collect();
        json!({"metadata": {"name": "a"}, "spec": {"installStrategy": {"type": "Placements", "placements": all}}})
    };
    let large = placements(10_002);
    let response = answered(&rig, question("CREATE", &large, &json!(null))).await;
    assert_eq!(
        (&response["allowed"], &response["status"]["code"]),
        (&json!(false), &json!(422))
    );
    assert_eq!(
        response["status"]["details"]["causes"],
        json!([{"field": "spec.installStrategy.placements", "reason": "FieldValueTooMany",
            "message": "Too many: must have at most 10000 items; hint: split it into several objects [schema/bounds]"}])
    );
    let mut labelled = large.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let less = placements(10_001);
    for (new, old) in [(&labelled, &large), (&less, &large), (&placements(3), &large)] {
        let response = answered(&rig, question("UPDATE", new, old)).await;
        assert_eq!(
            response["allowed"], true,
            "what is stored so can be labelled and made smaller: {}",
            response["status"]
        );
    }
    let response = answered(&rig, question("DELETE", &json!(null), &large)).await;
    assert_eq!(response["allowed"], true);
}

#[tokio::test]
async fn a_silent_handshake_is_hung_up_on() {
    let rig = Rig::start(Limits {
        handshake: Duration::from_millis(100),
        ..quick()
    })
    .await;
    let mut tcp = TcpStream::connect(rig.gate.address())
        .await
        .expect("a connection");
    assert_eq!(ended(&mut tcp).await, 0);
}

#[tokio::test]
async fn a_dribbled_head_is_hung_up_on() {
    let rig = Rig::start(Limits {
        head: Duration::from_millis(300),
        ..quick()
    })
    .await;
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    let head = b"POST /validate HTTP/1.1\r\nhost: localhost\r\nx-slow: 0123456789";
    let dribble = async {
        let mut bytes = head.iter().cycle();
        let mut open = true;
        while open {
            let byte = [*bytes.next().expect("a cycle never ends")];
            open = stream.write_all(&byte).await.is_ok() && stream.flush().await.is_ok();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, dribble)
        .await
        .expect("the dribbling caller was hung up on");
}

#[tokio::test]
async fn a_silent_caller_is_hung_up_on_in_both_protocols() {
    let rig = Rig::start(Limits {
        head: Duration::from_millis(100),
        ..quick()
    })
    .await;
    for protocol in [b"http/1.1".as_slice(), b"h2"] {
        let mut stream = rig.tls(&[protocol]).await;
        let mut bytes = Vec::new();
        let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
        closed.expect("the silent connection was closed").ok();
    }
}

#[tokio::test]
async fn a_connection_may_rest_longer_than_a_head_may_take() {
    let rig = Rig::start(Limits {
        head: Duration::from_secs(1),
        ..quick()
    })
    .await;
    let io = TokioIo::new(rig.tls(&[b"http/1.1"]).await);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("HTTP/1.1");
    tokio::spawn(connection);
    for _ in 0..2 {
        let response = sender
            .send_request(get("/healthz"))
            .await
            .expect("the connection is still open");
        assert_eq!(read(response).await.0, 200);
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
}

#[tokio::test]
async fn a_resting_connection_is_closed_in_the_end() {
    let rig = Rig::start(Limits {
        idle: Duration::from_secs(1),
        ..quick()
    })
    .await;
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .expect("sent");
    let mut all = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all)).await;
    closed.expect("the resting connection was closed").ok();
    assert!(all.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn a_body_that_never_ends_is_answered_408() {
    let rig = Rig::start(Limits {
        body: Duration::from_millis(100),
        ..quick()
    })
    .await;
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    let head = "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn a_body_that_dribbles_keeps_no_place_and_is_answered_late() {
    let rig = Rig::start(Limits {
        body: Duration::from_secs(10),
        body_grace: Duration::from_millis(100),
        body_rate: 1 << 10,
        requests: 1,
        ..quick()
    })
    .await;
    let begun = Instant::now();
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    let head = "POST /validate?timeout=30s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4096\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("sent");
    let (mut reading, mut writing) = tokio::io::split(stream);
    let dribble = async move {
        // 50 bytes a second: no single wait is long, and the whole would take more than a minute.
        while writing.write_all(b" ").await.is_ok() && writing.flush().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let dribbling = tokio::spawn(dribble);
    let mut answer = [0; 12];
    let slow = tokio::time::timeout(PATIENCE, reading.read_exact(&mut answer));
    let other = async {
        loop {
            let (status, _) = rig.post("/validate", review(&json!({}))).await;
            if status == 200 {
                return begun.elapsed();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (read, other) = tokio::join!(slow, other);
    read.expect("an end").expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 408");
    let half = Duration::from_secs(5);
    assert!(
        begun.elapsed() >= half && other < half,
        "another caller had the place after {other:?}"
    );
    dribbling.abort();
}

#[tokio::test]
async fn a_gate_that_ends_waits_for_no_slow_body() {
    let rig = Rig::start(Limits {
        body: Duration::from_secs(20),
        body_grace: Duration::from_millis(100),
        drain: Duration::from_secs(20),
        ..quick()
    })
    .await;
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    let head = "POST /validate?timeout=30s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4096\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.flush().await.expect("sent");
    // Until it counts as slow.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let begun = Instant::now();
    rig.gate.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn a_body_that_comes_in_pieces_is_taken() {
    let rig = Rig::start(Limits {
        body_grace: Duration::from_secs(5),
        body_rate: 1 << 10,
        ..quick()
    })
    .await;
    let body = review(&json!({}));
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    let head = format!(
        "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    for piece in body.chunks(100) {
        stream.write_all(piece).await.expect("sent");
        stream.flush().await.expect("sent");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_at_once_are_all_answered_and_the_gate_goes_on() {
    // A slow machine must not look like slow callers.
    let patient = Limits {
        body: Duration::from_mins(1),
        body_grace: Duration::from_mins(1),
        ..quick()
    };
    let rig = Rig::start(patient).await;
    let asking = futures::future::join_all((0..8).map(|_| async {
        let io = TokioIo::new(rig.tls(&[b"h2"]).await);
        let (sender, connection) =
            hyper::client::conn::http2::handshake(hyper_util::rt::TokioExecutor::new(), io)
                .await
                .expect("h2");
        tokio::spawn(connection);
        let asked = (0..125).map(|_| {
            let mut sender = sender.clone();
            let mut request = post("/validate", review(&json!({})));
            *request.uri_mut() = "https://localhost/validate".parse().expect("a URI");
            request.headers_mut().remove("host");
            async move {
                read(sender.send_request(request).await.expect("a response"))
                    .await
                    .0
            }
        });
        futures::future::join_all(asked).await
    }));
    let statuses = tokio::time::timeout(PATIENCE, asking)
        .await
        .expect("no request hangs");
    let statuses: Vec<u16> = statuses.into_iter().flatten().collect();
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!(
        count(200) + count(429),
        1000,
        "decided or sent away, never broken: {statuses:?}"
    );
    assert!(count(200) > 0);
    assert_eq!(rig.post("/validate", review(&json!({}))).await.0, 200);
}

#[tokio::test]
async fn bombs_of_json_are_refused_at_the_usual_bounds() {
    let rig = Rig::start(quick()).await;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    let wide = format!("[{}]", vec!["1"; 20_000].join(","));
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(300 << 10));
    for bomb in [deep, wide, long] {
        assert_eq!(rig.post("/mutate", bomb).await.0, 400);
    }
    assert_eq!(rig.send(get("/healthz")).await.0, 200);
}

#[tokio::test]
async fn an_idle_connection_is_closed_for_a_new_one() {
    let rig = Rig::start(Limits {
        connections: 1,
        ..quick()
    })
    .await;
    for protocol in [b"http/1.1".as_slice(), b"h2"] {
        let mut idle = rig.tls(&[protocol]).await;
        let (status, _) = tokio::time::timeout(PATIENCE, rig.post("/validate", review(&json!({}))))
            .await
            .expect("a newcomer does not wait");
        assert_eq!(status, 200);
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(PATIENCE, idle.read_to_end(&mut rest)).await;
        closed.expect("its place was taken").ok();
    }
}

#[tokio::test]
async fn an_announced_body_takes_no_memory() {
    let large = review(&json!({"configs": [{"name": "x".repeat(8 << 10)}]}));
    let rig = Rig::start(Limits {
        buffered_bytes: 32 << 10,
        body: Duration::from_mins(2),
        body_grace: Duration::from_mins(2),
        patience: Duration::from_millis(50),
        ..quick()
    })
    .await;
    let head = "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 16000\r\n\r\n{";
    let mut announcing = Vec::new();
    for _ in 0..16 {
        let mut stream = rig.tls(&[b"http/1.1"]).await;
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.flush().await.expect("sent");
        announcing.push(stream);
    }
    assert_eq!(rig.post("/validate", large).await.0, 200);
}

#[tokio::test]
async fn bodies_beyond_what_may_be_held_are_shed() {
    let body = review(&json!({}));
    let rig = Rig::start(Limits {
        buffered_bytes: 32 << 10,
        body: Duration::from_mins(2),
        body_grace: Duration::from_mins(2),
        patience: Duration::from_millis(50),
        ..quick()
    })
    .await;
    // A caller sends as much as an address may have, and does not end.
    let mut holding = rig.tls(&[b"http/1.1"]).await;
    let sent = " ".repeat(15 << 10);
    let head = "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 20000\r\n\r\n";
    holding
        .write_all(format!("{head}{sent}").as_bytes())
        .await
        .expect("sent");
    holding.flush().await.expect("sent");
    let large = review(&json!({"configs": [{"name": "x".repeat(8 << 10)}]}));
    // An API server writes the uid first.
    let large = String::from_utf8(large)
        .expect("text")
        .replace(",\"uid\":\"u-1\"", "");
    let large = large.replace("\"request\":{", "\"request\":{\"uid\":\"u-1\",");
    let shed = async {
        loop {
            // Until the first one was received, there is memory for this one.
            let (status, body) = rig.post("/validate", large.clone()).await;
            let answer: Value = serde_json::from_str(&body).expect("JSON");
            let response = &answer["response"];
            assert_eq!((status, &response["uid"]), (200, &json!("u-1")));
            if response["status"]["code"] == 429 {
                assert_eq!(response["allowed"], false, "refused, not waved through");
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), shed)
        .await
        .expect("there is no memory");
    let (status, _) = rig.post("/validate", body).await;
    assert_eq!(status, 200, "what fits is answered");
}

#[tokio::test]
async fn answers_stay_small_whatever_is_asked() {
    let rig = Rig::start(quick()).await;
    let entry =
        json!({"group": "x".repeat(9000), "resource": "Y".repeat(9000), "name": "\u{202e}\n".repeat(900)});
    let (status, body) = rig
        .post("/mutate", review(&json!({"configs": vec![entry; 60]})))
        .await;
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    assert!(
        answer["response"]["status"]["message"]
            .as_str()
            .expect("a message")
            .len()
            <= 4096
    );
    assert_eq!(
        answer["response"]["status"]["details"]["causes"]
            .as_array()
            .map(Vec::len),
        Some(21)
    );
    assert!(body.len() < 64 << 10, "{}", body.len());
}

async fn ended(tcp: &mut TcpStream) -> usize {
    let mut byte = [0; 1];
    let read = tokio::time::timeout(PATIENCE, tcp.read(&mut byte)).await;
    read.expect("the connection ends").unwrap_or(0)
}
