//! The CRDs of a hub with Open Cluster Management, and the effect of the README's commands on them.
//!
//! Other clients must not lose anything: every served version, the conversion and every object stay as they were.

use std::path::{Path, PathBuf};

use devhub::{DevHub, TestHub};
use serde_json::{Value, json};

use crate::rig::{kubectl, repository, run};

/// Open Cluster Management's definitions as its operator puts them on a hub: both versions, and a conversion between them.
pub(crate) fn theirs() -> Vec<Value> {
    let folder = repository("tests/data/ocm-crds");
    let files = std::fs::read_dir(folder).expect("the definitions").flatten();
    let mut read: Vec<Value> = files
        .map(|file| std::fs::read_to_string(file.path()).expect("a text"))
        .map(|text| serde_saphyr::from_str(&text).expect("YAML"))
        .collect();
    for crd in &mut read {
        let versions = crd["spec"]["versions"].as_array().expect("versions");
        if versions.len() > 1 {
            crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
                "clientConfig": {"url": "https://127.0.0.1:9/convert"}, "conversionReviewVersions": ["v1"]}});
        }
    }
    read
}

pub(crate) async fn hub_with_theirs(folder: &Path) -> (TestHub, PathBuf) {
    hub_with(theirs(), folder).await
}

pub(crate) async fn hub_with(definitions: Vec<Value>, folder: &Path) -> (TestHub, PathBuf) {
    let builder = definitions
        .into_iter()
        .fold(DevHub::builder(), devhub::Builder::crd);
    let hub = TestHub::of(builder).await.expect("the hub starts");
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, hub.kubeconfig()).expect("writable");
    (hub, kubeconfig)
}

/// What other clients of the hub depend on: the definitions of Open Cluster Management, and an object of them.
fn depended_on(kubeconfig: &Path) -> Vec<(String, Value)> {
    let names = theirs();
    let names = names
        .iter()
        .map(|crd| crd["metadata"]["name"].as_str().expect("a name"));
    let mut seen: Vec<(String, Value)> = names
        .map(|name| {
            let read = kubectl(kubeconfig, &["get", "crd", name, "-o", "json"], "");
            assert!(read.ok, "{}", read.stderr);
            let crd: Value = serde_json::from_str(&read.stdout).expect("JSON");
            (name.to_owned(), json!([crd["spec"], crd["metadata"]["uid"]]))
        })
        .collect();
    let addon = kubectl(
        kubeconfig,
        &[
            "get",
            "clustermanagementaddons.v1alpha1.addon.open-cluster-management.io",
            "kept",
            "-o",
            "json",
        ],
        "",
    );
    assert!(addon.ok, "{}", addon.stderr);
    seen.push((
        "kept".to_owned(),
        serde_json::from_str(&addon.stdout).expect("JSON"),
    ));
    seen
}

const KEPT: &str = "---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: kept}
spec: {installStrategy: {type: Manual}}
";

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_definitions_take_nothing_from_a_hub_with_open_cluster_management() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
    tokio::task::block_in_place(|| {
        let made = kubectl(&kubeconfig, &["apply", "-f", "-"], KEPT);
        assert!(made.ok, "{}", made.stderr);
        let before = depended_on(&kubeconfig);
        let printed = run(&["crds"]);
        assert!(printed.ok, "{}", printed.stderr);
        for way in [&["apply", "-f", "-"][..], &["apply", "--server-side", "-f", "-"]] {
            let applied = kubectl(&kubeconfig, way, &format!("---\n{}", printed.stdout));
            assert!(applied.ok, "{}", applied.stderr);
        }
        assert_eq!(depended_on(&kubeconfig), before);
        for own in ["addonpolicies", "addonhubconfigs", "addonrollouts"] {
            let listed = kubectl(&kubeconfig, &["get", own, "-A"], "");
            assert!(listed.ok, "{}", listed.stderr);
        }
        refused(&kubeconfig);
        assert_eq!(depended_on(&kubeconfig), before);
    });
    hub.shutdown().await;
}

fn refused(kubeconfig: &Path) {
    let path = kubeconfig.to_string_lossy();
    let all = run(&["crds", "--for-hub-without-ocm", "--kubeconfig", &path]);
    assert_eq!(all.code, Some(2), "{}", all.stderr);
    assert_eq!(
        all.stdout, "",
        "an error prints no CRD that could be piped to kubectl"
    );
    for word in [
        "\"ManagedClusterAddOn\"",
        "--for-hub-without-ocm",
        "would remove versions",
    ] {
        assert!(all.stderr.contains(word), "{word}: {}", all.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_open_cluster_management_gets_its_kinds_when_asked_for_and_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = {
        let hub = TestHub::of(DevHub::builder()).await.expect("the hub starts");
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, hub.kubeconfig()).expect("writable");
        (hub, kubeconfig)
    };
    tokio::task::block_in_place(|| {
        for round in ["first", "again"] {
            let path = kubeconfig.to_string_lossy();
            let all = run(&["crds", "--for-hub-without-ocm", "--kubeconfig", &path]);
            assert!(all.ok, "{round}: {}", all.stderr);
            let applied = kubectl(
                &kubeconfig,
                &["apply", "-f", "-"],
                &format!("---\n{}", all.stdout),
            );
            assert!(applied.ok, "{round}: {}", applied.stderr);
        }
        let listed = kubectl(
            &kubeconfig,
            &[
                "get",
                "clustermanagementaddons,managedclusteraddons,placements",
                "-A",
            ],
            "",
        );
        assert!(listed.ok, "{}", listed.stderr);
    });
    hub.shutdown().await;
    let unreachable = run(&[
        "crds",
        "--for-hub-without-ocm",
        "--kubeconfig",
        &folder.path().join("none").to_string_lossy(),
    ]);
    assert_eq!(unreachable.code, Some(2), "{}", unreachable.stderr);
}

/// The YAML of the documentation that holds whole objects of the hub, by page: `kubectl` reads no others. The pages of rules show
/// invalid objects on purpose.
fn documented_objects() -> Vec<(String, String)> {
    let not_of_a_hub = [
        "kind: Kustomization",
        "kind: AdmissionConfiguration",
        "kind: PolicyTest",
        "kind: EventSource",
        "kind: Sensor",
    ];
    let mut found = Vec::new();
    let mut pages = vec![repository("README.md")];
    for folder in [
        "docs",
        "docs/guides",
        "docs/ocm",
        "docs/operate",
        "docs/reference",
    ] {
        let entries = std::fs::read_dir(repository(folder))
            .expect("a folder of pages")
            .flatten();
        pages.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|end| end == "md")),
        );
    }
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            let whole = block.contains("apiVersion: ") && block.contains("kind: ");
            if whole && !not_of_a_hub.iter().any(|kind| block.contains(kind)) {
                found.push((page.display().to_string(), block.to_owned()));
            }
        }
    }
    found
}

/// Applies every documented example, with the validation of fields that `kubectl` asks for by default.
fn examples_apply(kubeconfig: &Path) {
    for name in [
        "open-cluster-management",
        "tidegate",
        "monitoring",
        "cluster1",
        "c1",
    ] {
        let namespace = kubectl(kubeconfig, &["create", "namespace", name], "");
        assert!(namespace.ok, "{}", namespace.stderr);
    }
    for (how, folder) in [
        ("-f", "manifests/examples/"),
        ("-f", "manifests/examples/upgrade/"),
        ("-k", "manifests/gitops/example/"),
    ] {
        let folder = repository(folder).to_string_lossy().into_owned();
        let applied = kubectl(kubeconfig, &["apply", how, &folder], "");
        assert!(applied.ok, "{folder}: {}", applied.stderr);
    }
    let documented = documented_objects();
    assert!(documented.len() > 15, "{} examples", documented.len());
    let faults: Vec<String> = documented
        .iter()
        .filter_map(|(page, text)| {
            let applied = kubectl(kubeconfig, &["apply", "-f", "-"], text);
            (!applied.ok).then(|| format!("{page}: {}\n{text}", applied.stderr))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_example_applies_on_the_definitions_of_open_cluster_management_and_on_ours() {
    for ours in [true, false] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (hub, kubeconfig) = if ours {
            crate::rig::defined_hub(folder.path()).await
        } else {
            let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
            let printed = run(&["crds"]);
            let applied = kubectl(&kubeconfig, &["apply", "-f", "-"], &printed.stdout);
            assert!(applied.ok, "{}", applied.stderr);
            (hub, kubeconfig)
        };
        tokio::task::block_in_place(|| examples_apply(&kubeconfig));
        hub.shutdown().await;
    }
}
