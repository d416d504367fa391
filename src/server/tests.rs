//! The serving path over real sockets: each limit, the protocols, the certificate, panics and shutdown.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::gate::{Gate, GateOptions};
use super::routes::Decide;
use super::{Authority, JsonBounds, Limits};
use crate::admission::{Request, Verdict, decide};
use crate::snapshot::Facts;

struct Rig {
    gate: Gate,
    authority: Authority,
    facts: Arc<ArcSwap<Facts>>,
}

impl Rig {
    async fn start(limits: Limits) -> Self {
        Self::deciding(limits, decide).await
    }

    async fn deciding(limits: Limits, decide: Decide) -> Self {
        let authority = Authority::generate().expect("an authority");
        let certificate = authority
            .issue(["localhost"])
            .expect("a certificate")
            .certificate()
            .clone();
        let facts = Arc::new(ArcSwap::from_pointee(Facts::default().completed()));
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = GateOptions {
            bind,
            certificate,
            facts: Arc::clone(&facts),
        };
        let gate = Gate::start_deciding(options, limits, decide)
            .await
            .expect("the gate starts");
        Self {
            gate,
            authority,
            facts,
        }
    }

    fn connector(&self, alpn: &[&[u8]]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.authority.ca_pem().as_bytes()).expect("a certificate");
        roots.add(ca).expect("an authority");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }

    async fn tls(&self, alpn: &[&[u8]]) -> TlsStream<TcpStream> {
        let tcp = TcpStream::connect(self.gate.address())
            .await
            .expect("a connection");
        let name = ServerName::try_from("localhost").expect("a name");
        self.connector(alpn)
            .connect(name, tcp)
            .await
            .expect("a handshake")
    }

    async fn send(&self, request: http::Request<Full<Bytes>>) -> (u16, String) {
        let io = TokioIo::new(self.tls(&[b"http/1.1"]).await);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        let response = sender.send_request(request).await.expect("a response");
        read(response).await
    }

    async fn post(&self, path: &str, body: impl Into<Bytes>) -> (u16, String) {
        self.send(post(path, body)).await
    }
}

async fn read(response: http::Response<hyper::body::Incoming>) -> (u16, String) {
    let status = response.status().as_u16();
    let body = response
        .into_body()
        .collect()
        .await
        .expect("a whole body")
        .to_bytes();
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

fn post(path: &str, body: impl Into<Bytes>) -> http::Request<Full<Bytes>> {
    http::Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .expect("a request")
}

fn get(path: &str) -> http::Request<Full<Bytes>> {
    http::Request::get(path)
        .header("host", "localhost")
        .body(Full::new(Bytes::new()))
        .expect("a request")
}

fn review(spec: &Value) -> Vec<u8> {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "helloworld", "namespace": "cluster1"},
        "spec": spec,
    });
    let resource = json!({
        "group": "addon.open-cluster-management.io", "version": "v1alpha1", "resource": "managedclusteraddons",
    });
    let request = json!({
        "uid": "u-1", "operation": "CREATE", "name": "helloworld", "namespace": "cluster1",
        "kind": {"group": "addon.open-cluster-management.io", "version": "v1alpha1", "kind": "ManagedClusterAddOn"},
        "resource": resource, "object": object,
    });
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    serde_json::to_vec(&review).expect("JSON")
}

fn quick() -> Limits {
    Limits {
        drain: Duration::from_secs(2),
        ..Limits::default()
    }
}

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
        "install/namespace,naming/unknown-addon"
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
async fn an_addition_travels_as_a_json_patch() {
    use crate::snapshot::AddonFacts;
    let rig = Rig::start(quick()).await;
    let addon = json!({"installStrategy": {"type": "Placements", "placements": [
        {"namespace": "default", "name": "all", "addonSpec": {"installNamespace": "agents"}}]}});
    let addon = AddonFacts::of(&serde_json::from_value(addon).expect("a wire type"));
    let facts = Facts::default().completed().with_addon("helloworld", addon);
    rig.facts
        .store(Arc::new(facts.with_placement("default", "all", ["cluster1"])));
    let (_, body) = rig.post("/mutate?timeout=2s", review(&json!({}))).await;
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(answer["response"]["patchType"], "JSONPatch");
    use base64::Engine as _;
    let patch = answer["response"]["patch"].as_str().expect("a patch");
    let patch = base64::engine::general_purpose::STANDARD
        .decode(patch)
        .expect("base64");
    let patch: Value = serde_json::from_slice(&patch).expect("JSON");
    assert_eq!(
        patch,
        json!([{"op": "add", "path": "/spec/installNamespace", "value": "agents"}])
    );
}

#[tokio::test]
async fn what_is_no_question_gets_a_plain_answer() {
    let rig = Rig::start(quick()).await;
    assert_eq!(
        rig.post("/validate", "").await,
        (400, "the body is empty\n".into())
    );
    assert_eq!(
        rig.post("/validate", "{").await,
        (400, "the body is no AdmissionReview\n".into())
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

#[tokio::test]
async fn a_body_over_the_cap_is_refused_whether_or_not_it_says_so() {
    let limits = Limits {
        body_bytes: 64,
        ..quick()
    };
    let rig = Rig::start(limits).await;
    let too_large = (413, "the body is too large\n".to_owned());
    assert_eq!(rig.post("/validate", vec![b' '; 65]).await, too_large);
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

#[tokio::test]
async fn json_beyond_its_bounds_is_refused_before_it_is_parsed() {
    let json = JsonBounds {
        depth: 8,
        ..JsonBounds::default()
    };
    let rig = Rig::start(Limits { json, ..quick() }).await;
    let deep = format!("{}{}", "[".repeat(9), "]".repeat(9));
    assert_eq!(
        rig.post("/validate", deep).await,
        (400, "the body nests too deep\n".into())
    );
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
    let dribble = async {
        for byte in b"POST /validate HTTP/1.1\r\nhost: localhost\r\nx-slow: 0123456789"
            .iter()
            .cycle()
        {
            if stream.write_all(&[*byte]).await.is_err() || stream.flush().await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), dribble)
        .await
        .expect("the dribbling caller was hung up on");
}

#[tokio::test]
async fn a_connection_may_rest_longer_than_a_head_may_take() {
    let rig = Rig::start(Limits {
        head: Duration::from_millis(100),
        ..quick()
    })
    .await;
    let io = TokioIo::new(rig.tls(&[b"http/1.1"]).await);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("HTTP/1.1");
    tokio::spawn(connection);
    for _ in 0..3 {
        let response = sender
            .send_request(get("/healthz"))
            .await
            .expect("the connection is still open");
        assert_eq!(read(response).await.0, 200);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

#[tokio::test]
async fn a_resting_connection_is_closed_in_the_end() {
    let rig = Rig::start(Limits {
        idle: Duration::from_millis(200),
        ..quick()
    })
    .await;
    let mut stream = rig.tls(&[b"http/1.1"]).await;
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .expect("sent");
    let mut all = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut all)).await;
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
async fn connections_beyond_the_limit_wait_for_a_place() {
    let rig = Rig::start(Limits {
        connections: 1,
        ..quick()
    })
    .await;
    let mut first = rig.tls(&[b"http/1.1"]).await;
    let second = tokio::time::timeout(Duration::from_millis(200), rig.tls(&[b"http/1.1"]));
    assert!(second.await.is_err(), "there is one place");
    first.shutdown().await.expect("closed");
    drop(first);
    let second = tokio::time::timeout(Duration::from_secs(5), rig.tls(&[b"http/1.1"]));
    assert!(second.await.is_ok(), "the place is free again");
}

fn slow(_: &Request<'_>, _: &Facts) -> Verdict {
    std::thread::sleep(Duration::from_millis(600));
    Verdict::pass()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_beyond_the_limit_are_shed() {
    let limits = Limits {
        concurrent: 1,
        waiting: 1,
        patience: Duration::from_millis(50),
        ..quick()
    };
    let rig = Rig::deciding(limits, slow).await;
    let ask = || rig.post("/validate", review(&json!({})));
    let answers = tokio::join!(ask(), ask(), ask());
    let mut statuses = [answers.0.0, answers.1.0, answers.2.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 429, 429]);
}

fn panicking(_: &Request<'_>, _: &Facts) -> Verdict {
    panic!("a rule with a bug");
}

#[tokio::test]
async fn a_panic_answers_500_with_the_uid_and_harms_nobody_else() {
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
    rig.gate.swap_certificate(next.certificate());
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
    assert_eq!(
        rig.send(get("/readyz")).await,
        (503, "still reading the fleet\n".into())
    );
    assert_eq!(rig.send(get("/healthz")).await.0, 200);
}

fn unhurried(_: &Request<'_>, _: &Facts) -> Verdict {
    std::thread::sleep(Duration::from_millis(300));
    Verdict::pass()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_answers_what_was_asked_and_takes_nothing_new() {
    let Rig {
        gate,
        authority,
        facts,
    } = Rig::deciding(quick(), unhurried).await;
    let address = gate.address();
    let rig = Rig {
        gate,
        authority,
        facts,
    };
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
    tokio::time::sleep(Duration::from_millis(100)).await;
    rig.gate.shutdown().await;
    assert_eq!(asked.await.expect("no panic"), 200);
    assert!(
        TcpStream::connect(address).await.is_err(),
        "nobody listens any more"
    );
}

async fn ended(tcp: &mut TcpStream) -> usize {
    let mut byte = [0; 1];
    let read = tokio::time::timeout(Duration::from_secs(5), tcp.read(&mut byte)).await;
    read.expect("the connection ends").unwrap_or(0)
}
