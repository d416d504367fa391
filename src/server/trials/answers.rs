//! What callers get: verdicts over both protocols, plain errors, readiness, certificates, a clean end.
//!
//! Never tests a rule; the pages do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::rig::{Rig, get, post, quick, read, review};
use admission::{Facts, Request, Rulebook, Verdict};

#[tokio::test]
async fn a_wrong_object_is_refused_over_both_protocols() {
    let rig = Rig::start(quick()).await;
    let wrong = review(&json!({"installNamespace": "Not_A_Name"}));
    let (status, body) = rig.post("/validate", wrong.clone()).await;
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let response = &answer["response"];
    assert_eq!(
        (&response["uid"], &response["allowed"]),
        (&json!("u-1"), &json!(false))
    );
    assert_eq!(response["status"]["reason"], "Invalid");
    assert_eq!(
        response["status"]["details"]["causes"][0]["field"],
        "spec.installNamespace"
    );
    assert_eq!(
        response["auditAnnotations"]["rules"],
        "install/namespace,naming/unknown-addon,naming/unknown-cluster"
    );

    let tls = rig.tls(&[b"h2", b"http/1.1"]).await;
    assert_eq!(tls.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tls))
            .await
            .expect("h2");
    tokio::spawn(connection);
    let mut request = post("/validate", wrong);
    *request.uri_mut() = "https://localhost/validate".parse().expect("a URI");
    request.headers_mut().remove("host");
    let over_h2 = read(sender.send_request(request).await.expect("a response")).await;
    assert_eq!(over_h2, (200, body));
    rig.gate.shutdown().await;
}

#[tokio::test]
async fn what_is_no_question_gets_a_plain_answer() {
    let rig = Rig::start(quick()).await;
    assert_eq!(
        rig.post("/validate", "").await,
        (400, "the request body is empty\n".into())
    );
    assert_eq!(
        rig.post("/validate", "{").await,
        (400, "the body is not an AdmissionReview\n".into())
    );
    assert_eq!(rig.post("/validate", "{}").await.0, 400);
    assert_eq!(rig.post("/elsewhere", "{}").await.0, 404);
    assert_eq!(rig.send(get("/validate")).await.0, 405);
    let mut text = post("/validate", review(&json!({})));
    text.headers_mut()
        .insert("content-type", http::HeaderValue::from_static("text/plain"));
    assert_eq!(
        rig.send(text).await,
        (415, "the content type must be application/json\n".into())
    );
    let mut charset = post("/validate", review(&json!({})));
    charset.headers_mut().insert(
        "content-type",
        http::HeaderValue::from_static("application/json; charset=utf-8"),
    );
    assert_eq!(rig.send(charset).await.0, 200);
}

fn panicking(_: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
    panic!("a rule with a bug");
}

#[tokio::test]
async fn a_panic_answers_500_with_the_uid_and_affects_no_other_request() {
    let rig = Rig::deciding(quick(), panicking).await;
    for _ in 0..2 {
        let (status, body) = rig.post("/validate", review(&json!({}))).await;
        assert_eq!(status, 500);
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(
            (&answer["response"]["uid"], &answer["response"]["allowed"]),
            (&json!("u-1"), &json!(false))
        );
        assert_eq!(answer["response"]["status"]["code"], 500);
    }
    assert_eq!(rig.send(get("/healthz")).await.0, 200);
}

#[tokio::test]
async fn a_new_certificate_is_shown_from_the_next_handshake_on() {
    let rig = Rig::start(quick()).await;
    let shown = |stream: &TlsStream<TcpStream>| {
        stream
            .get_ref()
            .1
            .peer_certificates()
            .and_then(|chain| chain.first().cloned())
            .expect("a certificate")
    };
    let open = rig.tls(&[b"http/1.1"]).await;
    let next = rig.authority.issue(["localhost"]).expect("a certificate");
    let swapped = rig
        .gate
        .swap_certificate(next.certificate(), jiff::Timestamp::now());
    swapped.expect("a certificate for the same name");
    let reopened = rig.tls(&[b"http/1.1"]).await;
    assert_ne!(shown(&open), shown(&reopened));
    let expected = CertificateDer::from_pem_slice(next.chain_pem().as_bytes()).expect("a certificate");
    assert_eq!(shown(&reopened), expected);
}

#[tokio::test]
async fn readiness_follows_the_facts() {
    let rig = Rig::start(quick()).await;
    assert_eq!(rig.send(get("/readyz")).await.0, 200);
    rig.facts.store(Arc::new(Facts::default()));
    let (status, text) = rig.send(get("/readyz")).await;
    assert_eq!(status, 503);
    assert!(
        text.starts_with("initial lists are not complete: managedclusters, placements, "),
        "{text}"
    );
    assert_eq!(rig.send(get("/healthz")).await.0, 200);
}

/// Whether `unhurried` has been asked.
static ASKED: AtomicBool = AtomicBool::new(false);

fn unhurried(_: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
    ASKED.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(300));
    Verdict::pass()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_answers_what_was_asked_and_takes_nothing_new() {
    let rig = Rig::deciding(quick(), unhurried).await;
    let address = rig.gate.address();
    let io = TokioIo::new(rig.tls(&[b"http/1.1"]).await);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("HTTP/1.1");
    tokio::spawn(connection);
    let asked = tokio::spawn(async move {
        read(
            sender
                .send_request(post("/validate", review(&json!({}))))
                .await
                .expect("a response"),
        )
        .await
        .0
    });
    while !ASKED.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    rig.gate.shutdown().await;
    assert_eq!(asked.await.expect("no panic"), 200);
    assert!(TcpStream::connect(address).await.is_err(), "no listener is left");
}
