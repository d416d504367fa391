//! Tidegate next to OCM's add-on manager, from the shell: observe, take over, and release.
//!
//! `docs/ocm` contains the output.

use std::path::Path;

use expect_test::{Expect, expect};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::reads::Reader;
use crate::rig::{Run, defined_hub, kubectl, run};
use crate::serve::{Serve, page, until};

fn apply(kubeconfig: &Path, objects: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let done = kubectl(kubeconfig, &["apply", "-f", "-"], &list);
    assert!(done.ok, "{}", done.stderr);
}

fn on(kubeconfig: &Path, words: &[&str]) -> Run {
    let path = kubeconfig.to_string_lossy();
    run(&[words, &["--kubeconfig", &path]].concat())
}

/// Asserts what is printed, and the exit status.
fn says(ended: &Run, code: i32, expected: &Expect) {
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    expected.assert_eq(&format!("{}{}", ended.stdout, ended.stderr));
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn binding(name: &str, namespace: Option<&str>, labels: &Value, subject: &Value) -> Value {
    let kind = if namespace.is_some() {
        "RoleBinding"
    } else {
        "ClusterRoleBinding"
    };
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, "subjects": [subject]})
}

fn agents() -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "agents"})
}

/// An add-on as Tidegate leaves it, on the cluster `c1`.
pub(crate) fn driven(kubeconfig: &Path) {
    let api = "addon.open-cluster-management.io/v1alpha1";
    let ours = json!({"tidegate.io/permission": "0", "open-cluster-management.io/addon-name": "hello"});
    let hello = "open-cluster-management:hello:clusterrole:agent";
    apply(
        kubeconfig,
        &[
            namespace("c1"),
            namespace("tidegate"),
            json!({"apiVersion": api, "kind": "ClusterManagementAddOn", "metadata": {"name": "hello",
                "annotations": {"addon.open-cluster-management.io/lifecycle": "tidegate"}}, "spec": {}}),
            json!({"apiVersion": api, "kind": "ManagedClusterAddOn", "metadata": {"name": "hello", "namespace": "c1",
                "annotations": {"tidegate.io/installed-by": "default/all", "tidegate.io/hook-timeout": "5m"}}, "spec": {}}),
            binding(&format!("{hello}:c1:0"), Some("c1"), &ours, &agents()),
        ],
    );
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    for (resource, conditions) in [
        (
            "mca/hello",
            vec![condition("Ready"), condition("Available"), condition("Assigned")],
        ),
        ("cma/hello", vec![condition("Ready")]),
    ] {
        let patch = json!({"status": {"conditions": conditions}}).to_string();
        let words = [
            "patch",
            resource,
            "-n",
            "c1",
            "--subresource",
            "status",
            "--type",
            "merge",
            "-p",
            &patch,
        ];
        let done = kubectl(kubeconfig, &words, "");
        assert!(done.ok, "{}", done.stderr);
    }
}

/// Kind, annotations and conditions of what is there.
fn left_on(kubeconfig: &Path) -> String {
    let found = kubectl(kubeconfig, &["get", "mca,cma", "-A", "-o", "json"], "");
    let list: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let told = |object: &Value| {
        let annotations = object["metadata"]["annotations"].as_object();
        let names = annotations.into_iter().flatten().map(|(name, _)| name.as_str());
        let names: Vec<&str> = names.filter(|name| !name.starts_with("kubectl.")).collect();
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let kinds: Vec<&str> = conditions.filter_map(|one| one["type"].as_str()).collect();
        format!(
            "{} {names:?} {kinds:?}\n",
            object["kind"].as_str().unwrap_or_default()
        )
    };
    list["items"].as_array().into_iter().flatten().map(told).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_to_ocm_is_previewed_first_and_done_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| {
        driven(&kubeconfig);
        let dry = on(&kubeconfig, &["release", "--addon", "hello", "--dry-run"]);
        says(
            &dry,
            1,
            &expect![[r"
            hello: ManagedClusterAddOn c1/hello: remove the conditions Ready, Assigned
            hello: ClusterManagementAddOn hello: remove the conditions Ready
            hello: ManagedClusterAddOn c1/hello: remove the annotations tidegate.io/installed-by
            hello: ClusterManagementAddOn hello: remove the annotation addon.open-cluster-management.io/lifecycle=tidegate: OCM's add-on manager manages the add-on from now on
            hello: RoleBinding c1/open-cluster-management:hello:clusterrole:agent:c1:0: incomplete: OCM has not created open-cluster-management:hello:clusterrole:agent yet; run release again when it exists
            nothing was written (--dry-run)
        "]],
        );
        refused_while_one_leads(&kubeconfig);
        says(
            &on(&kubeconfig, &["release", "--all"]),
            1,
            &expect![[r"
            hello: ManagedClusterAddOn c1/hello: remove the conditions Ready, Assigned
            hello: ClusterManagementAddOn hello: remove the conditions Ready
            hello: ManagedClusterAddOn c1/hello: remove the annotations tidegate.io/installed-by
            hello: ClusterManagementAddOn hello: remove the annotation addon.open-cluster-management.io/lifecycle=tidegate: OCM's add-on manager manages the add-on from now on
            hello: RoleBinding c1/open-cluster-management:hello:clusterrole:agent:c1:0: incomplete: OCM has not created open-cluster-management:hello:clusterrole:agent yet; run release again when it exists
        "]],
        );
        expect![[r#"
            ManagedClusterAddOn ["tidegate.io/hook-timeout"] ["Available"]
            ClusterManagementAddOn [] []
        "#]]
        .assert_eq(&left_on(&kubeconfig));
        the_rest_goes_with_ocms_own(&kubeconfig);
    });
    hub.shutdown().await;
}

/// A leader would do it again.
fn refused_while_one_leads(kubeconfig: &Path) {
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "leader", "namespace": "tidegate"}, "spec": {"holderIdentity": "tidegate_pod-1_x",
            "leaseDurationSeconds": 3600, "renewTime": format!("{:.6}", Timestamp::now())}});
    apply(kubeconfig, &[lease]);
    says(
        &on(kubeconfig, &["release", "--all"]),
        2,
        &expect![[r#"
        tidegate: Tidegate is running (Lease tidegate/leader, held by "tidegate_pod-1_x") and would take over "hello" again: stop it first; if it runs with --manage marked, remove the annotation (kubectl annotate clustermanagementaddon hello addon.open-cluster-management.io/lifecycle-) and set --manage marked here
    "#]],
    );
    let freed = kubectl(kubeconfig, &["delete", "lease", "leader", "-n", "tidegate"], "");
    assert!(freed.ok, "{}", freed.stderr);
}

/// OCM's add-on manager has given the agent the role.
fn the_rest_goes_with_ocms_own(kubeconfig: &Path) {
    let stocks = "open-cluster-management:hello:clusterrole:agent";
    apply(kubeconfig, &[binding(stocks, Some("c1"), &json!({}), &agents())]);
    says(
        &on(kubeconfig, &["release", "--addon", "hello"]),
        0,
        &expect![[r"
            hello: RoleBinding c1/open-cluster-management:hello:clusterrole:agent:c1:0: delete: OCM's own binding exists
        "]],
    );
    says(
        &on(kubeconfig, &["release", "--addon", "hello"]),
        0,
        &expect![[r"
            hello: nothing to release
        "]],
    );
    let unknown = on(kubeconfig, &["release", "--addon", "helo"]);
    says(
        &unknown,
        2,
        &expect![[r#"
        tidegate: there is no ClusterManagementAddOn or ManagedClusterAddOn "helo"
    "#]],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bindings_of_ocms_account_are_printed_as_copies_that_can_be_applied() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| {
        let manager = json!({"kind": "ServiceAccount", "name": "addon-manager-controller-sa",
            "namespace": "open-cluster-management-hub"});
        apply(
            &kubeconfig,
            &[
                namespace("c1"),
                namespace("tidegate"),
                binding("hello-agents", None, &json!({}), &manager),
                binding("hello-agents", Some("c1"), &json!({"team": "edge"}), &manager),
                binding("others", Some("c1"), &json!({}), &agents()),
            ],
        );
        let printed = on(&kubeconfig, &["adopt", "--list-bindings"]);
        says(
            &printed,
            0,
            &expect![[r"
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata:
              name: hello-agents-tidegate
            roleRef:
              apiGroup: rbac.authorization.k8s.io
              kind: ClusterRole
              name: view
            subjects:
            - kind: ServiceAccount
              name: tidegate-controllers
              namespace: tidegate
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata:
              name: hello-agents-tidegate
              namespace: c1
            roleRef:
              apiGroup: rbac.authorization.k8s.io
              kind: ClusterRole
              name: view
            subjects:
            - kind: ServiceAccount
              name: tidegate-controllers
              namespace: tidegate
        "]],
        );
        let applied = kubectl(&kubeconfig, &["apply", "-f", "-"], &printed.stdout);
        assert!(applied.ok, "{}", applied.stderr);
        says(
            &on(&kubeconfig, &["adopt", "--list-bindings"]),
            0,
            &expect![[r"
                # no missing bindings
            "]],
        );
    });
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_that_observe_show_what_they_would_write() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| {
        let api = "addon.open-cluster-management.io/v1alpha1";
        apply(
            &kubeconfig,
            &[
                namespace("c1"),
                json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                    "metadata": {"name": "c1", "labels": {"env": "prod"}}, "spec": {"hubAcceptsClient": true}}),
                json!({"apiVersion": api, "kind": "ClusterManagementAddOn", "metadata": {"name": "hello"}, "spec": {
                    "installStrategy": {"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}}}}),
            ],
        );
        let words = ["--controllers", "observe", "--metrics", "127.0.0.1:0"];
        let mut program = Serve::half("controllers", &kubeconfig, &words);
        let address = program.url.strip_prefix("controllers observing health=http://");
        let address = address.expect("it says that it observes").to_owned();
        let pending = || {
            page(&address, "/pending")
                .map(|(_, text)| text)
                .unwrap_or_default()
        };
        until("it tells", || pending().contains("ManagedClusterAddOn c1/hello"));
        expect![[r"
            hello: create ManagedClusterAddOn c1/hello: the label selector matches the cluster
            hello: status ClusterManagementAddOn hello
            hello: create AddOnRollout hello: the roll-up of the add-on"]]
        .assert_eq(&pending());
        let (_, metrics) = page(&address, "/metrics").expect("metrics");
        assert!(
            metrics.contains("tidegate_pending_actions{resource=\"managedclusteraddons\",act=\"create\"} 1"),
            "{metrics}"
        );
        let found = kubectl(&kubeconfig, &["get", "mca", "-A", "-o", "name"], "");
        assert_eq!(found.stdout, "", "nothing is written");
        program.end();
    });
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn why_says_that_an_add_on_is_left_to_ocms_manager() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| {
        let hub = "open-cluster-management-hub";
        let holder = "manager-1_0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10";
        apply(
            &kubeconfig,
            &[
                namespace(hub),
                json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": "manager-lock", "namespace": hub}, "spec": {"holderIdentity": holder,
                        "leaseDurationSeconds": 3600, "renewTime": format!("{:.6}", Timestamp::now())}}),
                json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
                    "metadata": {"name": "hello"}, "spec": {"installStrategy": {"type": "Manual"}}}),
            ],
        );
        let told = on(&kubeconfig, &["why", "hello"]);
        let words = "OCM's add-on manager is active";
        assert!(told.stdout.contains(words), "{}{}", told.stdout, told.stderr);
        let told = on(&kubeconfig, &["why", "hello", "--stock-lease", "none"]);
        assert!(!told.stdout.contains(words), "{}", told.stdout);
    });
    hub.shutdown().await;
}

/// Returns what controllers in observe mode would write to a hub, after they have reported the add-on's status.
fn would_write(kubeconfig: &Path, flags: &[&str]) -> String {
    let words = [&["--controllers", "observe", "--metrics", "127.0.0.1:0"], flags].concat();
    let mut program = Serve::half("controllers", kubeconfig, &words);
    let address = program.url.strip_prefix("controllers observing health=http://");
    let address = address.expect("it says that it observes").to_owned();
    let pending = || {
        let page = page(&address, "/pending");
        page.map(|(_, text)| text).unwrap_or_default()
    };
    until("it tells", || {
        pending().contains("hello: status ClusterManagementAddOn hello")
    });
    let told = pending();
    program.end();
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_of_clusters_are_left_to_ocm_where_its_operator_runs_unless_the_flag_says_otherwise() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    tokio::task::block_in_place(|| {
        let api = "addon.open-cluster-management.io/v1alpha1";
        let long_ago = json!({"name": "hello", "namespace": "c1"});
        apply(
            &kubeconfig,
            &[
                namespace("c1"),
                json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
                    "metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
                json!({"apiVersion": api, "kind": "ClusterManagementAddOn", "metadata": {"name": "hello"}, "spec": {}}),
                json!({"apiVersion": api, "kind": "ManagedClusterAddOn", "metadata": long_ago, "spec": {}}),
            ],
        );
        let patch = json!({"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Fine", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        let words = [
            "patch",
            "mca/hello",
            "-n",
            "c1",
            "--subresource",
            "status",
            "--type",
            "merge",
            "-p",
        ];
        let patched = kubectl(&kubeconfig, &[&words[..], &[&patch.to_string()]].concat(), "");
        assert!(patched.ok, "{}", patched.stderr);
        let label = "ManagedCluster c1: labels of the cluster list its add-ons";
        let alone = would_write(&kubeconfig, &[]);
        assert!(alone.contains(label), "{alone}");
        let names = json!({"plural": "clustermanagers", "singular": "clustermanager", "kind": "ClusterManager", "listKind": "ClusterManagerList"});
        let version = json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let group = "operator.open-cluster-management.io";
        apply(
            &kubeconfig,
            &[
                json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("clustermanagers.{group}")},
                "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]}}),
            ],
        );
        Reader::of(&kubeconfig).until("the kind is served", &["clustermanagers"], |_| true);
        let beside = would_write(&kubeconfig, &[]);
        assert!(!beside.contains(label), "{beside}");
        let told = would_write(&kubeconfig, &["--discovery-labels", "on"]);
        assert!(told.contains(label), "{told}");
    });
    hub.shutdown().await;
}
