//! `tidegate serve` on a hub without Open Cluster Management: it waits, logs for what, and continues when the CRDs exist. It also
//! reports edited webhooks.
//!
//! READY must not be printed before the fleet was read.

use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use devhub::{DevHub, TestHub};
use tidegate::server::Authority;

use crate::addresses::free_address;
use crate::reads::Reader;
use crate::rig::{defined_hub, kubectl, run, tidegate};
use crate::serve::{page, until};

/// The program, and what it has printed.
struct Program {
    child: Child,
    printed: Arc<Mutex<String>>,
    log: Arc<Mutex<String>>,
}

fn follow(stream: impl std::io::Read + Send + 'static) -> Arc<Mutex<String>> {
    let all = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&all);
    std::thread::spawn(move || {
        for line in std::io::BufReader::new(stream).lines().map_while(Result::ok) {
            let mut all = into.lock().expect("unpoisoned");
            all.push_str(&line);
            all.push('\n');
        }
    });
    all
}

impl Program {
    fn start(kubeconfig: &Path, flags: &[&str]) -> Self {
        let mut child = tidegate()
            .args(["serve", "--kubeconfig"])
            .arg(kubeconfig)
            .args(flags)
            .env("TIDEGATE_LOG", "info")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let printed = follow(child.stdout.take().expect("stdout is piped"));
        let log = follow(child.stderr.take().expect("stderr is piped"));
        Self { child, printed, log }
    }

    fn printed(&self) -> String {
        self.printed.lock().expect("unpoisoned").clone()
    }

    fn log(&self) -> String {
        self.log.lock().expect("unpoisoned").clone()
    }

    /// Waits until the log has these words, and asserts that it has them once. The log has a thread of its own, and comes later
    /// than what a page already says.
    fn tells_once(&self, words: &str) {
        until(words, || self.log().contains(words));
        let log = self.log();
        assert_eq!(log.matches(words).count(), 1, "{log}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn files(folder: &Path) -> [String; 2] {
    let authority = Authority::generate().expect("an authority");
    let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
    issued.write(&chain, &key).expect("writable");
    [chain, key].map(|path| path.to_string_lossy().into_owned())
}

fn waits(program: &Program, health: &str) {
    until("it names what is missing", || {
        page(health, "/readyz").is_some_and(|(status, text)| {
            let words = [
                "the hub does not serve",
                "managedclusters",
                "install Open Cluster Management",
            ];
            status == 503 && words.iter().all(|word| text.contains(word))
        })
    });
    assert_eq!(page(health, "/healthz"), Some((200, "ok".to_owned())), "it lives");
    until("the log says so", || {
        program.log().contains("waiting for them: install it")
    });
    assert_eq!(program.printed(), "", "READY is not printed");
}

fn others_say_so(kubeconfig: &str) {
    let doctor = run(&["doctor", "--kubeconfig", kubeconfig]);
    assert_eq!(doctor.code, Some(1), "{}", doctor.stdout);
    let words = ["error    ocm/definitions", "clusteradm init"];
    assert!(
        words.iter().all(|word| doctor.stdout.contains(word)),
        "{}",
        doctor.stdout
    );
    let preflight = run(&[
        "serve",
        "--preflight",
        "--only",
        "controllers",
        "--kubeconfig",
        kubeconfig,
    ]);
    assert_eq!(preflight.code, Some(2), "{}", preflight.stderr);
    let words = ["ocm/definitions", "not ready for Tidegate"];
    assert!(
        words.iter().all(|word| preflight.stderr.contains(word)),
        "{}",
        preflight.stderr
    );
}

/// A kind that is no longer served is reported, while its last known objects are still used; so is its return.
fn goes_and_comes(kubeconfig: &Path, (programs, healths): (&[Program], &[String]), definitions: &str) {
    let placements = "placements.cluster.open-cluster-management.io";
    assert!(kubectl(kubeconfig, &["delete", "crd", placements], "").ok);
    for (program, health) in programs.iter().zip(healths) {
        until("it says what has gone", || {
            page(health, "/readyz")
                .is_some_and(|(status, text)| status == 200 && text.contains("no longer serves placements"))
        });
        program.tells_once("a required kind is no longer served");
    }
    let again = kubectl(kubeconfig, &["apply", "--server-side", "-f", "-"], definitions);
    assert!(again.ok, "{}", again.stderr);
    for health in healths {
        until("it is back", || {
            page(health, "/readyz") == Some((200, "ok".to_owned()))
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_the_kinds_says_so_once_and_goes_on_without_a_restart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hub = TestHub::of(DevHub::builder())
        .await
        .expect("a hub without any definition");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, hub.kubeconfig()).expect("writable");
    let [chain, key] = files(folder.path());
    tokio::task::block_in_place(|| {
        let healths = [free_address(), free_address()].map(|one| one.to_string());
        let gate = [
            "--only",
            "gate",
            "--bind",
            "127.0.0.1:0",
            "--certificate",
            &chain,
            "--key",
            &key,
            "--health",
            &healths[0],
        ];
        let controllers = ["--only", "controllers", "--metrics", &healths[1]];
        let programs = [
            Program::start(&kubeconfig, &gate),
            Program::start(&kubeconfig, &controllers),
        ];
        for (program, health) in programs.iter().zip(&healths) {
            waits(program, health);
        }
        let file = kubeconfig.to_string_lossy();
        others_say_so(&file);
        let definitions = run(&["crds", "--for-hub-without-ocm", "--kubeconfig", &file]);
        let applied = kubectl(
            &kubeconfig,
            &["apply", "--server-side", "-f", "-"],
            &definitions.stdout,
        );
        assert!(applied.ok, "{}", applied.stderr);
        for (program, health) in programs.iter().zip(&healths) {
            until("it is ready", || program.printed().starts_with("READY "));
            assert_eq!(page(health, "/readyz"), Some((200, "ok".to_owned())));
            until("the log says so", || program.log().contains("are available"));
            program.tells_once("waiting for them: install it");
        }
        goes_and_comes(&kubeconfig, (&programs, &healths), &definitions.stdout);
    });
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_preflight_starts_and_edited_webhooks_are_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| {
        let metrics = free_address().to_string();
        let flags = ["--preflight", "--only", "controllers", "--metrics", &metrics];
        let program = Program::start(&kubeconfig, &flags);
        until("it is ready", || program.printed().starts_with("READY "));
        until("the log has its findings", || {
            program.log().contains("rights/account")
        });
        let text = || {
            page(&metrics, "/metrics")
                .map(|(_, text)| text)
                .unwrap_or_default()
        };
        let says = |line: &str| text().lines().any(|found| found == line);
        until("nothing is registered yet", || {
            says("tidegate_webhook_faults{fault=\"missing\"} 3")
        });
        let endpoint = admission::Endpoint::Url("https://127.0.0.1:9".to_owned());
        for configuration in admission::configurations(&endpoint, None) {
            let applied = kubectl(&kubeconfig, &["apply", "-f", "-"], &configuration.to_string());
            assert!(applied.ok, "{}", applied.stderr);
        }
        until("they are registered", || {
            says("tidegate_webhook_faults{fault=\"missing\"} 0")
        });
        let patch = r#"[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]"#;
        let edit = [
            "patch",
            "validatingwebhookconfiguration",
            "tidegate-guard",
            "--type=json",
            "-p",
            patch,
        ];
        assert!(kubectl(&kubeconfig, &edit, "").ok);
        until("an edited webhook is reported", || {
            says("tidegate_webhook_faults{fault=\"edited\"} 1")
        });
        until("the log names it", || {
            program
                .log()
                .contains("failurePolicy of webhook guard.gate.tidegate.io")
        });
        Reader::of(&kubeconfig).until("an event says so", &["events", "-A"], |events| {
            let text = events.to_string();
            text.contains("WebhookAltered") && text.contains("tidegate-guard")
        });
        let lines = [
            "tidegate_watch_silence_seconds{kind=\"ClusterManagementAddOn\"} ",
            "tidegate_facts_age_seconds ",
        ];
        assert!(
            lines.iter().all(|line| text().contains(line)),
            "silence is measured: {}",
            text()
        );
    });
    hub.shutdown().await;
}
