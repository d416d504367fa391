//! The manifests on a hub with Open Cluster Management's CRDs: what `docs/operate/install.md` applies is accepted, changes
//! nothing when applied again, and is deleted completely.
//!
//! No pods run here. `hub::rights` tests the permissions.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::definitions::hub_with_theirs;
use crate::rig::{Run, kubectl, repository, run, tidegate};

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

/// A hub that only answers which version it is, and what it would store of a webhook configuration; returns its kubeconfig.
fn hub_of_version(minor: &'static str, keeps_conditions: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        // The thread ends with the test program.
        for caller in listener.incoming() {
            let mut caller = caller.expect("a caller");
            let mut request = Vec::new();
            let mut part = [0; 1 << 13];
            while !is_complete(&request) {
                let length = caller.read(&mut part).expect("a request");
                request.extend_from_slice(&part[..length]);
            }
            let text = String::from_utf8(request).expect("text");
            let (head, body) = text.split_once("\r\n\r\n").expect("a head");
            let body = if head.starts_with("GET /version ") {
                json!({"major": "1", "minor": minor, "gitVersion": format!("v1.{minor}.3"), "gitCommit": "", "gitTreeState": "",
                    "buildDate": "", "goVersion": "", "compiler": "", "platform": ""})
            } else {
                let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
                assert!(
                    head.starts_with(&format!("POST {path}?")) && head.contains("dryRun=All"),
                    "{head}"
                );
                let mut sent: Value = serde_json::from_str(body).expect("JSON");
                for webhook in sent["webhooks"].as_array_mut().expect("webhooks") {
                    if !keeps_conditions {
                        webhook
                            .as_object_mut()
                            .expect("a webhook")
                            .remove("matchConditions");
                    }
                }
                sent
            };
            let body = body.to_string();
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            caller.write_all(answer.as_bytes()).expect("the caller reads");
        }
    });
    json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": server}}], "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]})
    .to_string()
}

/// Returns whether a request has its whole body.
fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.split_once("content-length: ").map_or("0", |(_, rest)| rest);
    let digits: String = length.chars().take_while(char::is_ascii_digit).collect();
    body.len() >= digits.parse().unwrap_or(0)
}

/// The sources name no registry: an installation without an image would pull one of that name from elsewhere.
#[test]
fn without_an_image_nothing_is_printed() {
    let ran = run(&[
        "install",
        "--print",
        "--backstop",
        "with",
        "--match-conditions",
        "with",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("--image is required") && ran.stderr.contains("registry.example.com/tidegate:"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_the_hub_does_not_serve_is_omitted_and_a_line_says_so() {
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
    let nowhere = hub_of_version("27", false).replace("127.0.0.1", "127.0.0.1.invalid");
    // The version, whether the hub keeps match conditions, flags; whether the backstop and the conditions are printed.
    let rows: [(String, &[&str], bool, bool); 8] = [
        (hub_of_version("29", true), &[], false, true),
        (hub_of_version("29", false), &[], false, false),
        (hub_of_version("27", false), &[], false, false),
        (hub_of_version("30+", false), &[], true, true),
        (hub_of_version("29", true), &["--backstop", "with"], true, true),
        (
            hub_of_version("27", false),
            &["--match-conditions", "with"],
            false,
            true,
        ),
        (
            hub_of_version("36", true),
            &["--match-conditions", "without", "--backstop", "without"],
            false,
            false,
        ),
        (nowhere, &[], true, true),
    ];
    for (kubeconfig, flags, has_backstop, has_conditions) in rows {
        let ran = printed(&kubeconfig, flags);
        assert!(ran.ok, "{}", ran.stderr);
        let backstop = ran.stdout.contains("kind: ValidatingAdmissionPolicy");
        assert_eq!(backstop, has_backstop, "{flags:?} {kubeconfig}: {}", ran.stderr);
        let guard = ran.stdout.contains("guard.gate.tidegate.io");
        assert_eq!(guard, has_conditions, "{flags:?} {kubeconfig}: {}", ran.stderr);
        let is_closed = ran.stdout.contains("failurePolicy: Fail") && !has_backstop;
        assert!(!is_closed || has_conditions, "{}", ran.stdout);
        let asked = !flags.contains(&"without");
        let says = "the backstop is omitted: the hub of the kubeconfig runs Kubernetes v1.";
        assert_eq!(
            ran.stderr.contains(says),
            !has_backstop && asked,
            "{}",
            ran.stderr
        );
        let says = "match conditions and the webhook that fails closed are omitted: the hub of the kubeconfig, Kubernetes v1.";
        assert_eq!(
            ran.stderr.contains(says),
            !has_conditions && asked,
            "{}",
            ran.stderr
        );
    }
    let closed = printed(&hub_of_version("27", false), &["--while-unavailable", "refuse"]);
    assert!(!closed.ok && closed.stdout.is_empty(), "{}", closed.stdout);
    assert!(
        closed
            .stderr
            .contains("--while-unavailable refuse requires match conditions"),
        "{}",
        closed.stderr
    );
}
