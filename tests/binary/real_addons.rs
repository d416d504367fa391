//! Add-ons as other projects write them, on a hub with the real webhook: a signer of OCM's domain, a program that declares its types
//! itself, fields of a newer CRD.
//!
//! None of them is denied or gets a warning without reason, and real errors are still reported.

use serde_json::{Value, json};

use crate::rig::{Dev, condition, run};

const GIT_AGENT: &str = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: gitagent}
spec:
  addonName: gitagent
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: gitagent, namespace: gitagent}, data: {a: b}}
  registration:
  - type: CustomSigner
    customSigner: {signerName: open-cluster-management.io/gitagent, signingCA: {name: agent-ca, namespace: default}}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: gitagent}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: gitagent}}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: gitagent, namespace: cluster1}
spec: {}
";

const TUNNEL: &str = r"
apiVersion: addon.open-cluster-management.io/v1beta1
kind: ClusterManagementAddOn
metadata: {name: tunnel}
spec:
  defaultConfigs: [{group: proxy.example.com, resource: tunnelconfigurations, name: tunnel}]
---
apiVersion: addon.open-cluster-management.io/v1beta1
kind: AddOnDeploymentConfig
metadata: {name: tunnel, namespace: cluster1}
spec: {agentInstallNamespace: tunnel-agent}
";

fn tunnel(cluster: &str, group: &str, resource: &str) -> String {
    json!({"apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "tunnel", "namespace": cluster},
        "spec": {"configs": [{"group": group, "resource": resource, "namespace": "cluster1", "name": "tunnel"}]}})
    .to_string()
}

#[test]
fn a_signer_of_ocms_domain_is_registered_and_a_reserved_one_is_refused() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    let stored = dev.apply(GIT_AGENT);
    assert!(
        stored.ok && !stored.stderr.contains("template/signer"),
        "{}",
        stored.stderr
    );
    let registered = |found: &Value| {
        let applied = condition(found, "RegistrationApplied").is_some_and(|one| one["status"] == "True");
        let registrations = found["status"]["registrations"].to_string();
        applied && registrations.contains("\"open-cluster-management.io/gitagent\"")
    };
    dev.until(
        "gitagent is registered",
        &["mca", "gitagent", "-n", "cluster1"],
        registered,
    );
    let reserved = GIT_AGENT.replace(
        "open-cluster-management.io/gitagent,",
        "open-cluster-management.io/proxy-agent-signer,",
    );
    let refused = dev.apply(&reserved);
    assert!(
        !refused.ok
            && refused
                .stderr
                .contains("reserved for the add-on \"cluster-proxy\""),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_types_of_a_program_count_as_soon_as_it_declares_them_on_any_cluster() {
    let dev = Dev::start(&["--clusters", "3", "--no-demo"]);
    let stored = dev.apply(TUNNEL);
    assert!(stored.ok, "{}", stored.stderr);
    let ours = "addon.open-cluster-management.io";
    // The webhook learns of an add-on, and of a status, a moment after it is stored.
    let dry = ["apply", "--dry-run=server", "-f", "-"];
    let probe = tunnel("cluster1", ours, "addondeploymentconfigs");
    dev.until_run("the webhook knows the add-on", &dry, &probe, |tried| {
        tried.ok && !tried.stderr.contains("naming/unknown-addon")
    });
    let first = dev.apply(&tunnel("cluster1", ours, "addondeploymentconfigs"));
    assert!(
        first.ok && first.stderr.contains("[config/unsupported-type]"),
        "{}",
        first.stderr
    );
    // The program of the add-on writes what it supports.
    let status =
        json!({"status": {"supportedConfigs": [{"group": ours, "resource": "addondeploymentconfigs"}]}});
    let patch = status.to_string();
    dev.succeed(&[
        "patch",
        "mca",
        "tunnel",
        "-n",
        "cluster1",
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ]);
    let probe = tunnel("cluster2", ours, "addondeploymentconfigs");
    dev.until_run("the type is known on another cluster", &dry, &probe, |tried| {
        tried.ok && !tried.stderr.contains("[config/unsupported-type]")
    });
    let second = dev.apply(&tunnel("cluster2", ours, "addondeploymentconfigs"));
    assert!(
        second.ok && !second.stderr.contains("[config/unsupported-type]"),
        "{}",
        second.stderr
    );
    let third = dev.apply(&tunnel("cluster3", "example.com", "others"));
    assert!(
        !third.ok && third.stderr.contains("Unsupported value: \"others\""),
        "{}",
        third.stderr
    );
}

const NEWER: &str = r"
apiVersion: addon.open-cluster-management.io/v1beta1
kind: ClusterManagementAddOn
metadata: {name: newer}
spec: {addOnMeta: {displayName: newer}, hostedModeAutoDiscovery: {mode: Enable}}
";
const DEFINITION: &str = "clustermanagementaddons.addon.open-cluster-management.io";

/// Replaces the definition of ClusterManagementAddOns by one with another spec.
fn redefine(dev: &Dev, change: impl Fn(&mut serde_json::Map<String, Value>)) {
    let mut crd = dev.read(&["crd", DEFINITION]);
    for version in crd["spec"]["versions"].as_array_mut().expect("versions") {
        let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        change(spec.as_object_mut().expect("properties"));
    }
    let replaced = dev.kubectl_with(&["replace", "-f", "-"], &crd.to_string());
    assert!(replaced.ok, "{}", replaced.stderr);
}

#[test]
fn the_hubs_definition_says_which_fields_are_dropped() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("addon.yaml");
    let text = file.to_string_lossy().into_owned();
    let kubeconfig = dev.kubeconfig.to_string_lossy().into_owned();
    let check = |manifest: &str, live: bool| {
        std::fs::write(&file, manifest).expect("writable");
        let live: &[&str] = if live {
            &["--live", "--kubeconfig", &kubeconfig]
        } else {
            &[]
        };
        let checked = run(&[&["check", &text], live].concat());
        assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
        checked.stdout
    };
    redefine(&dev, |spec| {
        let mode = json!({"type": "object", "properties": {"mode": {"type": "string"}}});
        spec.insert("hostedModeAutoDiscovery".to_owned(), mode);
    });
    dev.until_run(
        "the hub serves the new definition",
        &["explain", "clustermanagementaddons.spec.hostedModeAutoDiscovery"],
        "",
        |seen| seen.ok,
    );
    let stored = dev.apply(NEWER);
    assert!(
        stored.ok && !stored.stderr.contains("unknown field"),
        "{}",
        stored.stderr
    );
    let found = dev.read(&[
        "clustermanagementaddons.v1beta1.addon.open-cluster-management.io",
        "newer",
    ]);
    assert_eq!(found["spec"]["hostedModeAutoDiscovery"]["mode"], "Enable");
    assert!(check(NEWER, false).contains("schema/unknown-field"));
    let live = check(NEWER, true);
    assert!(!live.contains("unknown-field"), "{live}");

    redefine(&dev, |spec| {
        spec.remove("configuration");
    });
    let older = NEWER.replace(
        "hostedModeAutoDiscovery: {mode: Enable}",
        "configuration: {configs: [{group: addon.open-cluster-management.io, resource: addonhubconfigs, name: a}]}",
    );
    let older = older.replace("v1beta1", "v1alpha1");
    assert!(!check(&older, false).contains("unknown-field"));
    let live = check(&older, true);
    assert!(
        live.contains("the hub's CRD does not have it") && live.contains("update the CRD of the hub"),
        "{live}"
    );
}
