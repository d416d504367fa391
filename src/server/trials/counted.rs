//! What the page of metrics tells about requests that were answered, refused and turned away.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use super::rig::{Rig, get, quick, read, review};
use crate::admission::{Facts, Request, Rulebook, Verdict};
use crate::server::Exposition;

async fn page(rig: &Rig) -> String {
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let served = Exposition::start(bind, rig.metrics.clone())
        .await
        .expect("the page is served");
    let tcp = TcpStream::connect(served.address()).await.expect("a connection");
    let (mut sender, connection) = hyper::client::conn::http1::handshake::<_, Full<Bytes>>(TokioIo::new(tcp))
        .await
        .expect("HTTP/1.1");
    tokio::spawn(connection);
    let response = sender.send_request(get("/metrics")).await.expect("a response");
    let kind = response.headers()["content-type"]
        .to_str()
        .expect("text")
        .to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let (status, text) = read(response).await;
    assert_eq!(status, 200);
    text
}

fn tells(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
}

#[tokio::test]
async fn every_answer_is_counted_once_and_findings_by_rule() {
    let rig = Rig::start(quick()).await;
    let wrong = review(&json!({"installNamespace": "Not_A_Name"}));
    for door in ["/validate", "/mutate"] {
        assert_eq!(rig.post(door, wrong.clone()).await.0, 200);
    }
    rig.post("/validate", review(&json!({"installNamespace": "fine"})))
        .await;
    rig.post("/validate", "no question").await;
    let text = page(&rig).await;
    tells(
        &text,
        "tidegate_admission_requests_total{door=\"validate\",outcome=\"Denied\"} 1",
    );
    tells(
        &text,
        "tidegate_admission_requests_total{door=\"mutate\",outcome=\"Denied\"} 1",
    );
    tells(
        &text,
        "tidegate_admission_requests_total{door=\"validate\",outcome=\"Allowed\"} 1",
    );
    tells(
        &text,
        "tidegate_admission_requests_total{door=\"validate\",outcome=\"TurnedAway\"} 1",
    );
    // Both doors have refused it; it is one finding.
    tells(
        &text,
        "tidegate_findings_total{rule=\"install/namespace\",action=\"deny\"} 1",
    );
    rig.gate.shutdown().await;
}

#[tokio::test]
async fn a_decision_that_breaks_is_counted_as_a_bug() {
    fn broken(_: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
        panic!("a bug")
    }
    let rig = Rig::deciding(quick(), broken).await;
    assert_eq!(rig.post("/mutate", review(&json!({}))).await.0, 500);
    tells(
        &page(&rig).await,
        "tidegate_admission_requests_total{door=\"mutate\",outcome=\"Broken\"} 1",
    );
    rig.gate.shutdown().await;
}
