//! The audit as users see it: `kubectl get policyreports` lists errors of objects that were stored before the webhook was installed.

use crate::rig::Dev;

/// A policy about creations: instances that are older than it are found by the audit, for no later request about them falls under
/// it.
const POLICY: &str = "\
apiVersion: tidegate.io/v1alpha1
kind: AddOnPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [CREATE], resources: [managedclusteraddons]}
  validations:
    - {id: team, expression: 'has(object.metadata.labels) && \"team\" in object.metadata.labels', message: must name its team,
       fieldPath: metadata.labels, suggestion: add a label team}
";

fn columns(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn what_was_there_before_a_policy_is_reported_and_shown_in_columns() {
    let dev = Dev::start(&["--clusters", "2"]);
    let applied = dev.apply(POLICY);
    assert!(applied.ok, "{}", applied.stderr);
    until_reports(&dev, &["cluster1", "cluster2"]);
    let shown = dev.succeed(&["get", "policyreports", "-A"]);
    let mut lines = shown.lines();
    let head = lines.next().map(columns).unwrap_or_default();
    assert_eq!(
        head,
        [
            "NAMESPACE",
            "NAME",
            "PASS",
            "FAIL",
            "WARN",
            "ERROR",
            "SKIP",
            "AGE"
        ]
    );
    let first = lines.next().map(columns).unwrap_or_default();
    assert_eq!(
        first.get(..7).unwrap_or_default(),
        ["cluster1", "tidegate-audit", "0", "1", "0", "0", "0"]
    );
    let report = dev.read(&["policyreport", "tidegate-audit", "-n", "cluster1"]);
    assert_eq!(
        report["results"][0]["message"],
        "metadata.labels: Invalid value: must name its team; hint: add a label team [policy/owned/team]"
    );
    let policies = dev.succeed(&["get", "addonpolicies"]);
    let line = policies.lines().nth(1).map(columns).unwrap_or_default();
    assert_eq!(
        line.get(..4).unwrap_or_default(),
        ["owned", "True", "InForce", "Deny"],
        "{policies}"
    );

    dev.succeed(&["label", "mca", "helloworld", "-n", "cluster1", "team=x"]);
    until_reports(&dev, &["cluster2"]);
    dev.succeed(&["delete", "addonpolicy", "owned"]);
    until_reports(&dev, &[]);
}

/// Waits until these namespaces have a report each, and no other has one.
fn until_reports(dev: &Dev, namespaces: &[&str]) {
    let what = format!("reports of {namespaces:?}");
    dev.until(&what, &["policyreports", "-A"], |list| {
        let reports = list["items"].as_array().into_iter().flatten();
        let places = reports.map(|report| report["metadata"]["namespace"].as_str().unwrap_or_default());
        places.eq(namespaces.iter().copied())
    });
}
