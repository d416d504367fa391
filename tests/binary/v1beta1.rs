//! A hub with Open Cluster Management's CRDs in both versions, with validation and conversion by the real program.
//!
//! Errors for authors of `v1beta1` must use the names of that version, and their writes must not lose fields of `v1alpha1`.

use std::path::Path;

use admission::{Endpoint, configurations};
use serde_json::{Value, json};

use crate::definitions::hub_with_theirs;
use crate::rig::{Run, certificate, kubectl};
use crate::serve::Serve;

pub(crate) const ALPHA: &str = "clustermanagementaddons.v1alpha1.addon.open-cluster-management.io";
pub(crate) const BETA: &str = "clustermanagementaddons.v1beta1.addon.open-cluster-management.io";
const CLUSTER_ALPHA: &str = "managedclusteraddons.v1alpha1.addon.open-cluster-management.io";
const CLUSTER_BETA: &str = "managedclusteraddons.v1beta1.addon.open-cluster-management.io";
const NAMESPACE: &str = "addon.open-cluster-management.io/v1alpha1-install-namespace";

/// A user with kubectl.
pub(crate) struct Author<'a>(pub(crate) &'a Path);

impl Author<'_> {
    pub(crate) fn apply(&self, object: &Value) -> Run {
        kubectl(self.0, &["apply", "-f", "-"], &format!("---\n{object}"))
    }

    pub(crate) fn succeeds(&self, args: &[&str], stdin: &str) -> String {
        let ran = kubectl(self.0, args, stdin);
        assert!(ran.ok, "{args:?}: {}", ran.stderr);
        ran.stdout
    }

    pub(crate) fn read(&self, resource: &str, name: &str) -> Value {
        let read = self.succeeds(&["get", resource, name, "-n", "default", "-o", "json"], "");
        serde_json::from_str(&read).expect("JSON")
    }

    /// Has the hub convert and ask at an address.
    pub(crate) fn directs(&self, url: &str, ca_pem: &str) {
        self.converts_with(url, ca_pem);
        for webhook in configurations(&Endpoint::Url(url.to_owned()), Some(ca_pem)) {
            self.succeeds(&["apply", "-f", "-"], &format!("---\n{webhook}"));
        }
    }

    /// Has the hub convert at an address.
    pub(crate) fn converts_with(&self, url: &str, ca_pem: &str) {
        for name in ["clustermanagementaddons", "managedclusteraddons"] {
            let name = format!("{name}.addon.open-cluster-management.io");
            let client = json!({"url": format!("{url}/convert"), "caBundle": base64(ca_pem)});
            let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": client}}}}).to_string();
            self.succeeds(&["patch", "crd", &name, "--type", "merge", "-p", &patch], "");
        }
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn beta(kind: &str, metadata: &Value, spec: &Value) -> Value {
    json!({"apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec})
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_for_authors_of_v1beta1_use_its_fields_and_nothing_is_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
    let (authority, chain, key) = certificate(folder.path());
    let mut program = Serve::start(&kubeconfig, &chain, &key);
    tokio::task::block_in_place(|| {
        let author = Author(&kubeconfig);
        author.directs(&program.url, authority.ca_pem());
        addons(&author);
        addons_come_and_go_between_versions(&author);
        addons_of_clusters(&author);
        server_side_apply_changes_the_version(&author);
        program.end();
    });
    hub.shutdown().await;
}

fn addons(author: &Author<'_>) {
    let strategy = |soak: &str, limit: &str| {
        json!({"type": "Placements", "placements": [{"name": "p", "namespace": "default", "rolloutStrategy":
            {"type": "Progressive", "progressive": {"maxConcurrency": limit, "minSuccessTime": soak}}}]})
    };
    let configs = json!([{"group": "a.b", "resource": "things", "name": "x"}, {"group": "a.b", "resource": "UPPER", "name": "y"}]);
    let wrong = json!({"defaultConfigs": configs, "installStrategy": strategy("banana", "130%")});
    let refused = author.apply(&beta(
        "ClusterManagementAddOn",
        &json!({"name": "refused"}),
        &wrong,
    ));
    assert!(!refused.ok, "{}", refused.stdout);
    for place in [
        "spec.defaultConfigs[1].resource",
        "spec.installStrategy.placements[0].rolloutStrategy.progressive.minSuccessTime",
        "spec.installStrategy.placements[0].rolloutStrategy.progressive.maxConcurrency",
    ] {
        assert!(refused.stderr.contains(place), "{place}: {}", refused.stderr);
    }
    assert!(!refused.stderr.contains("supportedConfigs"), "{}", refused.stderr);
}

fn addons_come_and_go_between_versions(author: &Author<'_>) {
    let right = json!({"defaultConfigs": [{"group": "a.b", "resource": "things", "name": "x"}, {"group": "a.b", "resource": "others",
        "name": "__reserved_no_default__"}], "installStrategy": {"type": "Manual"}});
    let stored = author.apply(&beta(
        "ClusterManagementAddOn",
        &json!({"name": "written"}),
        &right,
    ));
    assert!(stored.ok, "{}", stored.stderr);
    assert_eq!(author.read(BETA, "written")["spec"], right);
    assert_eq!(
        author.read(ALPHA, "written")["spec"]["supportedConfigs"],
        json!([{"group": "a.b", "resource": "things", "defaultConfig": {"name": "x"}}, {"group": "a.b", "resource": "others"}])
    );

    let old = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "old"}, "spec": {"installStrategy": {"type": "Manual"},
            "addOnConfiguration": {"crdName": "things.a.b", "crName": "x"}}});
    let stored = author.apply(&old);
    assert!(stored.ok, "{}", stored.stderr);
    author.succeeds(&["label", BETA, "old", "team=a"], "");
    let status = json!({"status": {"installProgressions": []}}).to_string();
    author.succeeds(
        &[
            "patch",
            BETA,
            "old",
            "--subresource",
            "status",
            "--type",
            "merge",
            "-p",
            &status,
        ],
        "",
    );
    let kept = author.read(ALPHA, "old");
    assert_eq!(
        kept["spec"]["addOnConfiguration"],
        old["spec"]["addOnConfiguration"]
    );
    assert_eq!(kept["metadata"]["labels"], json!({"team": "a"}));
    assert_eq!(
        kept["metadata"]["annotations"].get("tidegate.io/v1alpha1-only"),
        None,
        "{kept}"
    );
}

fn addons_of_clusters(author: &Author<'_>) {
    let metadata = |name: &str, namespace: &str| json!({"name": name, "namespace": "default", "annotations": {NAMESPACE: namespace}});
    let refused = author.apply(&beta(
        "ManagedClusterAddOn",
        &metadata("refused", "Not A Label"),
        &json!({}),
    ));
    assert!(!refused.ok, "{}", refused.stdout);
    let place = format!("metadata.annotations[{NAMESPACE}]");
    assert!(refused.stderr.contains(&place), "{place}: {}", refused.stderr);
    let stored = author.apply(&beta(
        "ManagedClusterAddOn",
        &metadata("written", "somewhere"),
        &json!({}),
    ));
    assert!(stored.ok, "{}", stored.stderr);
    assert_eq!(
        author.read(CLUSTER_ALPHA, "written")["spec"]["installNamespace"],
        json!("somewhere")
    );
    let read = author.read(CLUSTER_BETA, "written");
    assert_eq!(read["metadata"]["annotations"][NAMESPACE], json!("somewhere"));
    assert_eq!(read["spec"].get("installNamespace"), None);
}

/// What Git says may change its version although another field manager has written a status in the version before.
fn server_side_apply_changes_the_version(author: &Author<'_>) {
    let metadata =
        json!({"name": "applied", "namespace": "default", "labels": {"a": "b"}, "annotations": {"c": "d"}});
    let config = json!({"group": "a.b", "resource": "things", "name": "x", "namespace": "ns"});
    let manual = json!({"type": "Manual"});
    let addon = json!({"supportedConfigs": [{"group": "a.b", "resource": "things", "defaultConfig": {"name": "x", "namespace": "ns"}}],
        "installStrategy": manual});
    let of_hash = json!({"name": "x", "namespace": "ns", "specHash": "z"});
    let reference = json!({"group": "a.b", "resource": "things", "desiredConfig": of_hash});
    let named = json!({"group": "a.b", "resource": "things", "name": "x", "namespace": "ns", "lastObservedGeneration": 1,
        "desiredConfig": of_hash});
    let condition = json!({"type": "Available", "status": "True", "reason": "r", "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    for (kind, [old, new], [old_spec, new_spec], status) in [
        (
            "ClusterManagementAddOn",
            [ALPHA, BETA],
            [
                addon,
                json!({"defaultConfigs": [config], "installStrategy": manual}),
            ],
            json!({"defaultconfigReferences": [reference]}),
        ),
        (
            "ManagedClusterAddOn",
            [CLUSTER_ALPHA, CLUSTER_BETA],
            [json!({"configs": [config]}), json!({"configs": [config]})],
            json!({"conditions": [condition], "configReferences": [named]}),
        ),
    ] {
        let of = |version: &str, spec: &Value| json!({"apiVersion": format!("addon.open-cluster-management.io/{version}"), "kind": kind, "metadata": metadata, "spec": spec});
        let (old_object, new_object) = (of("v1alpha1", &old_spec), of("v1beta1", &new_spec));
        let apply = |object: &Value| {
            author.succeeds(&["apply", "--server-side", "-f", "-"], &format!("---\n{object}"));
        };
        let report = |resource: &str| {
            let status = json!({"status": status}).to_string();
            let patch = [
                "patch",
                resource,
                "applied",
                "-n",
                "default",
                "--subresource",
                "status",
                "--type",
                "merge",
            ];
            author.succeeds(
                &[&patch[..], &["--field-manager", "other", "-p", &status]].concat(),
                "",
            );
        };
        for ([before, after], resource) in [
            ([&old_object, &new_object], old),
            ([&new_object, &old_object], new),
        ] {
            apply(before);
            report(resource);
            let reported = author.read(old, "applied");
            apply(after);
            let live = author.read(old, "applied");
            for pointer in ["/spec", "/status", "/metadata/labels", "/metadata/annotations"] {
                let [was, is] = [&reported, &live].map(|object| object.pointer(pointer));
                assert_eq!(is, was, "{kind} by way of {resource}: {pointer}");
            }
        }
        author.succeeds(&["delete", old, "applied", "-n", "default"], "");
    }
}
