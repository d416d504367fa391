//! An enforcement file that changes while the program runs.

use crate::rig::Dev;

/// A group that is listed twice: a rule of ours refuses it, and no schema does.
const TWICE: &str = "\
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: twice}
spec:
  installStrategy:
    type: Placements
    placements:
      - name: all
        namespace: default
        rolloutStrategy:
          type: Progressive
          progressive: {mandatoryDecisionGroups: [{groupName: canary}, {groupName: canary}]}
";
const RULE: &str = "[rollout/mandatory-groups]";

#[test]
fn dev_takes_up_a_changed_file_as_serve_does() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("enforcement.yaml");
    let put = |text: &str| std::fs::write(&file, text).expect("writable");
    put("");
    let dev = Dev::start(&[
        "--clusters",
        "1",
        "--no-demo",
        "--enforcement",
        &file.to_string_lossy(),
    ]);
    let asked = ["apply", "--dry-run=server", "-f", "-"];
    let refused = dev.kubectl_with(&asked, TWICE);
    assert!(!refused.ok && refused.stderr.contains(RULE), "{}", refused.stderr);

    put("[{rule: \"rollout/*\", action: Warn}]");
    dev.until_run("a warning instead of a refusal", &asked, TWICE, |run| {
        run.ok && run.stderr.contains(RULE)
    });
    put("[{rule: \"rollout/*\", action: \"Off\"}]");
    dev.until_run("silence", &asked, TWICE, |run| {
        run.ok && !run.stderr.contains(RULE)
    });
}
