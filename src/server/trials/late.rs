//! Decisions that take too long, or that are too many.
//!
//! Never tests a rule: a decision here takes as long as its test needs.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http_body_util::{Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::rig::{Rig, get, over_h2, post, quick, read, review};
use crate::server::Limits;
use crate::server::health::Word;
use admission::{Facts, Request, Rulebook, Verdict};

/// How long a slow machine may take for anything.
const PATIENCE: Duration = Duration::from_mins(1);

fn answer(body: &str) -> Value {
    let answer: Value = serde_json::from_str(body).expect("JSON");
    answer["response"].clone()
}

fn hasty() -> Limits {
    Limits {
        decision: Duration::from_millis(200),
        decision_grace: Duration::from_millis(100),
        concurrent: 1,
        concurrent_large: 1,
        waiting: 2,
        ..quick()
    }
}

/// Runs until it is stopped.
fn obedient(request: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
    while !request.circumstances.stop.is_stopped() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Verdict::pass()
}

#[tokio::test]
async fn a_decision_is_stopped_when_its_time_is_up_and_its_verdict_counts() {
    let rig = Rig::deciding(hasty(), obedient).await;
    let begun = Instant::now();
    let (status, body) = rig.post("/validate", review(&json!({}))).await;
    assert_eq!((status, &answer(&body)["allowed"]), (200, &json!(true)));
    assert!(begun.elapsed() >= hasty().decision);
    let text = rig.metrics.text();
    assert!(text.contains("tidegate_decisions_stopped_total 1"), "{text}");
    assert!(text.contains("tidegate_decisions_overdue 0"), "{text}");
}

/// What an API server would store if the answer came after its timeout.
async fn refused_in_time(rig: &Rig, request: http::Request<Full<Bytes>>) {
    let (status, body) = tokio::time::timeout(PATIENCE, rig.send(request))
        .await
        .expect("the answer comes before the caller gives up");
    assert_eq!(status, 200, "{body}");
    assert_eq!(answer(&body)["uid"], "u-1");
}

#[tokio::test]
async fn a_decision_ends_before_the_timeout_that_the_api_server_announces() {
    let rig = Rig::deciding(unhurried(), obedient).await;
    refused_in_time(&rig, post("/validate?timeout=1s", review(&json!({})))).await;
}

#[tokio::test]
async fn a_caller_that_announces_no_timeout_has_that_of_the_registered_webhooks() {
    let rig = Rig::deciding(unhurried(), obedient).await;
    refused_in_time(&rig, post("/validate", review(&json!({})))).await;
}

/// Limits that end nothing within the time of a test.
fn unhurried() -> Limits {
    Limits {
        decision: Duration::from_hours(1),
        decision_grace: Duration::from_hours(1),
        body: Duration::from_hours(1),
        body_grace: Duration::from_hours(1),
        ..quick()
    }
}

#[tokio::test]
async fn a_review_that_has_not_arrived_in_time_is_refused_and_a_deletion_passes() {
    let rig = Rig::start(unhurried()).await;
    for (operation, allowed) in [("CREATE", false), ("UPDATE", false), ("DELETE", true)] {
        let text = String::from_utf8(review(&json!({}))).expect("text");
        let head = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u-1","operation":"{operation}","object":"#
        );
        let head = format!(
            "POST /validate?timeout=1s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{head}",
            head.len() + text.len()
        );
        let mut stream = rig.tls(&[b"http/1.1"]).await;
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.flush().await.expect("sent");
        let mut got = Vec::new();
        let reading = async {
            let mut some = [0; 4096];
            while !String::from_utf8_lossy(&got).ends_with('}') {
                let count = stream.read(&mut some).await.expect("an answer");
                assert!(
                    count > 0,
                    "{operation}: hung up on after {:?}",
                    String::from_utf8_lossy(&got)
                );
                got.extend_from_slice(&some[..count]);
            }
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        read.expect("the answer comes before the caller gives up");
        let got = String::from_utf8_lossy(&got);
        assert!(got.starts_with("HTTP/1.1 200"), "{operation}: {got}");
        let body = got.split("\r\n\r\n").nth(1).expect("a body");
        assert_eq!(answer(body)["allowed"], allowed, "{operation}: {body}");
    }
}

/// A body whose pieces come so long after one another.
fn pieces(
    rest: Duration,
    pieces: Vec<Bytes>,
) -> StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>> {
    let later = futures::stream::iter(pieces).then(move |piece| async move {
        tokio::time::sleep(rest).await;
        Ok(Frame::data(piece))
    });
    StreamBody::new(later.boxed())
}

#[tokio::test]
async fn a_body_that_waits_behind_others_on_its_connection_is_not_slow() {
    let limits = Limits {
        body: PATIENCE,
        body_grace: Duration::from_secs(1),
        body_rate: 1000,
        ..quick()
    };
    let rig = Rig::start(limits).await;
    let io = TokioIo::new(rig.tls(&[b"h2"]).await);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.expect("h2");
    tokio::spawn(connection);
    let question = Bytes::from(review(&json!({})));
    let mut many = vec![Bytes::from(" ".repeat(500)); 60];
    many.push(question.clone());
    let bodies = [
        pieces(Duration::from_millis(50), many),
        pieces(Duration::from_secs(3), vec![question]),
    ];
    let answers = bodies.map(|body| {
        let request = over_h2(post("/validate?timeout=30s", "")).map(|_| body);
        sender.send_request(request)
    });
    for response in answers {
        let answered = tokio::time::timeout(PATIENCE, response).await;
        let (status, body) = read(answered.expect("in time").expect("a response")).await;
        assert_eq!((status, &answer(&body)["allowed"]), (200, &json!(true)), "{body}");
    }
}

/// Whether `deaf` may end.
static ENOUGH: AtomicBool = AtomicBool::new(false);

/// Receives nothing.
fn deaf(request: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
    let deaf = request.object.is_some_and(|object| object.get().contains("deaf"));
    while deaf && !ENOUGH.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    Verdict::pass()
}

fn tells(rig: &Rig, line: &str) -> bool {
    rig.metrics.text().lines().any(|found| found == line)
}

#[tokio::test]
async fn a_decision_that_does_not_end_is_a_refusal_and_its_thread_is_not_forgotten() {
    let rig = Rig::deciding(hasty(), deaf).await;
    let (status, body) = rig
        .post("/validate", review(&json!({"installNamespace": "deaf"})))
        .await;
    let said = answer(&body);
    assert_eq!(
        (status, &said["allowed"], &said["uid"]),
        (200, &json!(false), &json!("u-1"))
    );
    assert_eq!(
        (&said["status"]["code"], &said["status"]["reason"]),
        (&json!(504), &json!("Timeout"))
    );
    assert_eq!(said["status"]["details"]["retryAfterSeconds"], 1);
    assert!(
        tells(&rig, "tidegate_decisions_overdue 1"),
        "{}",
        rig.metrics.text()
    );
    let line = "tidegate_admission_requests_total{webhook=\"validate\",kind=\"ManagedClusterAddOn\",operation=\"create\",\
        dry_run=\"false\",decision=\"unjudged\"} 1";
    assert!(tells(&rig, line), "{}", rig.metrics.text());
    // The only thread for small reviews is held: the next small review is refused, not waved through.
    let (status, body) = rig.post("/validate", review(&json!({}))).await;
    let said = answer(&body);
    assert_eq!(
        (status, &said["allowed"], &said["status"]["code"]),
        (200, &json!(false), &json!(429))
    );
    // A large one has a thread of its own, and probes need none.
    let large = json!({"configs": [{"name": "x".repeat(80 << 10)}]});
    assert_eq!(
        answer(&rig.post("/validate", review(&large)).await.1)["allowed"],
        true
    );
    assert_eq!(rig.send(get("/healthz")).await.0, 200);
    ENOUGH.store(true, Ordering::SeqCst);
    let again =
        async { while answer(&rig.post("/validate", review(&json!({}))).await.1)["allowed"] != true {} };
    tokio::time::timeout(Duration::from_mins(1), again)
        .await
        .expect("the thread is free again");
    assert!(
        tells(&rig, "tidegate_decisions_overdue 0"),
        "{}",
        rig.metrics.text()
    );
    rig.gate.shutdown().await;
}

/// Waits until something is so.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "{what}");
}

/// Sends a request over HTTP/1.1, and does not wait for the response.
async fn asks(rig: &Rig, spec: &Value) -> TlsStream<TcpStream> {
    let body = String::from_utf8(review(spec)).expect("text");
    let asked = format!(
        "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    stream.write_all(asked.as_bytes()).await.expect("sent");
    stream.flush().await.expect("sent");
    stream
}

/// How many decisions of `endless` have begun that go on until they are stopped.
static ENDLESS: AtomicUsize = AtomicUsize::new(0);

fn endless(request: &Request<'_>, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    if request
        .object
        .is_some_and(|object| object.get().contains("endless"))
    {
        ENDLESS.fetch_add(1, Ordering::SeqCst);
        return obedient(request, facts, rulebook);
    }
    Verdict::pass()
}

#[tokio::test]
async fn a_caller_that_hangs_up_leaves_its_thread_to_others_at_once() {
    let limits = Limits {
        decision: Duration::from_hours(1),
        decision_grace: Duration::from_hours(1),
        ..hasty()
    };
    let rig = Rig::deciding(limits, endless).await;
    let begun = async |count| {
        until("the decision begins", || ENDLESS.load(Ordering::SeqCst) == count).await;
    };
    let is_free = async || {
        let asked = tokio::time::timeout(PATIENCE, rig.post("/validate", review(&json!({})))).await;
        let (_, body) = asked.expect("the only thread is free again");
        assert_eq!(answer(&body)["allowed"], true);
    };
    let spec = json!({"installNamespace": "endless"});
    let stream = asks(&rig, &spec).await;
    begun(1).await;
    drop(stream);
    is_free().await;
    // Over HTTP/2 a caller takes one question back, and its connection stays.
    let io = TokioIo::new(rig.tls(&[b"h2"]).await);
    let connected = http2::handshake(TokioExecutor::new(), io).await;
    let (mut sender, connection) = connected.expect("h2");
    tokio::spawn(connection);
    tokio::select! {
        answered = sender.send_request(over_h2(post("/validate", review(&spec)))) => panic!("{answered:?}"),
        () = begun(2) => {}
    }
    is_free().await;
    assert!(!sender.is_closed());
    // They were not too slow.
    for line in [
        "tidegate_decisions_stopped_total 0",
        "tidegate_decisions_overdue 0",
    ] {
        assert!(tells(&rig, line), "{}", rig.metrics.text());
    }
}

/// Whether `stuck` has begun, and whether it may end.
static STUCK: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicBool = AtomicBool::new(false);

fn stuck(_: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
    STUCK.store(true, Ordering::SeqCst);
    held_by(&RELEASED)
}

#[tokio::test]
async fn a_decision_that_does_not_end_is_counted_though_its_caller_has_hung_up() {
    // One thread in all.
    let limits = Limits {
        decision: Duration::from_hours(1),
        concurrent_large: 0,
        ..hasty()
    };
    let rig = Rig::deciding(limits, stuck).await;
    let stream = asks(&rig, &json!({})).await;
    until("the decision begins", || STUCK.load(Ordering::SeqCst)).await;
    drop(stream);
    until("it is given up", || tells(&rig, "tidegate_decisions_overdue 1")).await;
    let late = tokio::time::Instant::now() + Duration::from_mins(1);
    let stuck = Word::No("all worker threads are stuck".to_owned());
    assert_eq!(rig.health.alive(late), stuck);
    RELEASED.store(true, Ordering::SeqCst);
    until("it has ended", || tells(&rig, "tidegate_decisions_overdue 0")).await;
    assert_eq!(rig.health.alive(late), Word::Yes("ok".to_owned()));
    rig.gate.shutdown().await;
}

/// Whether `first` and `second` may end.
static FIRST: AtomicBool = AtomicBool::new(false);
static SECOND: AtomicBool = AtomicBool::new(false);

fn held_by(flag: &AtomicBool) -> Verdict {
    while !flag.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    Verdict::pass()
}

fn first(_: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
    held_by(&FIRST)
}

fn second(_: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
    held_by(&SECOND)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_beyond_the_limit_are_refused_and_told_to_ask_again() {
    let limits = Limits {
        concurrent: 1,
        waiting: 1,
        ..quick()
    };
    let rig = Rig::deciding(limits, first).await;
    let ask = async || {
        let (status, body) = rig.post("/validate", review(&json!({}))).await;
        assert_eq!(status, 200);
        let code = answer(&body)["status"]["code"].as_u64().unwrap_or_default();
        // The refused request comes back first: one is decided, and one waits for that.
        let released = FIRST.swap(true, Ordering::SeqCst);
        (code, released)
    };
    let answers = tokio::join!(ask(), ask(), ask());
    let mut answers = [answers.0, answers.1, answers.2];
    answers.sort_unstable();
    assert_eq!(
        answers,
        [(0, true), (0, true), (429, false)],
        "one is decided, one waits, one is refused"
    );
}

#[tokio::test]
async fn decisions_hold_up_nothing_else() {
    // The gate has one thread for everything but decisions; each of its decisions blocks one until the probes are answered.
    let limits = Limits {
        concurrent: 2,
        ..quick()
    };
    let rig = Rig::deciding(limits, second).await;
    let big = async {
        let ask = || rig.post("/validate", review(&json!({})));
        tokio::join!(ask(), ask())
    };
    let probes = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        for _ in 0..10 {
            assert_eq!(rig.send(get("/healthz")).await.0, 200);
        }
        SECOND.store(true, Ordering::SeqCst);
    };
    let all = Box::pin(async { tokio::join!(big, probes).0 });
    let big = tokio::time::timeout(Duration::from_secs(50), all)
        .await
        .expect("probes wait for no decision");
    assert_eq!((big.0.0, big.1.0), (200, 200));
}

#[tokio::test]
async fn an_endless_uid_is_not_sent_back() {
    let rig = Rig::start(quick()).await;
    let text = String::from_utf8(review(&json!({}))).expect("text");
    let long = text.replace("u-1", &"u".repeat(1 << 20));
    let (status, body) = rig.post("/validate", long).await;
    assert_eq!(status, 400);
    assert!(body.len() < 200, "{}", body.len());
}
