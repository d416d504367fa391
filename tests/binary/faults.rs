//! Faults that start and end while the hub runs, and what `why` reports about them, with the real binary.
//!
//! `dev/spokes` simulates the faults. Nothing here waits for a clock: every test ends with an observed state.

use std::time::Instant;

use serde_json::{Value, json};

use crate::rig::{Dev, PATIENCE, Run, message_of, on_cluster, run, state_of, tidegate};

/// Runs a subcommand of `dev` on the folder of a hub.
pub(crate) fn told(dev: &Dev, words: &[&str]) -> Run {
    let state = dev.state().to_string_lossy().into_owned();
    run(&[&["dev"], words, &["--dir", &state]].concat())
}

/// Runs `why` against the hub.
fn why(dev: &Dev, words: &[&str]) -> Run {
    let output = tidegate()
        .arg("why")
        .args(words)
        .env("KUBECONFIG", &dev.kubeconfig)
        .output();
    Run::from(output.expect("it ends"))
}

/// Asks `why` until the answer is as it should be; returns it.
fn until_why(dev: &Dev, words: &[&str], holds: impl Fn(&Run) -> bool) -> Run {
    let begun = Instant::now();
    loop {
        let said = why(dev, words);
        if holds(&said) {
            return said;
        }
        assert!(begun.elapsed() < PATIENCE, "{}{}", said.stdout, said.stderr);
    }
}

fn available(cluster: &Value) -> String {
    state_of(cluster, "ManagedClusterConditionAvailable").0
}

fn typos_are_reported_and_change_nothing(dev: &Dev) {
    let slip = told(dev, &["fault", "cluster9", "offline"]);
    assert_eq!(slip.code, Some(2), "{}", slip.stdout);
    assert!(
        slip.stderr.contains("no cluster matches \"cluster9\""),
        "{}",
        slip.stderr
    );
    let slip = told(dev, &["fault", "cluster3", "oflline"]);
    assert_eq!(slip.code, Some(2), "{}", slip.stdout);
    assert!(
        slip.stderr.contains("it is one of delay, apply-failure"),
        "{}",
        slip.stderr
    );
}

fn edit_the_configuration(dev: &Dev) {
    let patch =
        json!({"spec": {"customizedVariables": [{"name": "GREETING", "value": "changed"}]}}).to_string();
    let edit = [
        "patch",
        "addondeploymentconfig",
        "helloworld",
        "-n",
        "open-cluster-management",
        "--type",
        "merge",
        "-p",
        &patch,
    ];
    dev.until_run("the configuration is edited", &edit, "", |run| run.ok);
}

#[test]
fn a_cluster_goes_offline_in_the_middle_of_a_rollout_and_is_healed() {
    let dev = Dev::start(&["--clusters", "3"]);
    for cluster in ["cluster1", "cluster2", "cluster3"] {
        dev.until_says("helloworld", cluster, "False", "InstallSucceed");
    }
    assert_eq!(told(&dev, &["fault"]).stdout, "no active faults\n");
    typos_are_reported_and_change_nothing(&dev);
    let cut = told(&dev, &["fault", "cluster3", "offline"]);
    assert!(cut.ok, "{}", cut.stderr);
    assert_eq!(cut.stdout, "cluster3: offline\n");
    dev.until("it is offline", &["managedcluster", "cluster3"], |found| {
        available(found) == "Unknown"
    });
    assert_eq!(told(&dev, &["fault"]).stdout, "cluster3  offline\n");

    edit_the_configuration(&dev);
    dev.until_says("helloworld", "cluster1", "False", "UpgradeSucceed");
    let away = until_why(&dev, &["helloworld", "--cluster", "cluster3"], |said| {
        said.stdout.contains("code:  why/cluster-unreachable")
    });
    assert_eq!(away.code, Some(1), "{}", away.stdout);
    assert!(
        away.stdout.contains("kubectl describe managedcluster cluster3"),
        "{}",
        away.stdout
    );

    assert!(told(&dev, &["heal", "cluster3"]).ok);
    dev.until_says("helloworld", "cluster3", "False", "UpgradeSucceed");
    until_why(&dev, &["helloworld"], |said| {
        said.code == Some(0) && said.stdout.contains("3 of 3")
    });
    assert_eq!(told(&dev, &["fault"]).stdout, "no active faults\n");

    // kubectl can do the same.
    dev.succeed(&[
        "annotate",
        "managedcluster",
        "cluster2",
        "simulated-cluster/faults=offline",
    ]);
    dev.until("it is offline", &["managedcluster", "cluster2"], |found| {
        available(found) == "Unknown"
    });
}

#[test]
fn two_hubs_do_not_share_a_folder() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo", "--fault", "cluster1=delay:1s"]);
    let second = told(&dev, &[]);
    assert_eq!(second.code, Some(2), "{}", second.stdout);
    assert!(
        second.stderr.contains("belongs to a hub that runs") && second.stderr.contains("--dir"),
        "{}",
        second.stderr
    );
    assert_eq!(
        told(&dev, &["fault"]).stdout,
        "cluster1  delay:1s\n",
        "faults of the start are listed, too"
    );
    let nowhere = run(&["dev", "fault", "--dir", "/nowhere/at/all"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(
        nowhere.stderr.contains("no hub was started in folder"),
        "{}",
        nowhere.stderr
    );
}

const HOOKED: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
     "metadata": {"name": "global", "namespace": "default"}, "spec": {"clusterSet": "global"}},
    {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
     "metadata": {"name": "everywhere", "namespace": "default"}, "spec": {"clusterSets": ["global"]}},
    {"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnTemplate", "metadata": {"name": "aa-v1"},
     "spec": {"addonName": "aa", "agentSpec": {"workload": {"manifests": [
        {"apiVersion": "batch/v1", "kind": "Job",
         "metadata": {"name": "tidy", "namespace": "default", "annotations": {"addon.open-cluster-management.io/addon-pre-delete": ""}},
         "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "t", "image": "busybox:1.36.1"}]}}}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aa", "namespace": "default"}}]}}}},
    {"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn", "metadata": {"name": "aa"},
     "spec": {"supportedConfigs": [{"group": "addon.open-cluster-management.io", "resource": "addontemplates", "defaultConfig": {"name": "aa-v1"}}],
        "installStrategy": {"type": "Placements", "placements": [{"name": "everywhere", "namespace": "default"}]}}}]}"#;

#[test]
fn why_names_the_hanging_hook_that_blocks_a_deletion() {
    let dev = Dev::start(&["--clusters", "2", "--no-demo", "--fault", "cluster2=hook-hang"]);
    dev.until_run("it is stored", &["apply", "-f", "-"], HOOKED, |run| run.ok);
    dev.until_says("aa", "cluster1", "False", "InstallSucceed");
    dev.until_says("aa", "cluster2", "False", "InstallSucceed");
    dev.succeed(&["delete", "clustermanagementaddon", "aa", "--wait=false"]);
    // With the ordinary patience the hook may yet end by itself: a healthy end.
    let healthy = until_why(&dev, &["aa"], |said| {
        said.stdout.contains("code: why/pre-delete-hook")
    });
    assert_eq!(healthy.code, Some(0), "{}", healthy.stdout);
    // Without it the hook hangs.
    let stuck = until_why(
        &dev,
        &["aa", "--cluster", "cluster2", "--startup-time", "1s"],
        |said| said.code == Some(1),
    );
    assert!(
        stuck.stdout.contains("code:  why/pre-delete-hook"),
        "{}",
        stuck.stdout
    );
    let typed =
        "kubectl annotate --field-manager=ops managedclusteraddon aa -n cluster2 tidegate.io/skip-hooks=true";
    assert!(stuck.stdout.contains(typed), "{}", stuck.stdout);
    let words: Vec<&str> = typed.split(' ').skip(1).collect();
    dev.succeed(&words);
    let gone = until_why(&dev, &["aa"], |said| said.code == Some(2));
    assert!(
        gone.stderr
            .contains("no ClusterManagementAddOn has the name \"aa\""),
        "{}",
        gone.stderr
    );
    assert!(gone.stderr.starts_with("tidegate: no Cluster"), "{}", gone.stderr);
}

#[test]
fn clusters_that_come_round_finish_by_themselves() {
    let dev = Dev::start(&[
        "--clusters",
        "3",
        "--fault",
        "cluster2=apply-failure:disk full",
        "--fault",
        "cluster3=offline",
    ]);
    let failed = dev.until_says("helloworld", "cluster2", "False", "InstallFailed");
    let said = message_of(&failed, "Progressing");
    assert!(said.contains("disk full"), "{said}");
    let away = dev.until_says("helloworld", "cluster3", "True", "Installing");
    assert_eq!(state_of(&away, "Ready").0, "False", "no report from cluster3");
    dev.until("the hub reports Unknown", &["mca", "-A"], |list| {
        let away = on_cluster(list, "helloworld", "cluster3");
        away.is_some_and(|found| state_of(found, "Available").0 == "Unknown")
    });
    dev.until_says("helloworld", "cluster1", "False", "InstallSucceed");

    // Only now that all is seen: a fault that ends by itself may be over before the test looks.
    for (cluster, fault) in [
        ("cluster2", "apply-failure,for=1s:disk full"),
        ("cluster3", "offline,for=1s"),
    ] {
        let again = told(&dev, &["fault", cluster, fault]);
        assert!(again.ok, "{}", again.stderr);
    }
    for cluster in ["cluster2", "cluster3"] {
        let done = dev.until_says("helloworld", cluster, "False", "InstallSucceed");
        assert_eq!(
            message_of(&done, "Progressing"),
            "install completed with no errors.",
            "{cluster}"
        );
        dev.succeed(&[
            "wait",
            "mca/helloworld",
            "-n",
            cluster,
            "--for=condition=Ready",
            "--timeout=60s",
        ]);
    }
}
