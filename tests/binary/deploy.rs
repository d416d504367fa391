//! The manifests on a hub with Open Cluster Management's CRDs: what `docs/operate/install.md` applies is accepted, changes
//! nothing when applied again, and is deleted completely.
//!
//! No pods run here. `hub::rights` tests the permissions.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use crate::definitions::hub_with_theirs;
use crate::rig::{Run, kubectl, repository, tidegate};

/// In the order of the page.
const FOLDERS: [&str; 3] = ["gate", "controllers", "webhooks"];

#[tokio::test(flavor = "multi_thread")]
async fn the_kit_is_applied_in_the_order_of_its_page_and_taken_away_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
    tokio::task::block_in_place(|| {
        let on = |verb: &[&str], part: &str| {
            let place = repository(&format!("manifests/deploy/{part}"));
            let ran = kubectl(
                &kubeconfig,
                &[verb, &["-k", &place.to_string_lossy()]].concat(),
                "",
            );
            assert!(ran.ok, "{verb:?} {part}: {}", ran.stderr);
            ran.stdout
        };
        for part in FOLDERS {
            let made = on(&["apply"], part);
            assert!(made.lines().all(|line| line.ends_with(" created")), "{made}");
        }
        for part in FOLDERS {
            let again = on(&["apply"], part);
            // kubectl sends the selector of a PodDisruptionBudget with every apply, and prints "configured".
            let mut others = again
                .lines()
                .filter(|line| !line.starts_with("poddisruptionbudget"));
            assert!(others.all(|line| line.ends_with(" unchanged")), "{again}");
        }
        // First the webhooks: no request must wait for a webhook that does not answer.
        for part in FOLDERS.iter().rev() {
            // Deleting the namespace deletes the objects that are listed after it.
            on(&["delete", "--ignore-not-found"], part);
        }
        let kinds = "clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations,crd,deployments,services";
        let left = kubectl(&kubeconfig, &["get", kinds, "-A", "-o", "name"], "");
        assert!(left.ok, "{}", left.stderr);
        let ours: Vec<&str> = left
            .stdout
            .lines()
            .filter(|name| name.contains("tidegate") || name.contains("addonpolicies"))
            .collect();
        assert!(ours.is_empty(), "{ours:?}");
    });
    hub.shutdown().await;
}

/// A hub that only answers which version it is, to one request; returns its kubeconfig.
fn hub_of_version(minor: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut caller, _) = listener.accept().expect("a caller");
        let mut head = [0; 4096];
        let length = caller.read(&mut head).expect("a request");
        assert!(head[..length].starts_with(b"GET /version "));
        let body = json!({"major": "1", "minor": minor, "gitVersion": format!("v1.{minor}.3"), "gitCommit": "", "gitTreeState": "",
            "buildDate": "", "goVersion": "", "compiler": "", "platform": ""})
        .to_string();
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        caller.write_all(answer.as_bytes()).expect("the caller reads");
    });
    json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": server}}], "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]})
    .to_string()
}

#[test]
fn the_backstop_is_left_out_where_the_hub_is_older_and_a_line_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let printed = |kubeconfig: &str, flags: &[&str]| {
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, kubeconfig).expect("writable");
        let mut command = tidegate();
        command
            .args(["install", "--print", "--webhooks", "only"])
            .args(flags);
        Run::from(command.env("KUBECONFIG", file).output().expect("it starts"))
    };
    let nowhere = hub_of_version("29").replace("127.0.0.1", "127.0.0.1.invalid");
    for (kubeconfig, flags, is_left_out) in [
        (hub_of_version("29"), &[][..], true),
        (hub_of_version("30+"), &[], false),
        (hub_of_version("29"), &["--backstop", "with"], false),
        (nowhere, &[], false),
    ] {
        let ran = printed(&kubeconfig, flags);
        assert!(ran.ok, "{}", ran.stderr);
        let has = ran.stdout.contains("kind: ValidatingAdmissionPolicy");
        assert_eq!(has, !is_left_out, "{flags:?} {kubeconfig}: {}", ran.stderr);
        let says = "the backstop is left out: the hub of the kubeconfig is Kubernetes v1.29.3, and 1.30 is the first version";
        assert_eq!(ran.stderr.contains(says), is_left_out, "{}", ran.stderr);
    }
}
