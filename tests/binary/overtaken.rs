//! A conflicting write: while the hub validates a write, another client writes the same object.
//!
//! A validating webhook of the test causes the conflict for a given number of writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use serde_json::{Value, json};
use tidegate::server::Authority;

use crate::hook::Hook;
use crate::modes::driven;
use crate::rig::{CMA_V1ALPHA1, Dev, Run, defined_hub, kubectl, run};

/// Writes first.
#[derive(Clone)]
struct Overtaker {
    kubeconfig: PathBuf,
    /// The field manager that is overtaken, or how it begins.
    manager: &'static str,
    /// The words of the kubectl command that writes; `COUNT` in them is a different number each time.
    writes: &'static [&'static str],
    /// How often it still does.
    left: Arc<AtomicUsize>,
}

async fn answer(State(overtaker): State<Overtaker>, body: String) -> String {
    let review: Value = serde_json::from_str(&body).expect("a review");
    let request = &review["request"];
    let manager = request["options"]["fieldManager"].as_str().unwrap_or_default();
    let is_left = |left: usize| left.checked_sub(1);
    if manager.starts_with(overtaker.manager)
        && let Ok(left) = overtaker
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_left)
    {
        let count = left.to_string();
        let words: Vec<String> = overtaker
            .writes
            .iter()
            .map(|word| word.replace("COUNT", &count))
            .collect();
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = tokio::task::block_in_place(|| kubectl(&overtaker.kubeconfig, &args, ""));
        assert!(ran.ok, "{}", ran.stderr);
    }
    let response = json!({"uid": request["uid"], "allowed": true});
    json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).to_string()
}

/// Registers it for writes of this resource of an API group.
async fn register(overtaker: &Overtaker, (group, resource): (&str, &str)) -> Hook {
    let authority = Authority::generate().expect("an authority");
    let routes = Router::new()
        .route("/", post(answer))
        .with_state(overtaker.clone());
    let hook = Hook::start(&authority, routes).await;
    let registered = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "overtaker"},
        "webhooks": [{"name": "overtaker.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "clientConfig": {"url": format!("{}/", hook.url), "caBundle": base64(authority.ca_pem())},
            "rules": [{"apiGroups": [group], "apiVersions": ["*"],
                "operations": ["UPDATE"], "resources": [resource]}]}]});
    let text = registered.to_string();
    tokio::task::block_in_place(|| {
        let applied = kubectl(&overtaker.kubeconfig, &["apply", "-f", "-"], &text);
        assert!(applied.ok, "{}", applied.stderr);
    });
    hook
}

/// Annotates the AddOnRollout.
const BUSY: &[&str] = &[
    "annotate",
    "--overwrite",
    "addonrollout",
    "helloworld",
    "overtaken=COUNT",
];

/// Lets `tidegate rollout` be overtaken so many times by such a command.
async fn overtaken(dev: &Dev, writes: &'static [&'static str], times: usize) -> (Hook, Overtaker) {
    // A verb that creates the AddOnRollout would update nothing.
    tokio::task::block_in_place(|| {
        dev.until(
            "the controllers have created it",
            &["addonrollout", "helloworld"],
            |rollout| rollout["status"].is_object(),
        );
    });
    let overtaker = Overtaker {
        kubeconfig: dev.kubeconfig.clone(),
        manager: "tidegate-rollout",
        writes,
        left: Arc::new(AtomicUsize::new(times)),
    };
    let hook = register(&overtaker, ("tidegate.io", "addonrollouts")).await;
    (hook, overtaker)
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn rollout(dev: &Dev, args: &[&str]) -> Run {
    let kubeconfig = dev.kubeconfig.to_string_lossy();
    run(&[&["rollout"], args, &["--kubeconfig", &kubeconfig]].concat())
}

fn spec(dev: &Dev) -> Value {
    dev.read(&["addonrollout", "helloworld"])["spec"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verb_retries_after_a_conflicting_write() {
    let dev = tokio::task::block_in_place(|| Dev::start(&["--clusters", "1"]));
    let (hook, overtaker) = overtaken(&dev, BUSY, 0).await;
    tokio::task::block_in_place(|| {
        for (verb, left) in [("pause", json!({"reason": "lunch"})), ("resume", Value::Null)] {
            overtaker.left.store(3, Ordering::SeqCst);
            let ran = rollout(&dev, &[verb, "helloworld", "--reason", "lunch"]);
            assert!(ran.ok, "{}", ran.stderr);
            assert_eq!(overtaker.left.load(Ordering::SeqCst), 0, "it was overtaken");
            assert_eq!(spec(&dev)["pause"], left);
        }
    });
    drop(hook);
}

/// Pauses a placement.
const PAUSES_OTHER: &[&str] = &[
    "patch",
    "addonrollout",
    "helloworld",
    "--type=merge",
    "-p",
    r#"{"spec":{"placements":[{"namespace":"here","name":"other","pause":{"reason":"lunch"}}]}}"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_placement_that_was_paused_meanwhile_stays_paused() {
    let dev = tokio::task::block_in_place(|| Dev::start(&["--clusters", "1"]));
    let (hook, overtaker) = overtaken(&dev, PAUSES_OTHER, 0).await;
    tokio::task::block_in_place(|| {
        let second = json!([{"op": "add", "path": "/spec/installStrategy/placements/-",
            "value": {"namespace": "here", "name": "other"}}]);
        dev.succeed(&[
            "patch",
            CMA_V1ALPHA1,
            "helloworld",
            "--type=json",
            "-p",
            &second.to_string(),
        ]);
        overtaker.left.store(1, Ordering::SeqCst);
        let ran = rollout(&dev, &["pause", "helloworld", "--placement", "all-clusters"]);
        assert!(ran.ok, "{}", ran.stderr);
        let all = json!({"namespace": "open-cluster-management", "name": "all-clusters", "pause": {}});
        let other = json!({"namespace": "here", "name": "other", "pause": {"reason": "lunch"}});
        assert_eq!(spec(&dev)["placements"], json!([other, all]));
    });
    drop(hook);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_changes_all_the_time_is_reported() {
    let dev = tokio::task::block_in_place(|| Dev::start(&["--clusters", "1"]));
    let (hook, _overtaker) = overtaken(&dev, BUSY, usize::MAX).await;
    tokio::task::block_in_place(|| {
        let ran = rollout(&dev, &["pause", "helloworld"]);
        assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stderr.contains("nothing was written. Try again"),
            "{}",
            ran.stderr
        );
        assert_eq!(spec(&dev)["pause"], Value::Null);
    });
    drop(hook);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_add_on_that_changes_while_it_is_handed_back_is_left_for_another_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| driven(&kubeconfig));
    let overtaker = Overtaker {
        kubeconfig: kubeconfig.clone(),
        manager: "tidegate",
        writes: &[
            "annotate",
            "--overwrite",
            "mca",
            "hello",
            "-n",
            "c1",
            "overtaken=COUNT",
        ],
        left: Arc::new(AtomicUsize::new(1)),
    };
    let addons = "addon.open-cluster-management.io";
    let hook = register(&overtaker, (addons, "managedclusteraddons/status")).await;
    tokio::task::block_in_place(|| {
        let first = release(&kubeconfig);
        assert_eq!(first.code, Some(1), "{}{}", first.stdout, first.stderr);
        let left = "hello: ManagedClusterAddOn c1/hello: incomplete: it was changed at the same time; run release again\n";
        assert!(first.stdout.starts_with(left), "{}", first.stdout);
        assert!(
            !first.stdout.contains("lifecycle"),
            "it is not OCM's yet: {}",
            first.stdout
        );
        let second = release(&kubeconfig);
        assert!(
            second
                .stdout
                .contains("OCM's add-on manager manages the add-on from now on"),
            "{}",
            second.stdout
        );
    });
    drop(hook);
    hub.shutdown().await;
}

fn release(kubeconfig: &Path) -> Run {
    run(&[
        "release",
        "--addon",
        "hello",
        "--kubeconfig",
        &kubeconfig.to_string_lossy(),
    ])
}
