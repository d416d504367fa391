//! Upgrades of whole clusters at the gate, as `kubectl apply` meets it.
//!
//! Never asserts what becomes of an upgrade.

use crate::rig::{Dev, repository};

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
