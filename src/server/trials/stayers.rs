//! Callers that stay without asking, and callers that ask and do not listen.
//!
//! Each of them is hung up on within its bound, whatever it does to look alive.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpSocket;

use super::rig::{Rig, get, over_h2, post, quick, read, review};
use crate::server::Limits;

/// How long a slow machine may take for anything.
const PATIENCE: Duration = Duration::from_mins(1);

fn counts(rig: &Rig, reason: &str) -> bool {
    let line = format!("tidegate_connections_closed_total{{reason=\"{reason}\"}}");
    rig.metrics.text().contains(&line)
}

#[tokio::test]
async fn h2_connections_do_not_live_by_pings() {
    let unproven = Limits {
        unproven: Duration::from_millis(300),
        ..quick()
    };
    let idle = Limits {
        idle: Duration::from_millis(300),
        ..quick()
    };
    let ask = || over_h2(post("/validate", review(&json!({}))));
    for (limits, request) in [(unproven, over_h2(get("/healthz"))), (idle, ask())] {
        let rig = Rig::start(limits).await;
        let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(Duration::from_millis(50))
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(rig.tls(&[b"h2"]).await))
            .await
            .expect("h2");
        let alive = tokio::spawn(connection);
        let response = sender.send_request(request).await.expect("a response");
        assert_eq!(read(response).await.0, 200);
        let ended = tokio::time::timeout(PATIENCE, alive).await;
        ended.expect("it was told to go").expect("no panic").ok();
        assert!(counts(&rig, "rested"));
    }
}

/// From the moment on when the gate is to end, callers on HTTP/1.1 are asked to open another connection; those of HTTP/2
/// by no header, which they may not have.
#[tokio::test]
async fn who_keeps_a_connection_is_reported_when_the_gate_is_to_end() {
    let rig = Rig::start(quick()).await;
    let connected = http1::handshake(TokioIo::new(rig.tls(&[b"http/1.1"]).await)).await;
    let (mut old, connection) = connected.expect("HTTP/1.1");
    let alive = tokio::spawn(connection);
    let connected = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .handshake(TokioIo::new(rig.tls(&[b"h2"]).await))
        .await;
    let (mut new, streams) = connected.expect("h2");
    let streams = tokio::spawn(streams);
    let ask = || post("/validate", review(&json!({})));
    let response = old.send_request(ask()).await.expect("a response");
    assert_eq!(response.headers().get("connection"), None);
    assert_eq!(read(response).await.0, 200);
    rig.health.drain();
    let response = new.send_request(over_h2(ask())).await.expect("a response");
    assert_eq!(response.headers().get("connection"), None);
    assert_eq!(read(response).await.0, 200);
    old.ready().await.expect("it was kept");
    let response = old.send_request(ask()).await.expect("a response");
    assert_eq!(response.headers()["connection"], "close");
    assert_eq!(read(response).await.0, 200);
    let ended = tokio::time::timeout(PATIENCE, alive).await;
    ended.expect("it ends").expect("no panic").expect("in good order");
    streams.abort();
}

#[tokio::test]
async fn pings_without_end_are_hung_up_on() {
    let rig = Rig::start(quick()).await;
    let mut stream = rig.tls(&[b"h2"]).await;
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        .await
        .expect("sent");
    let pings = b"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678".repeat(100);
    let (mut reading, mut writing) = tokio::io::split(stream);
    let listening = tokio::spawn(async move {
        let mut rest = tokio::io::sink();
        tokio::io::copy(&mut reading, &mut rest).await.ok();
    });
    let flood = async {
        let mut sent = 0_usize;
        while writing.write_all(&pings).await.is_ok() && writing.flush().await.is_ok() {
            sent += pings.len();
        }
        sent
    };
    let sent = tokio::time::timeout(PATIENCE, flood).await.expect("hung up on");
    println!("{sent} bytes of pings were written before the end");
    assert!(
        counts(&rig, "noise") || counts(&rig, "rested"),
        "{}",
        rig.metrics.text()
    );
    listening.abort();
}

#[tokio::test]
async fn an_h2_caller_that_opens_no_window_is_cut() {
    for window in [0, 1] {
        // A gate of its own for each window: it has not counted any caller yet.
        let rig = Rig::start(Limits {
            write: Duration::from_millis(300),
            ..quick()
        })
        .await;
        let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(window)
            .handshake(TokioIo::new(rig.tls(&[b"h2"]).await))
            .await
            .expect("h2");
        tokio::spawn(connection);
        // An answer of more than one piece.
        let entries =
            vec![json!({"group": "x".repeat(300), "resource": "Y".repeat(300), "name": "\u{202e}"}); 60];
        let asked = over_h2(post("/validate", review(&json!({"configs": entries}))));
        let response = sender.send_request(asked).await.expect("the head of a response");
        // The window opens only when the body is read, which is not before the gate has hung up.
        let (_, body) = response.into_parts();
        let cut = async {
            while !counts(&rig, "slow_reader") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, cut).await.expect("cut");
        assert!(body.collect().await.is_err(), "half an answer, window {window}");
    }
}

#[tokio::test]
async fn a_caller_that_asks_and_never_reads_is_cut() {
    let rig = Rig::start(Limits {
        write: Duration::from_millis(300),
        ..quick()
    })
    .await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let tcp = socket.connect(rig.gate.address()).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let connector = rig.connector(&[b"http/1.1"]);
    let mut stream = connector.connect(name, tcp).await.expect("a handshake");
    let body = String::from_utf8(review(&json!({"installNamespace": "Not_A_Name"}))).expect("text");
    let asked = format!(
        "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let asking = async { while stream.write_all(asked.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, asking).await.expect("cut");
    assert!(counts(&rig, "slow_reader"), "{}", rig.metrics.text());
}
