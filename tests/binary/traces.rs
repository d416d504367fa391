//! `serve --otlp`: spans as a collector receives them, and a collector that is slow or unavailable.
//!
//! A span belongs to the trace of its caller and has only attributes of low cardinality, and no response waits for a collector.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use prost::Message as _;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tidegate::server::Authority;
use tidegate::telemetry::trace_wire::{Export, Form, SpanKind, WireSpan};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use crate::addresses::free_address;
use crate::certificates::{answer, trust};
use crate::replicas::{Program, is_ready};
use crate::rig::{certificate, defined_hub, kubectl, repository, run, tidegate};
use crate::serve::{page, until};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A collector, and what it was sent.
#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<WireSpan>>>,
    services: Arc<Mutex<Vec<String>>>,
    is_slow: bool,
}

impl Collector {
    async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let own = self.clone();
        let takes = move |headers: HeaderMap, body: Bytes| own.clone().takes(headers, body);
        let router = Router::new().route("/v1/traces", post(takes));
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    async fn takes(self, headers: HeaderMap, body: Bytes) -> StatusCode {
        if self.is_slow {
            tokio::time::sleep(Duration::from_mins(2)).await;
        }
        if headers
            .get("content-type")
            .is_none_or(|form| form != "application/x-protobuf")
        {
            return StatusCode::UNSUPPORTED_MEDIA_TYPE;
        }
        let export = Export::decode(body).expect("OTLP");
        for program in export.resource_spans {
            let about = program.resource.expect("a program").attributes;
            let texts = about
                .into_iter()
                .map(|fact| format!("{}={}", fact.key, text(fact.value)));
            self.services.lock().expect("unpoisoned").extend(texts);
            let spans = program.scope_spans.into_iter().flat_map(|part| part.spans);
            self.spans.lock().expect("unpoisoned").extend(spans);
        }
        StatusCode::OK
    }

    fn spans(&self, name: &str) -> Vec<WireSpan> {
        let spans = self.spans.lock().expect("unpoisoned");
        spans.iter().filter(|span| span.name == name).cloned().collect()
    }
}

fn text(value: Option<tidegate::telemetry::trace_wire::AnyValue>) -> String {
    match value.and_then(|value| value.value).expect("it says something") {
        Form::Text(text) => text,
        Form::Whether(whether) => whether.to_string(),
        Form::Number(number) => number.to_string(),
    }
}

/// What a span says, in one line.
fn facts(span: &WireSpan) -> String {
    let facts = span
        .attributes
        .iter()
        .map(|fact| format!("{}={}", fact.key, text(fact.value.clone())));
    facts.collect::<Vec<_>>().join(" ")
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

/// A gate with controllers, that sends spans somewhere.
struct Traced {
    program: Program,
    gate: SocketAddr,
    metrics: String,
    authority: Authority,
}

impl Traced {
    fn start(folder: &Path, kubeconfig: &Path, words: &[&str]) -> Self {
        let (authority, chain, key) = certificate(folder);
        let (bind, metrics) = (free_address().to_string(), free_address().to_string());
        let child = tidegate()
            .args([
                "serve",
                "--bind",
                &bind,
                "--health",
                &metrics,
                "--metrics",
                &metrics,
                "--linger",
                "0",
            ])
            .args(["--log-level", "error", "--kubeconfig"])
            .arg(kubeconfig)
            .arg("--certificate")
            .arg(chain)
            .arg("--key")
            .arg(key)
            .args(words)
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let traced = Self {
            program: Program(child),
            gate: bind.parse().expect("an address"),
            metrics,
            authority,
        };
        until("it is ready", || is_ready(&traced.metrics));
        traced
    }

    /// Asks for an add-on whose description is a secret, as an API server that traces does; returns the answer.
    async fn asks(&self, traceparent: &str) -> Value {
        let group = "addon.open-cluster-management.io";
        let strategy = json!({"type": "Placements", "placements": [{"name": "a", "namespace": "b",
            "rolloutStrategy": {"type": "Progressive", "progressive": {"minSuccessTime": "banana"}}}]});
        let object = json!({"apiVersion": format!("{group}/v1alpha1"), "kind": "ClusterManagementAddOn",
            "metadata": {"name": "hidden-name"}, "spec": {"addOnMeta": {"description": "hidden-text"}, "installStrategy": strategy}});
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
            "kind": {"group": group, "version": "v1alpha1", "kind": "ClusterManagementAddOn"},
            "resource": {"group": group, "version": "v1alpha1", "resource": "clustermanagementaddons"},
            "name": "hidden-name", "operation": "CREATE", "userInfo": {"username": "hidden-user"},
            "object": object, "dryRun": true}});
        let body = review.to_string();
        let head = format!(
            "POST /validate HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\ntraceparent: {traceparent}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let tcp = TcpStream::connect(self.gate).await.expect("it listens");
        let config = trust(self.authority.ca_pem().as_bytes());
        let tls = TlsConnector::from(config)
            .connect(ServerName::from(self.gate.ip()), tcp)
            .await;
        let mut tls = tls.expect("a handshake");
        tls.write_all(&[head.into_bytes(), body.into_bytes()].concat())
            .await
            .expect("it reads");
        let answer = answer(&mut tls).await.expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    }

    /// How many spans had this end.
    fn counted(&self, outcome: &str) -> u64 {
        let (_, text) = page(&self.metrics, "/metrics").expect("metrics");
        let start = format!("tidegate_trace_spans_total{{outcome=\"{outcome}\"}} ");
        let found = text
            .lines()
            .find_map(|line| line.strip_prefix(&start)?.parse().ok());
        found.unwrap_or_default()
    }

    /// Ends by a signal; returns how long that took.
    fn end(mut self) -> Duration {
        let begun = Instant::now();
        self.program.signal("TERM");
        until("it ends", || {
            self.program.0.try_wait().expect("it can be waited for").is_some()
        });
        begun.elapsed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_belong_to_their_callers_and_say_little() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let collector = Collector::default();
    let url = format!("http://{}", collector.start().await);
    let traced = tokio::task::block_in_place(|| {
        Traced::start(folder.path(), &kubeconfig, &["--otlp", &url, "--otlp-ratio", "1"])
    });
    let answered = traced.asks(&format!("00-{TRACE}-{CALLER}-01")).await;
    assert_eq!(answered["response"]["allowed"], false, "{answered:#}");
    // Whom the caller does not trace is not traced.
    traced.asks(&format!("00-{}-{CALLER}-00", "1".repeat(32))).await;
    tokio::task::block_in_place(|| {
        let examples = repository("manifests/examples").to_string_lossy().into_owned();
        assert!(kubectl(&kubeconfig, &["apply", "-f", &examples], "").ok);
        until("spans come", || {
            !collector.spans("validate").is_empty() && !collector.spans("plan").is_empty()
        });
        assert!(traced.counted("sent") >= 2);
        assert_eq!((traced.counted("failed"), traced.counted("dropped")), (0, 0));
        traced.end();
    });
    let asked = collector.spans("validate");
    let [span] = &asked[..] else {
        panic!("one question is traced: {asked:#?}");
    };
    assert_eq!(hex(&span.trace_id), TRACE);
    assert_eq!(hex(&span.parent_span_id), CALLER);
    assert_eq!((span.span_id.len(), span.kind), (8, i32::from(SpanKind::Server)));
    assert!(span.end_time_unix_nano > span.start_time_unix_nano);
    assert_eq!(span.status, None, "a refusal is no fault");
    assert_eq!(
        facts(span),
        "tidegate.kind=ClusterManagementAddOn tidegate.operation=create tidegate.dry_run=true tidegate.decision=denied tidegate.rules=rollout/min-success-time"
    );
    let plans = collector.spans("plan");
    let installs = plans
        .iter()
        .find(|span| facts(span).contains("tidegate.outcome=whole"));
    let installs = installs.expect("an add-on was planned");
    assert!(installs.parent_span_id.is_empty());
    assert_eq!(installs.kind, i32::from(SpanKind::Internal));
    let services = collector.services.lock().expect("unpoisoned").join(" ");
    assert!(services.contains("service.name=tidegate"), "{services}");
    let all = collector
        .spans
        .lock()
        .expect("unpoisoned")
        .iter()
        .map(facts)
        .collect::<Vec<_>>()
        .join("\n");
    for word in ["hidden", "helloworld", "banana"] {
        assert!(!all.contains(word), "{word}: {all}");
    }
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_slow_or_gone_holds_up_no_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let slow = Collector {
        is_slow: true,
        ..Collector::default()
    };
    let urls = [
        format!("http://{}", slow.start().await),
        format!("http://{}", free_address()),
    ];
    for url in urls {
        let traced =
            tokio::task::block_in_place(|| Traced::start(folder.path(), &kubeconfig, &["--otlp", &url]));
        let begun = Instant::now();
        for _ in 0..20 {
            let answered = traced.asks(&format!("00-{TRACE}-{CALLER}-01")).await;
            assert_eq!(answered["response"]["allowed"], false, "{url}: {answered:#}");
        }
        let took = begun.elapsed();
        assert!(
            took < Duration::from_secs(5),
            "{url}: {took:?} for twenty answers"
        );
        tokio::task::block_in_place(|| {
            until("it is counted", || traced.counted("failed") > 0);
            let took = traced.end();
            assert!(took < Duration::from_secs(8), "{url}: the end took {took:?}");
        });
    }
    hub.shutdown().await;
}

#[test]
fn what_is_no_collector_is_refused_with_a_cure() {
    for (words, said) in [
        (["--otlp", "collector:4318"], "such as http://collector:4318"),
        (["--otlp", "http://me:secret@collector"], "no user and password"),
        (["--otlp-ratio", "0.5"], "--otlp"),
    ] {
        let ended = run(&[&["serve"], &words[..]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
    let bare = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args([
            "serve",
            "--otlp",
            "https://127.0.0.1:9",
            "--kubeconfig",
            "/nowhere",
        ])
        .env("SSL_CERT_FILE", "/nowhere")
        .env("SSL_CERT_DIR", "/nowhere")
        .output()
        .expect("it ends");
    let told = String::from_utf8_lossy(&bare.stderr);
    assert!(told.contains("SSL_CERT_FILE"), "{told}");
}
