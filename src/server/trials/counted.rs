//! What the page of metrics tells about requests that were answered, refused and turned away.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use super::rig::{Rig, get, quick, read, review};
use crate::server::{Pages, PagesAt};
use admission::{Facts, Request, Rulebook, Verdict};

async fn page(rig: &Rig) -> String {
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let at = PagesAt {
        metrics: Some(bind),
        ..PagesAt::default()
    };
    let served = Pages::start(at, &rig.health, &rig.metrics).expect("serving the web page");
    let address = served.at().metrics.expect("an address");
    let tcp = TcpStream::connect(address).await.expect("a connection");
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

/// What the rig asks about.
const CREATED: &str = "kind=\"ManagedClusterAddOn\",operation=\"create\",dry_run=\"false\"";

fn tells(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
}

#[tokio::test]
async fn every_answer_is_counted_once_and_findings_by_rule() {
    let rig = Rig::start(quick()).await;
    let fine = review(&json!({"installNamespace": "fine"}));
    for webhook in ["/mutate", "/validate"] {
        assert_eq!(rig.post(webhook, fine.clone()).await.0, 200);
    }
    rig.post("/validate", "no question").await;
    let text = page(&rig).await;
    for webhook in ["mutate", "validate"] {
        let line = format!(
            "tidegate_admission_requests_total{{webhook=\"{webhook}\",{CREATED},decision=\"allowed\"}} 1"
        );
        tells(&text, &line);
    }
    tells(
        &text,
        "tidegate_admission_requests_total{webhook=\"validate\",kind=\"unknown\",operation=\"unknown\",dry_run=\"unknown\",decision=\"turned_away\"} 1",
    );
    assert!(!text.contains("action=\"deny\""), "{text}");
    rig.gate.shutdown().await;
}

/// What the first webhook denies, an API server never shows to the second one.
#[tokio::test]
async fn a_denial_is_counted_once_whichever_webhook_denies() {
    let denied = "tidegate_findings_total{rule=\"install/namespace\",action=\"deny\"} 1";
    for (webhook, label) in [("/mutate", "mutate"), ("/validate", "validate")] {
        let rig = Rig::start(quick()).await;
        let wrong = review(&json!({"installNamespace": "Not_A_Name"}));
        assert_eq!(rig.post(webhook, wrong).await.0, 200);
        let text = page(&rig).await;
        let line = format!(
            "tidegate_admission_requests_total{{webhook=\"{label}\",{CREATED},decision=\"denied\"}} 1"
        );
        tells(&text, &line);
        tells(&text, denied);
        rig.gate.shutdown().await;
    }
}

/// What is stored passes both webhooks: its warnings count at the last one.
#[tokio::test]
async fn a_warning_is_counted_once_for_what_passes_both_webhooks() {
    let rig = Rig::start(quick()).await;
    let warned = review(&json!({"desiredVersion": "v1"}));
    for webhook in ["/mutate", "/validate"] {
        assert_eq!(rig.post(webhook, warned.clone()).await.0, 200);
    }
    let text = page(&rig).await;
    let counted: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("tidegate_findings_total{") && line.contains("action=\"warn\""))
        .collect();
    assert!(!counted.is_empty(), "the object deserves a warning:\n{text}");
    assert!(counted.iter().all(|line| line.ends_with(" 1")), "{counted:?}");
    rig.gate.shutdown().await;
}

#[tokio::test]
async fn a_decision_that_breaks_is_counted_as_a_bug() {
    fn broken(_: &Request<'_>, _: &Facts, _: &Rulebook) -> Verdict {
        panic!("a bug")
    }
    let rig = Rig::deciding(quick(), broken).await;
    assert_eq!(rig.post("/mutate", review(&json!({}))).await.0, 500);
    let line =
        format!("tidegate_admission_requests_total{{webhook=\"mutate\",{CREATED},decision=\"broken\"}} 1");
    tells(&page(&rig).await, &line);
    rig.gate.shutdown().await;
}
