//! Decisions that take too long, or that are too many.
//!
//! Never tests a rule: what is decided here takes as long as its test wants.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rig::{Rig, get, quick, review};
use crate::server::Limits;
use admission::{Facts, Request, Rulebook, Verdict};

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

/// Goes on until it is told to stop.
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

/// Whether `deaf` may end.
static ENOUGH: AtomicBool = AtomicBool::new(false);

/// Hears nothing.
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
    let line = "tidegate_admission_requests_total{door=\"validate\",kind=\"ManagedClusterAddOn\",operation=\"create\",\
        dry_run=\"false\",decision=\"unjudged\"} 1";
    assert!(tells(&rig, line), "{}", rig.metrics.text());
    // The only thread for small reviews is held: whoever is judged next is refused, not waved through.
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
        // Whoever is refused comes back first: one is decided, and one waits for that.
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
