//! The webhook is killed and restarted: meanwhile the hub accepts everything that cannot break OCM, without manual steps.
//!
//! Tests failure policies and match conditions. `admission` tests the rules.

use std::path::Path;

use admission::{BREAK_GLASS, Endpoint, configurations};
use devhub::TestHub;
use serde_json::{Value, json};

use crate::rig::{Run, certificate, defined_hub, kubectl, repository};
use crate::serve::{Serve, until};

fn addon(name: &str, soak: &str) -> String {
    let strategy =
        json!({"type": "Progressive", "progressive": {"minSuccessTime": soak, "maxConcurrency": 1}});
    let placement = json!({"name": "all", "namespace": "default", "rolloutStrategy": strategy});
    object(
        "ClusterManagementAddOn",
        name,
        &json!({"installStrategy": {"type": "Placements", "placements": [placement]}}),
    )
}

fn object(kind: &str, name: &str, spec: &Value) -> String {
    let metadata = json!({"name": name, "namespace": "default"});
    let api_version = "addon.open-cluster-management.io/v1alpha1";
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_gate_is_killed_works_and_finds_it_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    if lacks_conditions(&hub).await {
        return hub.shutdown().await;
    }
    let (authority, chain, key) = certificate(folder.path());
    tokio::task::block_in_place(|| {
        let program = Serve::start_at("127.0.0.1:0", &kubeconfig, &chain, &key);
        let url = program.url.clone();
        for configuration in configurations(&Endpoint::Url(url.clone()), Some(authority.ca_pem())) {
            succeeds(&kubectl(
                &kubeconfig,
                &["apply", "-f", "-"],
                &configuration.to_string(),
            ));
        }
        with_gate(&kubeconfig);
        // Dropped without a signal that it could answer: killed.
        drop(program);
        without_gate(&kubeconfig);
        let address = url.trim_start_matches("https://");
        let _back = Serve::start_at(address, &kubeconfig, &chain, &key);
        until("the gate refuses again", || {
            let run = apply(
                &kubeconfig,
                &object(
                    "ManagedClusterAddOn",
                    "wrong",
                    &json!({"installNamespace": "Not_A_Name"}),
                ),
            );
            !run.ok && run.stderr.contains("[install/namespace]")
        });
        with_gate(&kubeconfig);
    });
    hub.shutdown().await;
}

/// Returns whether the hub drops match conditions, and prints it.
#[expect(clippy::print_stderr, reason = "what a test leaves out is said")]
async fn lacks_conditions(hub: &TestHub) -> bool {
    let minor = hub.minor().await.expect("a version");
    if minor < 28 {
        eprintln!("left out: match conditions came with 1.28, this is 1.{minor}");
    }
    minor < 28
}

fn apply(kubeconfig: &Path, manifest: &str) -> Run {
    kubectl(kubeconfig, &["apply", "-f", "-"], manifest)
}

fn succeeds(run: &Run) {
    assert!(run.ok, "{}{}", run.stdout, run.stderr);
}

/// A dangerous spec is denied with all errors, and a readable one is stored, however unusual.
fn with_gate(kubeconfig: &Path) {
    let refused = apply(kubeconfig, &addon("dangerous", "banana"));
    assert!(
        !refused.ok && refused.stderr.contains("[rollout/min-success-time]"),
        "{}",
        refused.stderr
    );
    succeeds(&apply(kubeconfig, &addon("odd", "123456m")));
    succeeds(&kubectl(kubeconfig, &["delete", "cma", "odd"], ""));
}

fn without_gate(kubeconfig: &Path) {
    // Everyday work continues: creating, changing, labelling, deleting, whole folders.
    succeeds(&apply(kubeconfig, &addon("plain", "5m")));
    succeeds(&apply(kubeconfig, &addon("plain", "10m")));
    let configs = [
        object(
            "ManagedClusterAddOn",
            "plain",
            &json!({"installNamespace": "agents"}),
        ),
        object(
            "AddOnDeploymentConfig",
            "plain",
            &json!({"customizedVariables": [{"name": "A", "value": "1"}]}),
        ),
        object("AddOnHubConfig", "plain", &json!({"desiredVersion": "v1"})),
    ];
    for config in &configs {
        succeeds(&apply(kubeconfig, config));
    }
    succeeds(&kubectl(
        kubeconfig,
        &["apply", "-f", &repository("manifests/examples").to_string_lossy()],
        "",
    ));
    succeeds(&kubectl(kubeconfig, &["label", "cma", "plain", "a=b"], ""));
    succeeds(&kubectl(kubeconfig, &["delete", "cma", "plain"], ""));

    // Dangerous specs are denied, and so are those that only the webhook can distinguish from them.
    for soak in ["banana", "123456m"] {
        let refused = apply(kubeconfig, &addon("dangerous", soak));
        let said = "failed calling webhook \"guard.gate.tidegate.io\"";
        assert!(!refused.ok && refused.stderr.contains(said), "{}", refused.stderr);
    }
    // Unless it is written by a user who may act as the break-glass group.
    let group = format!("--as-group={BREAK_GLASS}");
    let glass = [
        "apply",
        "-f",
        "-",
        "--as=admin",
        "--as-group=system:masters",
        &group,
    ];
    succeeds(&kubectl(kubeconfig, &glass, &addon("urgent", "123456m")));
    succeeds(&kubectl(kubeconfig, &["delete", "cma", "urgent"], ""));
}
