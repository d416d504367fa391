//! The start and the end of `tidegate serve`, as load balancers and the API server observe them.
//!
//! On a slow hub the controllers take time to end: readiness must not wait for them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use devhub::{DevHub, Faults, TestHub};

use crate::addresses::free_address;
use crate::rig::{defined_hub, run, tidegate};
use crate::serve::{page, serving, until};

/// Starts the program with these flags; returns it, and where it answers probes.
fn serve(kubeconfig: &Path, files: &[String; 2], flags: &[&str]) -> (Child, String) {
    let (child, told) = serving(
        tidegate()
            .args(["serve", "--bind", "127.0.0.1:0", "--health", "127.0.0.1:0"])
            .args(["--certificate", &files[0], "--key", &files[1], "--kubeconfig"])
            .arg(kubeconfig)
            .args(flags)
            .stderr(Stdio::piped()),
    );
    let health = told.rsplit_once("health=http://");
    let (_, health) = health.expect("it says where probes are answered");
    (child, health.to_owned())
}

fn ask_to_end(child: &Child) {
    let sent = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill is there").success());
}

/// A hub that takes its time for every answer.
async fn slow_hub(folder: &Path) -> (TestHub, PathBuf) {
    let faults = Faults {
        delay: Duration::from_millis(600),
        ..Faults::default()
    };
    let mut builder = DevHub::builder().faults(faults);
    for crd in api::crds() {
        builder = builder.crd(serde_json::to_value(crd).expect("a definition is plain data"));
    }
    let hub = TestHub::of(builder).await.expect("the hub starts");
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, hub.kubeconfig()).expect("writable");
    (hub, kubeconfig)
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_drops_at_once_and_not_when_the_controllers_have_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = slow_hub(folder.path()).await;
    let files = write_certificate(folder.path(), &["127.0.0.1"], 2999);
    tokio::task::block_in_place(|| {
        let flags = ["--linger", "3", "--elect", "default/tidegate"];
        let (mut child, health) = serve(&kubeconfig, &files, &flags);
        until("the gate is ready", || {
            page(&health, "/readyz").is_some_and(|(status, _)| status == 200)
        });
        assert_eq!(page(&health, "/healthz"), Some((200, "ok".to_owned())));
        ask_to_end(&child);
        let begun = Instant::now();
        until("the gate says that it ends", || {
            page(&health, "/readyz") == Some((503, "shutting down".to_owned()))
        });
        let unready = begun.elapsed();
        assert!(
            child.try_wait().expect("it can be waited for").is_none(),
            "it still answers"
        );
        assert_eq!(
            page(&health, "/healthz"),
            Some((200, "ok".to_owned())),
            "and lives"
        );
        let ended = child.wait_with_output().expect("it ends");
        println!("unready after {unready:?}, ended after {:?}", begun.elapsed());
        assert_eq!(ended.status.code(), Some(0));
    });
    hub.shutdown().await;
}

/// Writes a certificate of its own making, for these names, that ends in this year.
fn write_certificate(folder: &Path, names: &[&str], ends: i32) -> [String; 2] {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = rcgen::CertificateParams::new(names).expect("names");
    params.not_before = rcgen::date_time_ymd(2001, 1, 1);
    params.not_after = rcgen::date_time_ymd(ends, 1, 1);
    let key = rcgen::KeyPair::generate().expect("a key");
    let made = params.self_signed(&key).expect("a certificate");
    let (chain, private) = (folder.join("own.crt"), folder.join("own.key"));
    std::fs::write(&chain, made.pem()).expect("writable");
    std::fs::write(&private, key.serialize_pem()).expect("writable");
    [chain, private].map(|path| path.to_string_lossy().into_owned())
}

#[test]
fn a_certificate_that_no_time_heals_ends_the_start_with_its_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [chain, key] = write_certificate(folder.path(), &[], 2999);
    let ended = run(&[
        "serve",
        "--certificate",
        &chain,
        "--key",
        &key,
        "--bind",
        "127.0.0.1:0",
    ]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let said = ended.stderr.trim();
    assert!(
        said.contains("own.crt") && said.contains("subject alternative name"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_is_reported_and_does_not_affect_the_controllers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let files = write_certificate(folder.path(), &["127.0.0.1"], 2002);
    tokio::task::block_in_place(|| {
        // It never says READY, so that the address has to be known beforehand.
        let health = free_address().to_string();
        let mut child = tidegate()
            .args([
                "serve",
                "--bind",
                "127.0.0.1:0",
                "--health",
                &health,
                "--linger",
                "0",
            ])
            .args(["--certificate", &files[0], "--key", &files[1], "--kubeconfig"])
            .arg(&kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let told = "the serving certificate is not valid: it expired at 2002-01-01T00:00:00Z";
        until("it says why it is not ready", || {
            page(&health, "/readyz") == Some((503, told.to_owned()))
        });
        assert_eq!(page(&health, "/healthz"), Some((200, "ok".to_owned())));
        assert!(child.try_wait().expect("it can be waited for").is_none());
        ask_to_end(&child);
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "", "it is not ready");
        let log = String::from_utf8_lossy(&ended.stderr);
        assert!(
            log.contains("ERROR") && log.contains("own.crt") && log.contains("2002-01-01"),
            "{log}"
        );
    });
    hub.shutdown().await;
}
