//! Versions without a template, requested in every possible field: what is denied, and what still runs.

use crate::rig::{Dev, Run, on_cluster};

const TEMPLATE: &str = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata:
  name: aa-v1
  labels: {addon.open-cluster-management.io/version: v1}
spec:
  addonName: aa
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: aa, namespace: default}}
";

fn hub_config(name: &str, version: &str) -> String {
    format!(
        "{{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: AddOnHubConfig, metadata: {{name: {name}}}, spec: {{desiredVersion: {version}}}}}"
    )
}

fn reference(name: &str) -> String {
    format!("{{group: addon.open-cluster-management.io, resource: addonhubconfigs, name: {name}}}")
}

fn addon(hub_config: &str) -> String {
    format!(
        "{{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: ClusterManagementAddOn, metadata: {{name: aa}}, spec: {{\
         configuration: {{configs: [{}]}}, \
         installStrategy: {{type: Placements, placements: [{{name: all, namespace: default}}]}}}}}}",
        reference(hub_config)
    )
}

/// kubectl takes a text that begins with a brace for JSON.
fn apply(dev: &Dev, manifest: &str) -> Run {
    dev.apply(&format!("---\n{manifest}"))
}

fn refuses(run: &Run, path: &str) {
    assert!(!run.ok, "{}", run.stdout);
    let text = &run.stderr;
    assert!(
        text.contains(path)
            && text.contains("selects version \"v9\"")
            && text.contains("supported values: \"v1\""),
        "{text}"
    );
    assert!(text.contains("[version/unsupported]"), "{text}");
}

#[test]
fn a_version_without_a_template_is_denied_by_name() {
    let dev = Dev::start(&["--clusters", "2", "--no-demo"]);
    for manifest in [
        TEMPLATE,
        &hub_config("good", "v1"),
        &hub_config("bad", "v9"),
        "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: global, namespace: default}, spec: {clusterSet: global}}",
        "{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: all, namespace: default}, spec: {clusterSets: [global]}}",
    ] {
        let run = apply(&dev, manifest);
        assert!(run.ok, "{}", run.stderr);
    }
    refuses(&apply(&dev, &addon("bad")), "spec.configuration.configs[0].name");
    let run = apply(&dev, &addon("good"));
    assert!(run.ok, "{}", run.stderr);
    dev.until("the add-on is there", &["mca", "-A"], |list| {
        on_cluster(list, "aa", "cluster1").is_some_and(|addon| addon["status"]["currentVersion"] == "v1")
    });
    refuses(&apply(&dev, &addon("bad")), "spec.configuration.configs[0].name");
    let patch = r#"{"spec":{"configs":[{"group":"addon.open-cluster-management.io","resource":"addonhubconfigs","name":"bad"}]}}"#;
    let own = dev.kubectl(&[
        "patch",
        "mca",
        "aa",
        "-n",
        "cluster1",
        "--type=merge",
        "-p",
        patch,
    ]);
    refuses(&own, "spec.configs[0].name");
    let still = dev.read(&["mca", "aa", "-n", "cluster1"]);
    assert_eq!(still["status"]["currentVersion"], "v1");
}
