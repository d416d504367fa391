//! What GitOps tools rely on: no drift, repeated applies without changes, and objects that were stored before the webhook was installed.

use std::time::Duration;

use serde_json::Value;

use crate::rig::{Dev, MCA_V1ALPHA1, Run, message_of, on_cluster, repository, state_of};

const EXAMPLES: &str = "manifests/examples";
/// Every kind of the examples, and the namespace that some of them live in.
const KINDS: [&str; 7] = [
    "namespaces",
    "managedclustersets",
    "managedclustersetbindings",
    "placements",
    "addontemplates",
    "addondeploymentconfigs",
    "clustermanagementaddons",
];
/// The kinds among them whose status no controller writes.
const WITHOUT_STATUS: [&str; 3] = ["namespaces", "addontemplates", "addondeploymentconfigs"];

/// Fits the schema, and cannot work.
const BANANA: &str = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: banana
spec:
  supportedConfigs:
  - group: addon.open-cluster-management.io
    resource: addontemplates
    defaultConfig:
      name: helloworld
  - group: addon.open-cluster-management.io
    resource: addondeploymentconfigs
    defaultConfig:
      name: helloworld
      namespace: open-cluster-management
  installStrategy:
    type: Placements
    placements:
    - name: all-clusters
      namespace: open-cluster-management
      rolloutStrategy:
        type: All
        all:
          minSuccessTime: banana
";
/// Longer than a controller waits before it writes.
const A_WHILE: Duration = Duration::from_secs(2);
const SOAK: &str = "/spec/installStrategy/placements/0/rolloutStrategy/all/minSuccessTime";

#[test]
fn applying_the_examples_again_changes_nothing() {
    let dev = Dev::start(&["--clusters", "2", "--no-demo"]);
    let folder = repository(EXAMPLES).to_string_lossy().into_owned();
    dev.succeed(&["apply", "-f", &folder]);
    dev.until(
        "the add-on is installed everywhere",
        &["cma", "helloworld"],
        |addon| {
            addon["status"]["installProgressions"][0]["conditions"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["reason"] == "Completed"))
        },
    );
    dev.comes_to_rest(A_WHILE);
    let before = versions(&dev);
    for _ in 0..2 {
        let again = dev.kubectl(&["apply", "-f", &folder]);
        assert!(again.ok && again.stderr.is_empty(), "{}", again.stderr);
        let changed: Vec<&str> = again
            .stdout
            .lines()
            .filter(|line| !line.ends_with(" unchanged"))
            .collect();
        assert!(changed.is_empty(), "{changed:?}");
    }
    assert_eq!(versions(&dev), before);
    without_difference(&dev, &folder);
}

#[test]
fn the_demo_is_what_the_examples_say() {
    let dev = Dev::start(&["--clusters", "2"]);
    // `kubectl diff` reads twice: what is written between would be a difference.
    dev.comes_to_rest(A_WHILE);
    without_difference(&dev, &repository(EXAMPLES).to_string_lossy());
}

#[test]
fn the_hub_only_adds_to_what_git_says() {
    let dev = Dev::start(&["--clusters", "2"]);
    let manifest = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata:
  name: by-hand
  namespace: cluster1
  labels:
    team: fruit
spec:
  configs:
  - group: addon.open-cluster-management.io
    resource: addondeploymentconfigs
    namespace: open-cluster-management
    name: helloworld
";
    let definition = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: by-hand
spec:
  supportedConfigs:
  - group: addon.open-cluster-management.io
    resource: addondeploymentconfigs
  installStrategy:
    type: Manual
";
    let made = dev.apply(definition);
    assert!(made.ok, "{}", made.stderr);
    let made = dev.until_run("the gate knows it", &["apply", "-f", "-"], manifest, |run| {
        run.ok && run.stderr.is_empty()
    });
    assert!(made.ok);
    // The controllers have answered: whatever they add is there.
    let instance = [MCA_V1ALPHA1, "by-hand", "-n", "cluster1"];
    dev.until("its status", &instance, |addon| {
        // The agent is the last to speak.
        ["Configured", "Available"]
            .iter()
            .all(|kind| state_of(addon, kind).0 == "True")
    });
    dev.comes_to_rest(A_WHILE);
    let live = dev.read(&instance);
    let git: Value = serde_saphyr::from_str(manifest).expect("YAML");
    assert_eq!(added(&git["spec"], &live["spec"]), ["installNamespace"]);
    assert_eq!(live["metadata"]["labels"], git["metadata"]["labels"]);
    let diff = dev.kubectl_with(&["diff", "-f", "-"], manifest);
    assert_eq!(diff.code, Some(0), "{}{}", diff.stdout, diff.stderr);
    let before = live["metadata"]["resourceVersion"].clone();
    let again = dev.apply(manifest);
    assert!(
        again.stdout.ends_with(" unchanged\n"),
        "{}{}",
        again.stdout,
        again.stderr
    );
    let after = dev.read(&instance);
    assert_eq!(after["metadata"]["resourceVersion"], before);
}

/// Argo CD sorts these kinds by name, so either may be first.
#[test]
fn an_add_on_of_a_cluster_may_be_applied_before_its_definition() {
    const BETA: &str = "addon.open-cluster-management.io/v1beta1";
    const ALPHA: &str = "addon.open-cluster-management.io/v1alpha1";
    let dev = Dev::start(&["--clusters", "4", "--no-demo"]);
    let instance = |cluster: &str, version: &str| {
        format!(
            "---\n{{apiVersion: {version}, kind: ManagedClusterAddOn, metadata: {{name: late, namespace: {cluster}}}, spec: {{}}}}"
        )
    };
    let applied: [(&str, &[&str], &str, &str); 4] = [
        ("cluster1", &["apply", "-f", "-"], ALPHA, "placed-here"),
        (
            "cluster2",
            &["apply", "--server-side", "-f", "-"],
            ALPHA,
            "placed-here",
        ),
        (
            "cluster3",
            &["apply", "--server-side", "-f", "-"],
            BETA,
            "placed-here",
        ),
        // Nothing records that its author gave none.
        (
            "cluster4",
            &["create", "-f", "-"],
            ALPHA,
            "open-cluster-management-agent-addon",
        ),
    ];
    for (cluster, verb, version, _) in applied {
        let run = dev.kubectl_with(verb, &instance(cluster, version));
        assert!(run.ok, "{}", run.stderr);
        let is_said = run.stderr.contains("no ClusterManagementAddOn has this name")
            && run.stderr.contains("the controllers set it from the placements");
        assert_eq!(is_said, verb.contains(&"apply"), "{cluster}: {}", run.stderr);
    }
    let made = dev.apply(
        r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: late}
spec:
  installStrategy:
    type: Placements
    placements:
    - {name: not-there-yet, namespace: default, addonSpec: {installNamespace: placed-here}}
",
    );
    assert!(made.ok, "{}", made.stderr);
    let at = |cluster: &str| {
        let live = dev.read(&[MCA_V1ALPHA1, "late", "-n", cluster]);
        live["spec"]["installNamespace"].clone()
    };
    // The status moves on its own when the placement has been missing for ten seconds.
    let as_written = |mut live: Value| {
        live["metadata"]["resourceVersion"].take();
        [live["metadata"].take(), live["spec"].take()]
    };
    for (cluster, verb, version, expected) in applied {
        let place = [MCA_V1ALPHA1, "late", "-n", cluster];
        dev.until("the add-on owns it", &place, |live| {
            live["metadata"]["ownerReferences"].is_array()
        });
        assert_eq!(at(cluster), expected, "{cluster}");
        if verb.contains(&"apply") {
            dev.comes_to_rest(Duration::from_millis(200));
            let before = as_written(dev.read(&place));
            let again = dev.kubectl_with(verb, &instance(cluster, version));
            assert!(again.ok, "{}", again.stderr);
            assert_eq!(as_written(dev.read(&place)), before);
        }
    }
}

#[test]
fn a_dry_run_says_what_the_real_run_says() {
    let dev = Dev::start(&["--clusters", "2"]);
    let mut files: Vec<String> = std::fs::read_dir(repository("manifests/examples/wrong"))
        .expect("there are wrong examples")
        .flatten()
        .map(|entry| entry.path().to_string_lossy().into_owned())
        .collect();
    // This one is stored with a warning.
    let doubted = repository("tests/seeds/addon-management/07-configs-per-placement.yaml");
    files.push(doubted.to_string_lossy().into_owned());
    assert!(files.len() > 2, "{files:?}");
    for file in &files {
        let dry = dev.kubectl(&["apply", "--dry-run=server", "-f", file]);
        let real = dev.kubectl(&["apply", "-f", file]);
        assert!(dry.stderr.contains(']'), "{file}: a rule speaks: {}", dry.stderr);
        assert_eq!((dry.ok, &dry.stderr), (real.ok, &real.stderr), "{file}");
    }
}

#[test]
fn a_fault_older_than_the_gate_neither_blocks_its_object_nor_any_other_add_on() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.until_says("helloworld", "cluster1", "False", "InstallSucceed");
    stored_behind_the_gates_back(&dev, BANANA);

    // The invalid add-on reports its errors, with the webhook's messages, and the other one is reconciled.
    let held = dev.until("the faulty add-on says so", &["mca", "-A"], |list| {
        on_cluster(list, "banana", "cluster2")
            .is_some_and(|found| state_of(found, "Stalled").1 == "RolloutStrategyInvalid")
    });
    let held = on_cluster(&held, "banana", "cluster2").expect("just seen");
    let said = message_of(held, "Configured");
    assert!(said.contains("[rollout/min-success-time]"), "{said}");
    let patch = r#"{"spec":{"customizedVariables":[{"name":"GREETING","value":"ahoy"}]}}"#;
    let config = [
        "addondeploymentconfig",
        "helloworld",
        "-n",
        "open-cluster-management",
    ];
    dev.succeed(&[&["patch"], &config[..], &["--type=merge", "-p", patch]].concat());
    dev.until_says("helloworld", "cluster1", "False", "UpgradeSucceed");
    dev.until_says("helloworld", "cluster2", "False", "UpgradeSucceed");

    let labelled = dev.kubectl(&["label", "cma", "banana", "fruit=yellow"]);
    assert!(labelled.ok, "{}", labelled.stderr);

    let elsewhere = r#"{"spec":{"addOnMeta":{"displayName":"Banana"}}}"#;
    let edited = dev.kubectl(&["patch", "cma", "banana", "--type=merge", "-p", elsewhere]);
    let warned = edited.stderr.contains("Warning:") && edited.stderr.contains("[rollout/min-success-time]");
    assert!(edited.ok && warned, "{}", edited.stderr);

    let worse = format!(r#"[{{"op":"replace","path":"{SOAK}","value":"apple"}}]"#);
    refused(&dev, &worse, "rollout/min-success-time");
    let another = r#"[{"op":"add","path":"/spec/installStrategy/placements/0/addonSpec","value":{"installNamespace":"NO"}}]"#;
    refused(&dev, another, "install/namespace");

    let better = format!(r#"[{{"op":"replace","path":"{SOAK}","value":"5m"}}]"#);
    let repaired = dev.kubectl(&[
        "patch",
        "cma",
        "banana",
        "--type=json",
        "--dry-run=server",
        "-p",
        &better,
    ]);
    let is_silent = !repaired.stderr.contains("[rollout/min-success-time]");
    assert!(repaired.ok && is_silent, "{}", repaired.stderr);
}

/// Clients with a `force` take every 422 for an immutable field: they delete the object, and its add-on goes from every cluster.
#[test]
fn a_wrong_value_that_is_forced_deletes_nothing() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.until_says("helloworld", "cluster1", "False", "InstallSucceed");
    let uids = || {
        let all = dev.read(&["cma,mca", "-A"]);
        let items = all["items"].as_array().into_iter().flatten();
        items
            .map(|item| item["metadata"]["uid"].to_string())
            .collect::<Vec<_>>()
    };
    let before = uids();
    let addon = repository(EXAMPLES).join("06-cluster-management-addon.yaml");
    let right = std::fs::read_to_string(addon).expect("the example is there");
    let wrong = right.replace(
        "type: All",
        "type: Progressive\n        progressive: {maxConcurrency: 130%, minSuccessTime: banana}",
    );
    assert_ne!(right, wrong, "the example has its strategy");
    let run = dev.kubectl_with(&["apply", "--force", "-f", "-"], &wrong);
    assert!(!run.ok, "it is refused");
    for said in [
        "Error from server (Forbidden)",
        "ClusterManagementAddOn.addon.open-cluster-management.io \"helloworld\" is invalid:\n* spec.installStrategy",
        "must be between 1% and 100% [rollout/max-concurrency]",
        "[rollout/min-success-time]",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    assert_eq!(uids(), before, "nothing was deleted and created again");
}

#[test]
fn a_guarded_add_on_is_deleted_when_the_guard_is_taken_off() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.until_says("helloworld", "cluster2", "False", "InstallSucceed");
    dev.succeed(&["annotate", "cma", "helloworld", "tidegate.io/deletion-guard=true"]);
    let run = dev.kubectl(&["delete", "cma", "helloworld"]);
    let said = "2 clusters have this add-on, which the annotation tidegate.io/deletion-guard protects";
    assert!(!run.ok && run.stderr.contains(said), "{}", run.stderr);
    assert!(run.stderr.contains("(Forbidden)"), "{}", run.stderr);
    dev.succeed(&["annotate", "cma", "helloworld", "tidegate.io/deletion-guard-"]);
    dev.succeed(&["delete", "cma", "helloworld", "--timeout=60s"]);
}

/// Argo CD prunes in the foreground by default.
#[test]
fn a_prune_in_the_foreground_leaves_nothing() {
    let dev = Dev::start(&["--clusters", "2", "--no-demo"]);
    let folder = repository(EXAMPLES).to_string_lossy().into_owned();
    dev.succeed(&["apply", "-f", &folder]);
    dev.until_says("helloworld", "cluster1", "False", "InstallSucceed");
    dev.succeed(&[
        "delete",
        "--cascade=foreground",
        "--ignore-not-found",
        "--timeout=90s",
        "-f",
        &folder,
    ]);
    let left = dev.read(&[
        "cma,mca,placements,managedclustersets,managedclustersetbindings",
        "-A",
    ]);
    let items = left["items"].as_array().into_iter().flatten();
    let names: Vec<&Value> = items.map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(names, ["default"], "the set that the hub itself has");
}

#[test]
fn an_object_with_an_old_fault_can_be_deleted_and_released() {
    let dev = Dev::start(&["--clusters", "1"]);
    let held = BANANA.replace(
        "  name: banana\n",
        "  name: banana\n  finalizers: [example.com/hold]\n",
    );
    stored_behind_the_gates_back(&dev, &held);
    let deleted = dev.kubectl(&["delete", "cma", "banana", "--wait=false"]);
    assert!(deleted.ok, "{}", deleted.stderr);
    let leaving = dev.read(&["cma", "banana"]);
    assert!(leaving["metadata"]["deletionTimestamp"].is_string(), "{leaving}");
    let release = r#"[{"op":"remove","path":"/metadata/finalizers"}]"#;
    let released = dev.kubectl(&["patch", "cma", "banana", "--type=json", "-p", release]);
    assert!(released.ok, "{}", released.stderr);
    dev.succeed(&["wait", "cma/banana", "--for=delete", "--timeout=60s"]);
    dev.until("its instances go", &["mca", "-A"], |list| {
        list["items"]
            .as_array()
            .is_some_and(|items| items.iter().all(|item| item["metadata"]["name"] != "banana"))
    });
}

/// Stores a manifest that the gate would refuse: takes the gate's registration away for that moment.
fn stored_behind_the_gates_back(dev: &Dev, manifest: &str) {
    let refused = dev.apply(manifest);
    assert!(!refused.ok, "the gate must refuse what this story stores");
    let kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    let mut saved = Vec::new();
    for kind in kinds {
        let list = dev.read(&[kind]);
        saved.extend(list["items"].as_array().expect("a list has items").clone());
    }
    assert_eq!(saved.len(), 2, "there are two webhook configurations");
    dev.succeed(&["delete", &kinds.join(","), "--all"]);
    let stored = dev.apply(manifest);
    assert!(stored.ok, "{}", stored.stderr);
    for configuration in &saved {
        let back = dev.kubectl_with(&["create", "-f", "-"], &configuration.to_string());
        assert!(back.ok, "{}", back.stderr);
    }
    let probe = manifest.replace("banana", "pear");
    dev.until_run(
        "the gate is back",
        &["create", "--dry-run=server", "-f", "-"],
        &probe,
        |run| !run.ok,
    );
}

fn refused(dev: &Dev, patch: &str, rule: &str) {
    let run: Run = dev.kubectl(&["patch", "cma", "banana", "--type=json", "-p", patch]);
    let said = run.stderr.contains(&format!("[{rule}]")) && run.stderr.contains("is invalid:");
    assert!(!run.ok && said, "{patch}: {}", run.stderr);
}

fn without_difference(dev: &Dev, folder: &str) {
    let diff = dev.kubectl(&["diff", "-f", folder]);
    assert_eq!(diff.code, Some(0), "{}{}", diff.stdout, diff.stderr);
    assert!(diff.stdout.is_empty(), "{}", diff.stdout);
}

/// Returns kind, namespace, name and generation of every object of the examples' kinds, and the resource version where
/// no client but the user writes.
fn versions(dev: &Dev) -> Vec<String> {
    let mut all = Vec::new();
    for kind in KINDS {
        let list = dev.read(&[kind, "-A"]);
        for item in list["items"].as_array().expect("a list has items") {
            let metadata = &item["metadata"];
            let version = WITHOUT_STATUS
                .contains(&kind)
                .then(|| &metadata["resourceVersion"]);
            let (namespace, name) = (&metadata["namespace"], &metadata["name"]);
            all.push(format!(
                "{kind} {namespace} {name} {} {version:?}",
                metadata["generation"]
            ));
        }
    }
    assert!(all.len() > KINDS.len(), "{all:?}");
    all
}

/// Returns the keys that `live` has and `git` has not, and fails where both have one and differ.
fn added(git: &Value, live: &Value) -> Vec<String> {
    let (git, live) = (
        git.as_object().expect("an object"),
        live.as_object().expect("an object"),
    );
    for (key, value) in git {
        assert_eq!(live.get(key), Some(value), "{key}");
    }
    live.keys()
        .filter(|key| !git.contains_key(*key))
        .cloned()
        .collect()
}
