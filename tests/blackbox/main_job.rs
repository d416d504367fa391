//! The main job: a right add-on is installed, configured, upgraded and reported on every cluster.
//!
//! Never asserts about refusals; `admission` does.

use std::time::Duration;

use serde_json::Value;

use crate::rig::{Dev, condition, repository, state_of};

const ADDON: &str = "helloworld";

#[test]
fn the_demo_add_on_gets_ready_on_every_cluster() {
    let dev = Dev::start(&["--clusters", "5"]);
    let wait = dev.kubectl(&[
        "wait",
        "mca/helloworld",
        "-n",
        "cluster1",
        "--for=condition=Ready",
        "--timeout=30s",
    ]);
    assert!(wait.ok, "{}", wait.stderr);

    let all = until_all(&dev, "InstallSucceed");
    assert_eq!(all.len(), 5, "one add-on a cluster");
    for addon in &all {
        let cluster = addon["metadata"]["namespace"].as_str().expect("a namespace");
        assert_eq!(
            state_of(addon, "Progressing"),
            ("False".into(), "InstallSucceed".into()),
            "{cluster}"
        );
        let work = dev.read(&["manifestwork", "addon-helloworld-deploy-0", "-n", cluster]);
        assert_eq!(
            hashes_of_work(&work),
            hashes_of_status(addon, "desiredConfig"),
            "{cluster}"
        );
        assert_eq!(
            hashes_of_status(addon, "lastAppliedConfig"),
            hashes_of_status(addon, "desiredConfig"),
            "{cluster}"
        );
    }

    let table = dev.kubectl(&["get", "mca", "-A"]);
    assert!(
        table.stdout.starts_with("NAMESPACE") && table.stdout.contains("PROGRESSING"),
        "{}",
        table.stdout
    );
    assert_eq!(table.stdout.lines().count(), 6, "{}", table.stdout);
}

#[test]
fn applying_the_examples_over_the_demo_changes_nothing() {
    let dev = Dev::start(&["--clusters", "1"]);
    let run = dev.kubectl(&["apply", "-f", &repository("manifests/examples").to_string_lossy()]);
    assert!(run.ok && run.stderr.is_empty(), "{}", run.stderr);
    assert!(
        run.stdout.lines().all(|line| line.ends_with(" unchanged")),
        "{}",
        run.stdout
    );
    assert_eq!(run.stdout.lines().count(), 7, "{}", run.stdout);
}

#[test]
fn editing_the_configuration_moves_every_cluster_and_then_nothing_is_written() {
    let dev = Dev::start(&["--clusters", "4", "--fault", "cluster2=delay:3s"]);
    let before = until_all(&dev, "InstallSucceed");

    let patch = r#"{"spec":{"customizedVariables":[{"name":"GREETING","value":"ahoy"}]}}"#;
    let edit = dev.kubectl(&[
        "patch",
        "addondeploymentconfig",
        "helloworld",
        "-n",
        "open-cluster-management",
        "--type=merge",
        "-p",
        patch,
    ]);
    assert!(edit.ok, "{}", edit.stderr);

    // cluster2 applies slowly, so the state between is there to be seen.
    dev.until(
        "cluster2 says Upgrading",
        &["mca", ADDON, "-n", "cluster2"],
        |addon| state_of(addon, "Progressing") == ("True".into(), "Upgrading".into()),
    );
    let after = until_all(&dev, "UpgradeSucceed");
    for (old, new) in before.iter().zip(&after) {
        assert_ne!(
            hashes_of_status(old, "desiredConfig"),
            hashes_of_status(new, "desiredConfig")
        );
        assert_eq!(
            hashes_of_status(new, "lastAppliedConfig"),
            hashes_of_status(new, "desiredConfig")
        );
    }

    // The add-on's own status and the events follow its clusters' in a moment of their own.
    dev.comes_to_rest(Duration::from_secs(8));
}

#[test]
fn a_cluster_that_cannot_apply_says_so_and_holds_nobody_up() {
    let dev = Dev::start(&[
        "--clusters",
        "4",
        "--fault",
        "cluster3=apply-failure:disk quota exceeded",
    ]);
    let failed = dev.until("cluster3 fails", &["mca", ADDON, "-n", "cluster3"], |addon| {
        state_of(addon, "Progressing") == ("False".into(), "InstallFailed".into())
    });
    let message = condition(&failed, "Progressing").expect("just seen")["message"]
        .as_str()
        .unwrap_or_default();
    assert!(
        message.contains("disk quota exceeded"),
        "the agent's own message is shown: {message}"
    );
    assert_eq!(state_of(&failed, "Ready").0, "False");
    for cluster in ["cluster1", "cluster2", "cluster4"] {
        dev.until("the others finish", &["mca", ADDON, "-n", cluster], |addon| {
            state_of(addon, "Progressing") == ("False".into(), "InstallSucceed".into())
        });
    }
}

#[test]
fn deleting_the_add_on_leaves_nothing_on_the_clusters() {
    let dev = Dev::start(&["--clusters", "3"]);
    until_all(&dev, "InstallSucceed");
    let delete = dev.kubectl(&["delete", "clustermanagementaddon", ADDON, "--timeout=30s"]);
    assert!(delete.ok, "{}", delete.stderr);
    for kind in ["managedclusteraddons", "manifestworks"] {
        dev.until("all gone", &[kind, "-A"], |list| {
            list["items"].as_array().is_some_and(Vec::is_empty)
        });
    }
}

/// Waits until every add-on reports this Progressing reason and Ready; returns them by cluster.
fn until_all(dev: &Dev, reason: &str) -> Vec<Value> {
    let list = dev.until(reason, &["mca", "-A"], |list| {
        let items = list["items"].as_array().expect("a list has items");
        !items.is_empty()
            && items.iter().all(|addon| {
                state_of(addon, "Progressing") == ("False".into(), reason.into())
                    && state_of(addon, "Ready").0 == "True"
            })
    });
    list["items"].as_array().expect("a list has items").clone()
}

/// Returns `resource/namespace/name → hash` of the annotation that the work carries.
fn hashes_of_work(work: &Value) -> Vec<(String, String)> {
    let text = work["metadata"]["annotations"]["open-cluster-management.io/config-spec-hash"]
        .as_str()
        .unwrap_or("{}");
    let map: std::collections::BTreeMap<String, String> =
        serde_json::from_str(text).expect("the annotation is JSON");
    map.into_iter().collect()
}

/// Returns the same of a status, from `desiredConfig` or `lastAppliedConfig`.
fn hashes_of_status(addon: &Value, which: &str) -> Vec<(String, String)> {
    let references = addon["status"]["configReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert!(!references.is_empty(), "the demo add-on has configurations");
    let mut hashes: Vec<(String, String)> = references
        .iter()
        .map(|reference| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let config = &reference[which];
            let (group, resource) = (text(&reference["group"]), text(&reference["resource"]));
            let (namespace, name) = (text(&config["namespace"]), text(&config["name"]));
            let hash = text(&config["specHash"]);
            assert_eq!(hash.len(), 64, "a hash is written in full: {reference}");
            (format!("{resource}.{group}/{namespace}/{name}"), hash)
        })
        .collect();
    hashes.sort();
    hashes
}
