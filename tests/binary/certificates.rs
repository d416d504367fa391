//! Self-signed certificates in a cluster (`cert_manager` tests the other way).
//!
//! Requests are sent all the time, on new connections, by clients that trust the CA bundle of the webhook configurations and
//! observe it late. None of them may fail.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use devhub::TestHub;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::addresses::free_address;
use crate::rig::{defined_hub, kubectl, repository, run, tidegate};
use crate::serve::{Serve, page, serving, until};

/// How late callers hear of a new bundle; a webhook configuration takes less to an API server.
const LATE: Duration = Duration::from_millis(300);
/// Questions on a connection before the next is opened.
const QUESTIONS: u32 = 10;

/// How many questions a second; more by hand than beside other tests.
fn rate() -> u64 {
    let asked = std::env::var("TIDEGATE_ROTATION_RATE").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(100)
}

/// Whom callers trust, as the webhook configuration says it, late.
pub(crate) async fn follow_bundle(hub: &TestHub) -> watch::Receiver<Arc<ClientConfig>> {
    let client = hub.client();
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/tidegate-guard";
    let read = move || {
        let client = client.clone();
        async move {
            let request = http::Request::get(path).body(Vec::new()).expect("a request");
            let object: Value = client.request(request).await.ok()?;
            let bundle = object.pointer("/webhooks/0/clientConfig/caBundle")?.as_str()?;
            STANDARD.decode(bundle).ok()
        }
    };
    let mut bundle = None;
    let begun = Instant::now();
    while bundle.is_none() {
        assert!(
            begun.elapsed() < crate::rig::PATIENCE,
            "no CA bundle was published"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
        bundle = read().await;
    }
    let mut bundle = bundle.expect("just seen");
    // The hub hears of it late, as callers do.
    tokio::time::sleep(LATE).await;
    let (told, followed) = watch::channel(trust(&bundle));
    tokio::spawn(async move {
        while !told.is_closed() {
            tokio::time::sleep(LATE).await;
            if let Some(now) = read().await
                && now != bundle
            {
                tokio::time::sleep(LATE).await;
                told.send_replace(trust(&now));
                bundle = now;
            }
        }
    });
    followed
}

pub(crate) fn trust(bundle: &[u8]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(bundle) {
        roots.add(authority.expect("an authority")).expect("an authority");
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    // Every connection looks at a certificate.
    config.resumption = rustls::client::Resumption::disabled();
    Arc::new(config)
}

/// What callers met.
#[derive(Clone, Default)]
pub(crate) struct Met {
    answers: Arc<AtomicU64>,
    handshakes: Arc<AtomicU64>,
    pub(crate) failures: Arc<Mutex<Vec<String>>>,
    certificates: Arc<Mutex<BTreeSet<Vec<u8>>>>,
}

impl Met {
    pub(crate) fn certificates(&self) -> usize {
        self.certificates.lock().expect("no thread panics").len()
    }

    fn fails(&self, words: String) {
        self.failures.lock().expect("no thread panics").push(words);
    }
}

fn question() -> Vec<u8> {
    let group = "addon.open-cluster-management.io";
    let object = json!({"apiVersion": format!("{group}/v1alpha1"), "kind": "AddOnDeploymentConfig",
        "metadata": {"name": "x", "namespace": "default"}, "spec": {"customizedVariables": [{"name": "A", "value": "b"}]}});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
        "kind": {"group": group, "version": "v1alpha1", "kind": "AddOnDeploymentConfig"},
        "resource": {"group": group, "version": "v1alpha1", "resource": "addondeploymentconfigs"},
        "name": "x", "namespace": "default", "operation": "CREATE", "userInfo": {"username": "user"},
        "object": object, "dryRun": false}});
    let body = review.to_string();
    let head = format!(
        "POST /validate HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// Sends a request on a new connection; `Err` contains what failed.
async fn ask_some(
    gate: SocketAddr,
    config: Arc<ClientConfig>,
    pace: Duration,
    met: &Met,
) -> Result<(), String> {
    let tcp = TcpStream::connect(gate)
        .await
        .map_err(|error| error.to_string())?;
    tcp.set_nodelay(true).map_err(|error| error.to_string())?;
    let name = ServerName::from(gate.ip());
    let tls = TlsConnector::from(config).connect(name, tcp).await;
    let mut tls = tls.map_err(|error| format!("handshake: {error}"))?;
    met.handshakes.fetch_add(1, Ordering::Relaxed);
    let leaf = tls
        .get_ref()
        .1
        .peer_certificates()
        .and_then(|chain| chain.first());
    let leaf = leaf.map(|leaf| leaf.to_vec()).unwrap_or_default();
    met.certificates.lock().expect("no thread panics").insert(leaf);
    let question = question();
    for _ in 0..QUESTIONS {
        let due = tokio::time::Instant::now() + pace;
        tls.write_all(&question)
            .await
            .map_err(|error| error.to_string())?;
        let answer = answer(&mut tls).await?;
        if !answer.contains("\"allowed\":true") {
            return Err(answer);
        }
        met.answers.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep_until(due).await;
    }
    Ok(())
}

/// Reads one answer with a length.
pub(crate) async fn answer(tls: &mut TlsStream<TcpStream>) -> Result<String, String> {
    let mut text = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let read = tls.read(&mut buffer).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err("the connection ended".to_owned());
        }
        text.extend_from_slice(&buffer[..read]);
        let all = String::from_utf8_lossy(&text);
        let Some((head, body)) = all.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        });
        if body.len() >= length.unwrap_or(usize::MAX) {
            return Ok(all.into_owned());
        }
    }
}

/// Sends requests to these webhooks at a rate until it is stopped.
pub(crate) fn load(
    gates: &[SocketAddr],
    config: &watch::Receiver<Arc<ClientConfig>>,
    met: &Met,
) -> Vec<tokio::task::JoinHandle<()>> {
    const CALLERS: u64 = 8;
    let pace = Duration::from_micros(1_000_000 * CALLERS / rate());
    let callers = (0..CALLERS).map(|at| {
        let gate = gates[usize::try_from(at).expect("few") % gates.len()];
        let (config, met) = (config.clone(), met.clone());
        tokio::spawn(async move {
            loop {
                let trusted = Arc::clone(&config.borrow());
                if let Err(words) = ask_some(gate, trusted, pace, &met).await {
                    met.fails(format!("{gate}: {words}"));
                    tokio::time::sleep(pace).await;
                }
            }
        })
    });
    callers.collect()
}

/// Asks by way of the hub, which fails with the gate.
pub(crate) fn load_hub(hub: &TestHub, met: &Met) -> tokio::task::JoinHandle<()> {
    let (client, met) = (hub.client(), met.clone());
    tokio::spawn(async move {
        let object = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnDeploymentConfig",
            "metadata": {"name": "x", "namespace": "default"}, "spec": {}});
        loop {
            let path = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/default/addondeploymentconfigs?dryRun=All";
            let request = http::Request::post(path).header("content-type", "application/json");
            let request = request.body(object.to_string().into_bytes()).expect("a request");
            match client.request::<Value>(request).await {
                Ok(_) => met.answers.fetch_add(1, Ordering::Relaxed),
                Err(error) => {
                    met.fails(format!("by the hub: {error}"));
                    0
                }
            };
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    })
}

pub(crate) fn apply(kubeconfig: &Path, manifest: &str) {
    let applied = kubectl(kubeconfig, &["apply", "-f", "-"], manifest);
    assert!(applied.ok, "{}", applied.stderr);
}

/// The webhooks for a gate at this address; what fails is seen, whatever webhook it is.
pub(crate) fn webhooks(gate: SocketAddr) -> String {
    let printed = run(&["reference", "webhooks", "--url", &format!("https://{gate}")]);
    assert!(printed.ok, "{}", printed.stderr);
    printed
        .stdout
        .replace("failurePolicy: Ignore", "failurePolicy: Fail")
}

const SECRET: &str = "--certificate-secret=tidegate/tidegate-tls";

pub(crate) fn gate(kubeconfig: &Path, bind: SocketAddr, way: &str) -> Serve {
    let (bind, way) = (bind.to_string(), format!("--certificates={way}"));
    let words = [
        "--bind",
        &bind,
        "--linger",
        "0",
        &way,
        SECRET,
        "--certificate-name=127.0.0.1",
    ];
    Serve::half("gate", kubeconfig, &words)
}

fn keeper(kubeconfig: &Path, life: &str) -> Serve {
    let words = [SECRET, "--certificate-name=127.0.0.1", "--certificate-life", life];
    Serve::half("certificates", kubeconfig, &words)
}

pub(crate) async fn scene(folder: &Path) -> (TestHub, PathBuf) {
    let (hub, kubeconfig) = defined_hub(folder).await;
    let secret = repository("manifests/deploy/components/self-managed/secret.yaml");
    let secret = std::fs::read_to_string(secret).expect("the Secret");
    tokio::task::block_in_place(|| {
        apply(
            &kubeconfig,
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: tidegate}\n",
        );
        apply(&kubeconfig, &secret);
    });
    (hub, kubeconfig)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_question_fails_while_certificates_rotate() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = scene(folder.path()).await;
    let gates = [free_address(), free_address()];
    let (keeper, replicas) = tokio::task::block_in_place(|| {
        let keeper = keeper(&kubeconfig, "12s");
        let replicas = gates.map(|bind| gate(&kubeconfig, bind, "self-managed"));
        apply(&kubeconfig, &webhooks(gates[0]));
        (keeper, replicas)
    });
    let config = follow_bundle(&hub).await;
    let met = Met::default();
    let mut callers = load(&gates, &config, &met);
    callers.push(load_hub(&hub, &met));
    let begun = Instant::now();
    // The first certificate, and three that took its place.
    while met.certificates() < 4 && met.failures.lock().expect("no thread panics").is_empty() {
        assert!(
            begun.elapsed() < Duration::from_mins(2),
            "{} certificates",
            met.certificates()
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    let (answers, handshakes) = (
        met.answers.load(Ordering::Relaxed),
        met.handshakes.load(Ordering::Relaxed),
    );
    println!(
        "{answers} answers on {handshakes} connections in {:.1} s, {} certificates",
        begun.elapsed().as_secs_f64(),
        met.certificates()
    );
    assert_eq!(
        *met.failures.lock().expect("no thread panics"),
        Vec::<String>::new()
    );
    assert!(
        answers > begun.elapsed().as_secs() * rate() / 2,
        "{answers} answers"
    );
    drop((keeper, replicas));
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_question_fails_while_a_secret_is_damaged_and_healed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = scene(folder.path()).await;
    let bind = free_address();
    let running = tokio::task::block_in_place(|| {
        let keeper = keeper(&kubeconfig, "2160h");
        let gate = gate(&kubeconfig, bind, "self-managed");
        apply(&kubeconfig, &webhooks(bind));
        (keeper, gate)
    });
    let config = follow_bundle(&hub).await;
    let met = Met::default();
    let mut callers = load(&[bind], &config, &met);
    callers.push(load_hub(&hub, &met));
    let damages: [&[&str]; 3] = [
        &[
            "patch",
            "secret",
            "tidegate-tls",
            "-n",
            "tidegate",
            "--type=merge",
            "-p",
            r#"{"data":{"tls.key":"Z2FyYmFnZQ=="}}"#,
        ],
        &[
            "patch",
            "secret",
            "tidegate-tls",
            "-n",
            "tidegate",
            "--type=json",
            "-p",
            r#"[{"op":"remove","path":"/data"}]"#,
        ],
        &["delete", "secret", "tidegate-tls", "-n", "tidegate"],
    ];
    for damage in damages {
        let seen = met.certificates();
        let done = tokio::task::block_in_place(|| kubectl(&kubeconfig, damage, ""));
        assert!(done.ok, "{}", done.stderr);
        let begun = Instant::now();
        while met.certificates() == seen {
            assert!(
                begun.elapsed() < crate::rig::PATIENCE,
                "{damage:?}: it is never healed"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(
        *met.failures.lock().expect("no thread panics"),
        Vec::<String>::new()
    );
    drop(running);
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_without_a_certificate_says_what_it_waits_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = scene(folder.path()).await;
    tokio::task::block_in_place(|| {
        let health = free_address().to_string();
        let mut command = tidegate();
        command
            .args([
                "serve",
                "--only",
                "gate",
                "--bind",
                "127.0.0.1:0",
                "--linger",
                "0",
                "--health",
                &health,
            ])
            .args([
                "--certificates",
                "self-managed",
                SECRET,
                "--certificate-name=127.0.0.1",
                "--kubeconfig",
            ])
            .arg(&kubeconfig);
        let waiting = std::thread::spawn(move || serving(&mut command));
        let told = "waiting for a certificate: Secret tidegate/tidegate-tls: no certificate yet";
        until("the probe says it", || {
            page(&health, "/readyz") == Some((503, told.to_owned()))
        });
        let keeper = keeper(&kubeconfig, "24h");
        let (mut gate, _) = waiting.join().expect("it comes up");
        until("it is ready", || {
            page(&health, "/readyz") == Some((200, "ok".to_owned()))
        });
        gate.kill().expect("it ends");
        gate.wait().expect("it has ended");
        drop(keeper);
    });
    hub.shutdown().await;
}
