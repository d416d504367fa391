//! `tidegate serve` on an existing hub: a dev hub without webhook and controllers until the program starts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use admission::{Endpoint, configurations, configurations_without_conditions};
use devhub::{DevHub, TestHub};
use serde_json::{Value, json};
use spokes::{Fleet, FleetOptions};
use tidegate::server::Authority;

use crate::addresses::free_address;
use crate::rig::{Dev, PATIENCE, certificate, defined_hub, kubectl, repository, run, tidegate};

#[tokio::test(flavor = "multi_thread")]
async fn it_guards_and_drives_a_hub_that_is_already_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let options = FleetOptions {
        clusters: 2,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(hub.client(), options)
        .await
        .expect("the clusters start");

    let minor = hub.minor().await.expect("a version");
    let (authority, chain, key) = certificate(folder.path());
    let mut program = Serve::start(&kubeconfig, &chain, &key);

    tokio::task::block_in_place(|| {
        let endpoint = Endpoint::Url(program.url.clone());
        let webhooks = if minor < 28 {
            configurations_without_conditions(&endpoint, Some(authority.ca_pem()))
        } else {
            configurations(&endpoint, Some(authority.ca_pem()))
        };
        guards_and_drives(&webhooks, &kubeconfig);
        program.end();
    });
    fleet.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_halves_run_as_two_processes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let options = FleetOptions {
        clusters: 2,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(hub.client(), options)
        .await
        .expect("the clusters start");
    let minor = hub.minor().await.expect("a version");
    let (authority, chain, key) = certificate(folder.path());
    tokio::task::block_in_place(|| {
        starts_with_a_full_standard_output(&kubeconfig, &[&chain, &key]);
        let words = ["--progressing-reasons", "ocm", "--metrics", "127.0.0.1:0"];
        let mut controllers = Serve::half("controllers", &kubeconfig, &words);
        let health = controllers.url.strip_prefix("controllers health=http://");
        let health = health.expect("no admission port is printed").to_owned();
        for path in ["healthz", "readyz"] {
            assert_eq!(page(&health, &format!("/{path}")), Some((200, "ok".to_owned())));
        }
        let files = [chain.to_string_lossy(), key.to_string_lossy()];
        let words = [
            "--bind",
            "127.0.0.1:0",
            "--linger",
            "0",
            "--certificate",
            &files[0],
            "--key",
            &files[1],
            "--metrics",
            "127.0.0.1:0",
        ];
        let mut gate = Serve::half("gate", &kubeconfig, &words);
        let told = gate.url.strip_prefix("gate=").expect("an address");
        let (url, metrics) = told
            .split_once(" metrics=http://")
            .expect("the metrics address is printed, too");
        let url = url.to_owned();
        assert_eq!(page(metrics, "/metrics").map(|(status, _)| status), Some(200));
        let endpoint = Endpoint::Url(url);
        let webhooks = if minor < 28 {
            configurations_without_conditions(&endpoint, Some(authority.ca_pem()))
        } else {
            configurations(&endpoint, Some(authority.ca_pem()))
        };
        guards_and_drives(&webhooks, &kubeconfig);
        gate.end();
        controllers.end();
    });
    fleet.shutdown().await;
    hub.shutdown().await;
}

#[test]
fn flags_of_the_other_half_are_refused() {
    for (args, flag) in [
        (["--only", "gate", "--elect", "tidegate/leader"], "--elect"),
        (
            ["--only", "controllers", "--certificate", "tls.crt"],
            "--certificate",
        ),
    ] {
        let ended = run(&[&["serve"], &args[..]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(
            ended.stderr.contains(flag) && ended.stderr.contains("remove it"),
            "{}",
            ended.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_runs_on_a_hub_that_is_already_there_and_leaves_no_gate_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hub = TestHub::of(DevHub::builder())
        .await
        .expect("a hub without any definition");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, hub.kubeconfig()).expect("writable");
    tokio::task::block_in_place(|| {
        let mut dev = Dev::start(&["--clusters", "2", "--hub", &kubeconfig.to_string_lossy()]);
        assert_eq!(
            dev.kubeconfig,
            kubeconfig.canonicalize().expect("it is there"),
            "the hub that was named"
        );
        dev.until_says("helloworld", "cluster2", "False", "InstallSucceed");
        let wrong = repository("manifests/examples/wrong/01-rollout.yaml");
        let wrong = ["apply", "-f", &wrong.to_string_lossy()];
        assert!(!dev.kubectl(&wrong).ok, "the gate is asked");
        assert!(dev.end("TERM").success());
        let hooks = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        let left = kubectl(&kubeconfig, &["get", hooks, "-o", "name"], "");
        assert!(left.ok, "{}", left.stderr);
        assert_eq!(left.stdout, "", "no webhook is configured any more");
    });
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dev_that_cannot_start_leaves_no_gate_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| {
        // The demo's namespace is terminating for as long as an object in it has a finalizer.
        let namespace = "open-cluster-management";
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": namespace, "finalizers": ["example.com/held"]}});
        let both = json!({"apiVersion": "v1", "kind": "List", "items": [space, held]}).to_string();
        for (args, stdin) in [
            (vec!["apply", "-f", "-"], both.as_str()),
            (vec!["delete", "namespace", namespace, "--wait=false"], ""),
        ] {
            let done = kubectl(&kubeconfig, &args, stdin);
            assert!(done.ok, "{}", done.stderr);
        }
        let state = folder.path().join("state").to_string_lossy().into_owned();
        let hub = kubeconfig.to_string_lossy();
        let ended = run(&["dev", "--clusters", "1", "--dir", &state, "--hub", &hub]);
        assert!(
            !ended.ok && ended.stderr.contains("being terminated"),
            "{}",
            ended.stderr
        );
        let hooks = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        let left = kubectl(&kubeconfig, &["get", hooks, "-o", "name"], "");
        assert!(
            left.ok && left.stdout.is_empty(),
            "{}{}",
            left.stdout,
            left.stderr
        );
    });
    hub.shutdown().await;
}

fn guards_and_drives(webhooks: &[Value], kubeconfig: &Path) {
    for configuration in webhooks {
        let registered = kubectl(kubeconfig, &["apply", "-f", "-"], &configuration.to_string());
        assert!(registered.ok, "{}", registered.stderr);
    }
    let right = kubectl(
        kubeconfig,
        &["apply", "-f", &repository("manifests/examples").to_string_lossy()],
        "",
    );
    assert!(right.ok, "{}", right.stderr);
    let wait = [
        "wait",
        "mca/helloworld",
        "-n",
        "cluster2",
        "--for=condition=Ready",
        "--timeout=60s",
    ];
    until("the add-on is ready", || kubectl(kubeconfig, &wait, "").ok);
    let reason = "-o=jsonpath={.status.conditions[?(@.type==\"Progressing\")].reason}";
    let said = kubectl(
        kubeconfig,
        &["get", "mca", "helloworld", "-n", "cluster2", reason],
        "",
    );
    assert_eq!(said.stdout, "Completed", "the words that were asked for");
    let wrong = repository("manifests/examples/wrong/01-rollout.yaml");
    let wrong = kubectl(kubeconfig, &["apply", "-f", &wrong.to_string_lossy()], "");
    assert!(
        !wrong.ok && wrong.stderr.contains("[rollout/min-success-time]"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_missing_certificate_or_hub_is_said_in_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = folder.path().join("none.crt").to_string_lossy().into_owned();
    let ended = run(&["serve", "--certificate", &missing, "--bind", "127.0.0.1:0"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("none.crt") && ended.stderr.trim().lines().count() == 1,
        "{}",
        ended.stderr
    );

    let (_, chain, key) = certificate(folder.path());
    let nowhere = folder.path().join("no-kubeconfig").to_string_lossy().into_owned();
    let files = [chain.to_string_lossy(), key.to_string_lossy()];
    let ended = run(&[
        "serve",
        "--certificate",
        &files[0],
        "--key",
        &files[1],
        "--kubeconfig",
        &nowhere,
    ]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no-kubeconfig") && ended.stderr.trim().lines().count() == 1,
        "{}",
        ended.stderr
    );
}

#[test]
fn swapped_files_are_reported_with_their_content_and_all_other_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let authority = Authority::generate().expect("an authority");
    authority
        .issue(["127.0.0.1"])
        .expect("a certificate")
        .write(Path::new(&path("tls.crt")), Path::new(&path("tls.key")))
        .expect("writable");
    std::fs::write(path("ca.crt"), "no certificate").expect("writable");
    let ended = run(&[
        "serve",
        "--certificate",
        &path("tls.key"),
        "--key",
        &path("tls.crt"),
        "--client-ca",
        &path("ca.crt"),
        "--kubeconfig",
        &path("no-kubeconfig"),
        "--enforcement",
        &path("no-enforcement"),
    ]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let said = [
        format!(
            "\"{}\" contains a private key instead of a certificate",
            path("tls.key")
        ),
        format!(
            "\"{}\" contains a certificate instead of a private key",
            path("tls.crt")
        ),
        "--certificate and --key are swapped".to_owned(),
        path("ca.crt"),
        path("no-kubeconfig"),
        path("no-enforcement"),
    ];
    for words in said {
        assert!(ended.stderr.contains(&words), "{words}: {}", ended.stderr);
    }
    assert_eq!(ended.stderr.trim().lines().count(), 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains("BEGIN"), "{}", ended.stderr);
}

/// Starts `tidegate serve`; returns it, and what it says behind `READY`.
pub(crate) fn serving(command: &mut Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout is piped"))
        .read_line(&mut line)
        .expect("it prints a line");
    let told = line.trim().strip_prefix("READY ").map(str::to_owned);
    (child, told.expect("it says that it is ready"))
}

/// Returns the status and the text of a page on plain HTTP.
pub(crate) fn page(address: &str, path: &str) -> Option<(u16, String)> {
    let mut tcp = TcpStream::connect(address).ok()?;
    tcp.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(tcp, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").ok()?;
    let mut all = String::new();
    tcp.read_to_string(&mut all).ok()?;
    let status = all.split(' ').nth(1)?.parse().ok()?;
    let (_, text) = all.split_once("\r\n\r\n")?;
    Some((status, text.trim().to_owned()))
}

/// A full disk behind standard output keeps no part from starting, and ends none.
fn starts_with_a_full_standard_output(kubeconfig: &Path, [chain, key]: &[&Path; 2]) {
    let (chain, key) = (chain.to_string_lossy(), key.to_string_lossy());
    let of_gate = [
        "--bind",
        "127.0.0.1:0",
        "--linger",
        "0",
        "--certificate",
        &chain,
        "--key",
        &key,
    ];
    for (only, words) in [("controllers", &[][..]), ("gate", &of_gate[..])] {
        let health = free_address().to_string();
        let full = std::fs::File::create("/dev/full").expect("Linux has it");
        let mut command = tidegate();
        let command = command.args(["serve", "--only", only, "--health", &health, "--kubeconfig"]);
        let command = command.arg(kubeconfig).args(words).stdout(full);
        let mut program = Serve {
            child: command.spawn().expect("the binary starts"),
            url: String::new(),
        };
        until("it is ready", || {
            assert_eq!(
                program.child.try_wait().expect("a child"),
                None,
                "{only} has ended"
            );
            page(&health, "/readyz") == Some((200, "ok".to_owned()))
        });
        // Standard output is written when it is ready.
        std::thread::sleep(Duration::from_millis(300));
        program.end();
    }
}

/// A running `tidegate serve`; ended when dropped.
pub(crate) struct Serve {
    child: Child,
    pub(crate) url: String,
}

impl Serve {
    pub(crate) fn start(kubeconfig: &Path, chain: &Path, key: &Path) -> Self {
        Self::start_at("127.0.0.1:0", kubeconfig, chain, key)
    }

    /// Starts one half; `url` is what it says behind `READY`.
    pub(crate) fn half(only: &str, kubeconfig: &Path, rest: &[&str]) -> Self {
        let (child, url) = serving(
            tidegate()
                .args(["serve", "--only", only, "--kubeconfig"])
                .arg(kubeconfig)
                .args(rest),
        );
        Self { child, url }
    }

    pub(crate) fn start_at(bind: &str, kubeconfig: &Path, chain: &Path, key: &Path) -> Self {
        let (child, told) = serving(
            tidegate()
                .args(["serve", "--bind", bind, "--linger", "0"])
                .args(["--progressing-reasons", "ocm", "--kubeconfig"])
                .arg(kubeconfig)
                .arg("--certificate")
                .arg(chain)
                .arg("--key")
                .arg(key),
        );
        let url = told.strip_prefix("gate=").expect("an address").to_owned();
        Self { child, url }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn end(&mut self) {
        let sent = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .expect("kill is there");
        assert!(sent.success());
        let mut status = None;
        until("the program ends", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        assert_eq!(status.and_then(|status| status.code()), Some(0));
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
