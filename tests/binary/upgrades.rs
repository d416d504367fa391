//! Validation of cluster upgrades, as `kubectl apply` shows it.

use crate::rig::{Dev, repository, run};

const WRONG: &str = r#"
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata: {name: wrong, namespace: default}
spec:
  placement: [{name: dev-clusters, namespace: ""}]
  clusterVersion: {version: v4.12.0, channel: stable-4.11}
  upgradeStrategy: {maxConcurrency: 0, clusterUpgradeTimeout: 2d}
"#;

#[test]
fn an_upgrade_that_cannot_work_is_refused_with_all_its_faults_and_the_proposals_is_stored() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    let run = dev.apply(WRONG);
    assert!(!run.ok, "it must be refused");
    let title = "The ManagedClustersUpgrade \"wrong\" is invalid:";
    assert!(run.stderr.contains(title), "{}", run.stderr);
    let told: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("* ")).collect();
    for (path, right, rule) in [
        (
            "spec.clusterVersion.version",
            "hint: did you mean \"4.12.0\"?",
            "upgrade/version",
        ),
        ("spec.placement[0].namespace", "must be", "upgrade/selection"),
        (
            "spec.upgradeStrategy.clusterUpgradeTimeout",
            "hint: did you mean \"48h\"?",
            "upgrade/timeout",
        ),
        (
            "spec.upgradeStrategy.maxConcurrency",
            "must be",
            "upgrade/max-concurrency",
        ),
    ] {
        let begin = format!("* {path}: ");
        let line = told.iter().find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_else(|| panic!("no line for {path}:\n{}", run.stderr));
        assert!(
            line.contains(right) && line.trim_end().ends_with(&format!("[{rule}]")),
            "{line}"
        );
    }
    assert_eq!(told.len(), 4, "{}", run.stderr);
    let stored = dev.kubectl(&["get", "mcu", "wrong"]);
    assert!(stored.stderr.contains("not found"), "nothing was stored");

    let example = repository("tests/data/upgrades/example.yaml");
    let run = dev.kubectl(&["apply", "-f", &example.to_string_lossy()]);
    assert!(run.ok, "{}", run.stderr);
    let edit = r#"{"spec": {"clusterVersion": {"version": "4.12"}}}"#;
    let run = dev.kubectl(&["patch", "mcu", "mcu-upgrades", "--type=merge", "-p", edit]);
    assert!(
        !run.ok && run.stderr.contains("[upgrade/version]"),
        "{}",
        run.stderr
    );
    dev.succeed(&["label", "mcu", "mcu-upgrades", "wave=first"]);
}

#[test]
fn the_cause_for_which_a_cluster_refuses_an_upgrade_is_shown_whole_with_a_fix_that_fits() {
    let fault = "cluster4=not-upgradeable:operator foo blocks";
    let dev = Dev::start(&[
        "--clusters",
        "4",
        "--demo",
        "upgrade",
        "--upgrade-time",
        "2s",
        "--fault",
        fault,
    ]);
    let kubeconfig = dev.kubeconfig.to_string_lossy().into_owned();
    let cause = "operator foo blocks";
    let upgrades = dev.until("it is not accepted", &["mcu", "-A"], |upgrades| {
        upgrades.to_string().contains("NotAccepted")
    });
    let upgrade = upgrades["items"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one.to_string().contains("NotAccepted")))
        .expect("just seen");
    let clusters = upgrade["status"]["clusters"].as_array().expect("clusters");
    let refused = clusters
        .iter()
        .find(|one| one["reason"] == "NotAccepted")
        .expect("just seen");
    let message = refused["message"].as_str().expect("a message");
    let is_whole = message.ends_with(cause) && message.contains("because of \"AdminAckRequired\"");
    assert!(is_whole, "{message}");
    let name = upgrade["metadata"]["name"].as_str().expect("a name");
    let namespace = upgrade["metadata"]["namespace"].as_str().expect("a namespace");
    let why = run(&[
        "why",
        &format!("mcu/{namespace}/{name}"),
        "--kubeconfig",
        &kubeconfig,
    ]);
    assert!(
        why.stdout.contains("AdminAckRequired") && why.stdout.contains("operator foo blocks"),
        "{}",
        why.stdout
    );
    assert!(
        why.stdout.contains("openshift-config/admin-acks"),
        "{}",
        why.stdout
    );
    assert!(
        !why.stdout.contains("spec.clusterVersion.channel"),
        "{}",
        why.stdout
    );
}

#[test]
fn lists_are_whole_where_no_terminal_shows_them() {
    let dev = Dev::start(&["--clusters", "30"]);
    let kubeconfig = dev.kubeconfig.to_string_lossy().into_owned();
    for verb in [
        &["rollout", "status", "helloworld"][..],
        &["rollout", "history", "helloworld"],
        &["rollout", "list"],
        &["plan", "--live"],
        &["why", "helloworld"],
        &["doctor"],
    ] {
        let page = run(&[verb, &["--kubeconfig", &kubeconfig]].concat());
        let cut = page
            .stdout
            .lines()
            .find(|line| line.ends_with('…') || line.ends_with(" more"));
        assert_eq!(cut, None, "{verb:?}: {}{}", page.stdout, page.stderr);
    }
}
