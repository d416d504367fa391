//! The main job: a valid add-on is installed, configured, upgraded and reported on every cluster. `admission` tests denials.

use std::time::Duration;

use serde_json::Value;

use crate::faults::told;
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
        "--timeout=60s",
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

    let table = |args: &[&str]| {
        let printed = dev.kubectl(&[&["get"], args].concat()).stdout;
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        printed.lines().map(words).collect::<Vec<_>>()
    };
    // REASON is that of Ready. Ages differ.
    let mut plain = vec!["NAMESPACE NAME AVAILABLE DEGRADED PROGRESSING READY REASON".to_owned()];
    plain.extend((1..=5).map(|n| format!("cluster{n} helloworld True False True Ready")));
    assert_eq!(table(&["mca", "-A"]), plain);
    let wide = table(&["mca", "-A", "-o", "wide"]);
    assert_eq!(
        wide.first().map(String::as_str),
        Some("NAMESPACE NAME AVAILABLE DEGRADED PROGRESSING READY REASON DESIRED CURRENT AGE")
    );
    let addons = table(&["cma", "-o", "wide"]).join("\n");
    assert!(addons.contains("READY REASON AGE VERSION MESSAGE"), "{addons}");
    assert!(addons.contains("5 of 5 clusters are ready"), "{addons}");
    versions_stand_in_the_tables(&dev);
}

fn versions_stand_in_the_tables(dev: &Dev) {
    let template = r#"{"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnTemplate",
        "metadata": {"name": "other-v1", "labels": {"addon.open-cluster-management.io/version": "v1.2.3"}},
        "spec": {"addonName": "other", "agentSpec": {"workload": {"manifests": []}}}}"#;
    let applied = dev.apply(template);
    assert!(applied.ok, "{}", applied.stderr);
    let printed = dev.kubectl(&["get", "addontemplates", "other-v1"]).stdout;
    let lines: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines.first().map(|line| line.join(" ")).as_deref(),
        Some("NAME ADDON NAME VERSION AGE")
    );
    let row = lines
        .get(1)
        .map(|line| line.iter().take(3).copied().collect::<Vec<_>>());
    assert_eq!(row, Some(vec!["other-v1", "other", "v1.2.3"]));
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
    let dev = Dev::start(&["--clusters", "4"]);
    let before = until_all(&dev, "InstallSucceed");
    let away = told(&dev, &["fault", "cluster2", "offline"]);
    assert!(away.ok, "{}", away.stderr);

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

    // cluster2 is away, so the state between is there to be seen.
    dev.until(
        "cluster2 says Upgrading",
        &["mca", ADDON, "-n", "cluster2"],
        |addon| state_of(addon, "Progressing") == ("True".into(), "Upgrading".into()),
    );
    let back = told(&dev, &["heal", "cluster2"]);
    assert!(back.ok, "{}", back.stderr);
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
fn a_cluster_that_cannot_apply_reports_it_and_blocks_no_other() {
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
    let delete = dev.kubectl(&["delete", "clustermanagementaddon", ADDON, "--timeout=60s"]);
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
