//! `tidegate doctor` on a healthy hub, and on one where one check after another fails.
//!
//! The unit tests of `crates/operate/src/doctor` test the messages.

use std::path::{Path, PathBuf};

use devhub::{Authz, DevHub, TestHub};
use serde_json::{Value, json};

use crate::rig::{Dev, Run, kubectl, repository, run, tidegate};

fn doctor(dev: &Dev, words: &[&str]) -> Run {
    let output = tidegate()
        .arg("doctor")
        .args(words)
        .env("KUBECONFIG", &dev.kubeconfig)
        .output();
    Run::from(output.expect("it ends"))
}

/// Returns the exit status and the findings.
fn report(dev: &Dev, words: &[&str]) -> (Option<i32>, Vec<Value>) {
    let said = doctor(dev, &[&["-o", "json"], words].concat());
    let page: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(page["apiVersion"], "output.tidegate.io/v1alpha1");
    assert_eq!(page["exitStatus"], json!(said.code), "{page:#}");
    (said.code, page["findings"].as_array().expect("findings").clone())
}

fn severity<'a>(findings: &'a [Value], id: &str) -> &'a str {
    let found = findings.iter().find(|one| one["id"] == id);
    found.and_then(|one| one["severity"].as_str()).unwrap_or("absent")
}

/// Asserts that a check reports an error with a fix and a command, and that the exit status matches.
fn fails(dev: &Dev, (id, expected): (&str, &str), words: &[&str]) {
    let (code, findings) = report(dev, words);
    assert_eq!(severity(&findings, id), expected, "{id}: {findings:#?}");
    let found = findings.iter().find(|one| one["id"] == id).expect("it is there");
    for field in ["fix", "command"] {
        assert!(
            found[field].as_str().is_some_and(|text| !text.is_empty()),
            "{found:#}"
        );
    }
    if expected == "error" {
        assert_eq!(code, Some(1), "{id}");
    }
}

const CHECKS: [&str; 23] = [
    "kubernetes/version",
    "kubernetes/clock",
    "ocm/definitions",
    "ocm/version",
    "ocm/conversion",
    "ocm/addon-manager",
    "tidegate/definitions",
    "election/lease",
    "rights/account",
    "webhooks/registered",
    "webhooks/match-conditions",
    "webhooks/as-registered",
    "webhooks/foreign",
    "webhooks/ca-bundle",
    "webhooks/answers",
    "webhooks/passes",
    "certificate/life",
    "clusters/placements",
    "clusters/available",
    "clusters/work-agents",
    "addons/stalled",
    "policies/compiled",
    "objects/readable",
];

#[test]
fn a_sound_hub_has_nothing_to_do_and_what_is_broken_is_found() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.until_says("helloworld", "cluster2", "False", "InstallSucceed");
    let (code, findings) = report(&dev, &[]);
    assert_eq!(code, Some(0), "{findings:#?}");
    for id in CHECKS {
        let severity = severity(&findings, id);
        assert!(["ok", "note"].contains(&severity), "{id} is {severity}");
    }
    let table = doctor(&dev, &[]);
    assert!(!table.stdout.contains('\u{1b}'), "no colours in a pipe");
    assert!(table.stdout.contains("webhooks/answers"), "{}", table.stdout);
    the_lease(&dev);
    the_fleet(&dev);
    the_webhooks(&dev);
}

/// Programs get what they can read, also when there is nothing to be said.
#[test]
fn an_unreachable_hub_is_reported_as_json_if_json_is_requested() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "users": [{"name": "a", "user": {}}],
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}]});
    std::fs::write(&file, config.to_string()).expect("writable");
    let said = run(&["doctor", "-o", "json", "--kubeconfig", &file.to_string_lossy()]);
    let page: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(said.code, Some(2), "{page:#}");
    assert_eq!(page["exitStatus"], 2);
    assert_eq!(page["findings"][0]["severity"], "unknown");
    let seen = page["findings"][0]["seen"].as_str().expect("words");
    assert!(seen.contains("reach the hub"), "{seen}");
}

fn the_lease(dev: &Dev) {
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "mine", "namespace": "default"},
        "spec": {"holderIdentity": "tidegate_gone_1", "leaseDurationSeconds": 15, "renewTime": "2001-01-01T00:00:00.000000Z"}});
    assert!(dev.apply(&lease.to_string()).ok);
    fails(dev, ("election/lease", "error"), &["--elect", "default/mine"]);
    fails(dev, ("election/lease", "error"), &["--elect", "default/nobodys"]);
    let text = doctor(dev, &["--elect", "default/mine"]).stdout;
    assert!(text.contains("tidegate_gone_1 held default/mine"), "{text}");
}

fn the_fleet(dev: &Dev) {
    let policy = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": "broken"},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["addon.open-cluster-management.io"],
            "apiVersions": ["v1alpha1"], "operations": ["CREATE"], "resources": ["clustermanagementaddons"]}]},
            "validations": [{"expression": "object.spec.nonsense("}]}});
    // As if it had been stored while the webhook was unavailable: the webhook refuses it.
    let unseen = [
        "--as=someone",
        "--as-group=tidegate:break-glass",
        "--as-group=system:masters",
    ];
    let applied = dev.kubectl_with(
        &[&["apply", "-f", "-"][..], &unseen[..]].concat(),
        &policy.to_string(),
    );
    assert!(applied.ok, "{}", applied.stderr);
    dev.until("the policy was looked at", &["addonpolicy", "broken"], |policy| {
        policy.to_string().contains("DoesNotCompile")
    });
    fails(dev, ("policies/compiled", "error"), &[]);
    dev.succeed(&["delete", "addonpolicy", "broken"]);
    dev.succeed(&[
        "annotate",
        "managedcluster",
        "cluster2",
        "simulated-cluster/faults=offline",
    ]);
    dev.until("it is offline", &["managedcluster", "cluster2"], |cluster| {
        cluster.to_string().contains("Unknown")
    });
    fails(dev, ("clusters/available", "warning"), &[]);
    let (code, _) = report(dev, &["--fail-on", "warning"]);
    assert_eq!(code, Some(1), "who asks for it fails over warnings");
    dev.succeed(&["delete", "crd", "addonpolicies.tidegate.io"]);
    fails(dev, ("tidegate/definitions", "warning"), &[]);
}

fn configuration(dev: &Dev, kind: &str, name: &str) -> Value {
    let mut found = dev.read(&[kind, name]);
    let metadata = found["metadata"].as_object_mut().expect("metadata");
    metadata.remove("resourceVersion");
    metadata.remove("uid");
    found
}

fn replace(dev: &Dev, object: &Value) {
    let run = dev.kubectl_with(&["replace", "-f", "-"], &object.to_string());
    assert!(run.ok, "{}", run.stderr);
}

fn the_webhooks(dev: &Dev) {
    let guard = configuration(dev, "validatingwebhookconfiguration", "tidegate-guard");
    let mutate = configuration(dev, "mutatingwebhookconfiguration", "tidegate-mutate");
    let mut edited = guard.clone();
    edited["webhooks"][0]["timeoutSeconds"] = json!(7);
    replace(dev, &edited);
    fails(dev, ("webhooks/as-registered", "error"), &[]);
    let mut bare = guard.clone();
    bare["webhooks"][0]
        .as_object_mut()
        .expect("a webhook")
        .remove("matchConditions");
    replace(dev, &bare);
    fails(dev, ("webhooks/match-conditions", "error"), &[]);
    replace(dev, &guard);
    another_secret(dev, &guard, &mutate);
    an_added_one(dev);
    others_behind_the_gate(dev);
    let foreign = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "mesh"}, "webhooks": [{"name": "inject.mesh.example", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:9/"},
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}]}]});
    assert!(dev.apply(&foreign.to_string()).ok);
    fails(dev, ("webhooks/foreign", "warning"), &[]);
    dev.succeed(&["delete", "mutatingwebhookconfiguration", "mesh"]);
    let other = tidegate::server::Authority::generate().expect("an authority");
    for one in [guard, mutate] {
        replace(dev, &with_authority(one, other.ca_pem()));
    }
    fails(dev, ("webhooks/ca-bundle", "error"), &[]);
    fails(dev, ("webhooks/answers", "error"), &[]);
    let text = doctor(dev, &[]).stdout;
    assert!(text.contains("x509") && text.contains("caBundle"), "{text}");
    dev.succeed(&["delete", "validatingwebhookconfiguration", "tidegate-guard"]);
    dev.succeed(&["delete", "mutatingwebhookconfiguration", "tidegate-mutate"]);
    fails(dev, ("webhooks/registered", "error"), &[]);
    let text = doctor(dev, &[]).stdout;
    assert!(text.contains("would have stored an invalid"), "{text}");
    let (_, findings) = report(dev, &[]);
    let missing = findings.iter().find(|one| one["id"] == "webhooks/registered");
    let command = missing
        .and_then(|one| one["command"].as_str())
        .expect("a command");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_tidegate"))
        .parent()
        .expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let ran = std::process::Command::new("sh")
        .args(["-c", command])
        .env("KUBECONFIG", &dev.kubeconfig)
        .env("PATH", format!("{}:{path}", folder.display()))
        .status();
    assert!(ran.expect("sh is there").success(), "{command}");
    let (_, findings) = report(dev, &[]);
    let webhooks = |one: &&Value| one["id"].as_str().is_some_and(|id| id.starts_with("webhooks/"));
    let left: Vec<&Value> = findings
        .iter()
        .filter(webhooks)
        .filter(|one| one["severity"] == "error")
        .collect();
    assert!(left.is_empty(), "after {command}: {left:?}");
}

/// A webhook that another client adds to a configuration of ours; the command of the finding removes it, and nothing else.
fn an_added_one(dev: &Dev) {
    let before = configuration(dev, "mutatingwebhookconfiguration", "tidegate-mutate");
    let mut tapped = before.clone();
    tapped["webhooks"].as_array_mut().expect("webhooks").push(
        json!({"name": "x.attacker.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:9/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["secrets"]}]}),
    );
    replace(dev, &tapped);
    fails(dev, ("webhooks/added", "error"), &[]);
    let (_, findings) = report(dev, &[]);
    let added = findings.iter().find(|one| one["id"] == "webhooks/added");
    let command = added.and_then(|one| one["command"].as_str()).expect("a command");
    let ran = std::process::Command::new("sh")
        .args(["-c", command])
        .env("KUBECONFIG", &dev.kubeconfig)
        .status();
    assert!(ran.expect("sh is there").success(), "{command}");
    let after = configuration(dev, "mutatingwebhookconfiguration", "tidegate-mutate");
    assert_eq!(after["webhooks"], before["webhooks"]);
    assert_eq!(severity(&report(dev, &[]).1, "webhooks/added"), "absent");
}

/// Webhooks of which some ask at a path that the gate does not have: whatever they would judge is stored unseen.
fn another_secret(dev: &Dev, guard: &Value, mutate: &Value) {
    let astray = |configuration: &Value| {
        let mut configuration = configuration.clone();
        for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
            let url = webhook["clientConfig"]["url"].as_str().expect("an address");
            webhook["clientConfig"]["url"] = json!(format!("{url}/abcdefghijklmnopqrstuvwxyz"));
        }
        configuration
    };
    replace(dev, &astray(guard));
    fails(dev, ("webhooks/as-registered", "error"), &[]);
    replace(dev, guard);
    replace(dev, &astray(mutate));
    fails(dev, ("webhooks/as-registered", "error"), &[]);
    fails(dev, ("webhooks/answers", "error"), &[]);
    replace(dev, mutate);
    let (_, findings) = report(dev, &[]);
    assert_eq!(severity(&findings, "webhooks/answers"), "ok", "{findings:#?}");
}

/// Another webhook that fails closed and does not answer: the gate answers as it should, and yet no add-on can be stored.
fn others_behind_the_gate(dev: &Dev) {
    let other = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "away"}, "webhooks": [{"name": "away.example.com", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Fail", "clientConfig": {"url": "https://127.0.0.1:9/"},
            "rules": [{"apiGroups": ["addon.open-cluster-management.io"], "apiVersions": ["*"], "operations": ["CREATE"],
                "resources": ["clustermanagementaddons"]}]}]});
    assert!(dev.apply(&other.to_string()).ok);
    fails(dev, ("webhooks/passes", "error"), &[]);
    dev.succeed(&["delete", "validatingwebhookconfiguration", "away"]);
    let (_, findings) = report(dev, &[]);
    assert_eq!(severity(&findings, "webhooks/passes"), "ok", "{findings:#?}");
}

/// A configuration that trusts another authority than that of the gate's certificate.
fn with_authority(mut configuration: Value, pem: &str) -> Value {
    let nowhere = admission::Endpoint::Url("https://gate".to_owned());
    let bundle =
        admission::configurations(&nowhere, Some(pem))[0]["webhooks"][0]["clientConfig"]["caBundle"].clone();
    for webhook in configuration["webhooks"].as_array_mut().expect("webhooks") {
        webhook["clientConfig"]["caBundle"] = bundle.clone();
    }
    configuration
}

/// Returns severity and message of a finding.
fn said(kubeconfig: &str, id: &str, words: &[&str]) -> (String, String) {
    let run = run(&[&["doctor", "-o", "json", "--kubeconfig", kubeconfig], words].concat());
    let page: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let findings = page["findings"].as_array().expect("findings");
    let found = findings
        .iter()
        .find(|one| one["id"] == id)
        .expect("it is looked at");
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("severity"), format!("{} {}", text("seen"), text("command")))
}

/// Starts a hub that has this program's definitions and checks rights; returns it and its kubeconfig.
async fn hub_with_rights(folder: &Path) -> (TestHub, PathBuf) {
    let definitions = api::crds()
        .into_iter()
        .map(|crd| serde_json::to_value(crd).expect("plain data"));
    let builder = definitions.fold(DevHub::builder().authz(Authz::Rbac), devhub::Builder::crd);
    let hub = TestHub::of(builder).await.expect("the hub starts");
    let file = folder.join("kubeconfig");
    std::fs::write(&file, hub.kubeconfig()).expect("writable");
    (hub, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_those_of_the_account_that_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, file) = hub_with_rights(folder.path()).await;
    tokio::task::block_in_place(|| {
        let kubeconfig = file.to_string_lossy();
        let account = "system:serviceaccount:tidegate:tidegate-gate";
        let words = ["--as", account, "--only", "gate"];
        let (severity, text) = said(&kubeconfig, "rights/account", &words);
        assert_eq!(severity, "error", "{text}");
        assert!(
            text.contains(account) && text.contains("kubectl auth can-i"),
            "{text}"
        );
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tidegate"}});
        assert!(kubectl(&file, &["apply", "-f", "-"], &space.to_string()).ok);
        let role = repository("manifests/rbac/gate.yaml");
        assert!(kubectl(&file, &["apply", "-f", &role.to_string_lossy()], "").ok);
        let (severity, text) = said(&kubeconfig, "rights/account", &words);
        assert_eq!(severity, "ok", "{text}");
        let (severity, text) = said(&kubeconfig, "rights/account", &["--as", account]);
        assert_eq!(
            severity, "error",
            "the gate may not do what controllers do: {text}"
        );
        // A gate whose webhooks are not registered is not called sound.
        assert_eq!(said(&kubeconfig, "webhooks/answers", &[]).0, "error");
    });
    hub.shutdown().await;
}

/// What an upgrade leaves over, and a role that is bound everywhere on a hub whose API server has refused the policy.
#[tokio::test(flavor = "multi_thread")]
async fn rights_with_which_an_account_could_take_over_the_hub_are_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, file) = hub_with_rights(folder.path()).await;
    tokio::task::block_in_place(|| {
        let kubeconfig = file.to_string_lossy();
        let apply = |text: &str| {
            let applied = kubectl(&file, &["apply", "-f", "-"], text);
            assert!(applied.ok, "{}", applied.stderr);
        };
        let rights = |name: &str| {
            let place = repository(&format!("manifests/rbac/{name}.yaml"));
            std::fs::read_to_string(place).expect(name)
        };
        apply(r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tidegate"}}"#);
        for name in ["gate", "controllers", "registration"] {
            apply(&rights(name));
        }
        let (severity, text) = said(&kubeconfig, "records/keys", &[]);
        assert_eq!(severity, "error", "{text}");
        assert!(
            text.contains("there is no Secret tidegate/tidegate-record-keys"),
            "{text}"
        );
        let secret = repository("manifests/deploy/gate/secret.yaml");
        apply(&std::fs::read_to_string(secret).expect("the Secret"));
        let (severity, text) = said(&kubeconfig, "records/keys", &[]);
        assert_eq!(severity, "error", "{text}");
        assert!(text.contains("is empty"), "{text}");
        // As 0.1 had it: the controllers kept the certificate.
        apply(&rights("certificates").replace(
            "kind: ServiceAccount, name: tidegate-certificates",
            "kind: ServiceAccount, name: tidegate-controllers",
        ));
        let (severity, text) = said(&kubeconfig, "rights/separated", &[]);
        assert_eq!(severity, "error", "{text}");
        assert!(
            text.contains("tidegate-controllers has permissions that it does not require: patch mutatingwebhookconfigurations"),
            "{text}"
        );
        // The name of the binding is the same, so that an upgrade takes the right away.
        apply(&rights("certificates"));
        let (severity, text) = said(&kubeconfig, "rights/separated", &[]);
        assert_eq!(severity, "ok", "{text}");
        assert_eq!(said(&kubeconfig, "rights/in-clusters", &[]).0, "ok");
        apply(&rights("registration-everywhere-binding"));
        let (severity, text) = said(&kubeconfig, "rights/in-clusters", &[]);
        assert_eq!(severity, "error", "{text}");
        assert!(text.contains("a token of any service account"), "{text}");
        apply(&rights("registration-everywhere-policy"));
        let (severity, text) = said(&kubeconfig, "rights/in-clusters", &[]);
        assert_eq!(severity, "ok", "{text}");
    });
    hub.shutdown().await;
}

#[test]
fn a_hub_that_does_not_answer_is_not_called_sound() {
    let nowhere = run(&["doctor", "--kubeconfig", "/nowhere/at/all"]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.stderr);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}], "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]});
    std::fs::write(&file, config.to_string()).expect("writable");
    let said = run(&["doctor", "--kubeconfig", &file.to_string_lossy()]);
    assert_eq!(said.code, Some(2), "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("cannot reach the hub"), "{}", said.stderr);
}
