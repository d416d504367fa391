//! `tidegate definitions` on hubs with Open Cluster Management's CRDs: the real program, kubectl, and a hub with conversion.
//!
//! Added fields must be kept, other clients must not lose any, and a revert must restore the original CRDs.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::definitions::{hub_with, hub_with_theirs, theirs};
use crate::hook::Hook;
use crate::lossy;
use crate::rig::{Run, certificate, kubectl, repository, run};
use crate::serve::{Serve, page, until};
use crate::v1beta1::{ALPHA, Author, BETA};

const EXTENDED: [&str; 4] = [
    "addondeploymentconfigs.addon.open-cluster-management.io",
    "addontemplates.addon.open-cluster-management.io",
    "clustermanagementaddons.addon.open-cluster-management.io",
    "managedclusteraddons.addon.open-cluster-management.io",
];
const OPERATOR_VERSION: &str = "operator.open-cluster-management.io/version";

fn definitions(kubeconfig: &Path, words: &[&str]) -> Run {
    let path = kubeconfig.to_string_lossy();
    run(&[&["definitions"], words, &["--kubeconfig", &path]].concat())
}

/// A definition as people wrote it: without what every write moves.
fn definition(kubeconfig: &Path, name: &str) -> Value {
    let read = kubectl(kubeconfig, &["get", "crd", name, "-o", "json"], "");
    assert!(read.ok, "{}", read.stderr);
    let mut crd: Value = serde_json::from_str(&read.stdout).expect("JSON");
    let metadata = crd["metadata"].as_object_mut().expect("metadata");
    for moving in ["resourceVersion", "generation", "managedFields"] {
        metadata.remove(moving);
    }
    crd
}

fn all(kubeconfig: &Path) -> Vec<Value> {
    theirs()
        .iter()
        .map(|crd| definition(kubeconfig, crd["metadata"]["name"].as_str().expect("a name")))
        .collect()
}

/// What other clients depend on: versions, what is served and stored, other versions' schemas, the conversion and the names.
fn depended_on(definitions: &[Value]) -> Vec<Value> {
    let mut depended = definitions.to_vec();
    for crd in &mut depended {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !EXTENDED.contains(&name.as_str()) {
            continue;
        }
        let metadata = crd["metadata"].as_object_mut().expect("metadata");
        metadata.remove("annotations");
        for version in crd["spec"]["versions"].as_array_mut().expect("versions") {
            if version["name"] == "v1alpha1" {
                let version = version.as_object_mut().expect("a version");
                version.remove("schema");
                version.remove("additionalPrinterColumns");
            }
        }
    }
    depended
}

#[tokio::test(flavor = "multi_thread")]
async fn added_fields_outlast_writes_of_both_versions_and_leave_without_a_trace() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
    let (authority, chain, key) = certificate(folder.path());
    let mut program = Serve::start(&kubeconfig, &chain, &key);
    tokio::task::block_in_place(|| {
        fails_if_no_hub_answers(&kubeconfig);
        let author = Author(&kubeconfig);
        author.directs(&program.url, authority.ca_pem());
        let before = all(&kubeconfig);
        added(&kubeconfig, &before);
        outlasts(&author);
        let again = definitions(&kubeconfig, &["apply"]);
        assert!(again.ok, "{}", again.stderr);
        assert_eq!(
            again.stdout.matches("nothing to do").count(),
            4,
            "{}",
            again.stdout
        );
        taken_out(&kubeconfig, &before);
        program.end();
    });
    hub.shutdown().await;
}

fn fails_if_no_hub_answers(kubeconfig: &Path) {
    let before = all(kubeconfig);
    for command in ["plan", "apply"] {
        let refused = definitions(kubeconfig, &[command]);
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
        for word in [
            "spec.conversion: it is not known",
            "v1beta1",
            "docs/ocm/v1beta1.md",
        ] {
            assert!(refused.stdout.contains(word), "{word}: {}", refused.stdout);
        }
    }
    assert_eq!(all(kubeconfig), before);
}

fn added(kubeconfig: &Path, before: &[Value]) {
    let planned = definitions(kubeconfig, &["plan"]);
    assert!(planned.ok, "{}{}", planned.stdout, planned.stderr);
    for word in [
        "adds      spec.configuration\n",
        "without loss",
        "none on this hub",
        "enum is",
    ] {
        assert!(planned.stdout.contains(word), "{word}: {}", planned.stdout);
    }
    let planned = definitions(kubeconfig, &["plan", "-o", "json"]);
    let planned: Value = serde_json::from_str(&planned.stdout).expect("JSON");
    assert_eq!(planned["definitions"][2]["conversion"]["does"], "keeps");
    assert_eq!(planned["definitions"][2]["refusals"], json!([]));

    let tried = definitions(kubeconfig, &["apply", "--dry-run"]);
    assert!(
        tried.ok && tried.stdout.contains("would add 8 fields and 6 columns"),
        "{}{}",
        tried.stdout,
        tried.stderr
    );
    assert_eq!(all(kubeconfig), before, "plan and dry run change nothing");

    let applied = definitions(kubeconfig, &["apply"]);
    assert!(
        applied.ok && applied.stdout.contains(": added 8 fields and 6 columns"),
        "{}{}",
        applied.stdout,
        applied.stderr
    );
    let after = all(kubeconfig);
    assert_ne!(after, before);
    assert_eq!(depended_on(&after), depended_on(before));
}

fn outlasts(author: &Author<'_>) {
    let configuration =
        json!({"configs": [{"group": "a.b", "resource": "things", "name": "x", "namespace": "y"}]});
    let addon = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "kept"}, "spec": {"installStrategy": {"type": "Manual"}, "configuration": configuration}});
    let stored = author.apply(&addon);
    assert!(stored.ok, "{}", stored.stderr);
    author.succeeds(&["label", BETA, "kept", "team=a"], "");
    let kept = author.read(ALPHA, "kept");
    assert_eq!(kept["spec"]["configuration"], configuration);
    assert_eq!(kept["metadata"]["labels"], json!({"team": "a"}));
    assert!(author.succeeds(&["get", ALPHA], "").contains("INSTALL"));
}

fn taken_out(kubeconfig: &Path, before: &[Value]) {
    let tried = definitions(kubeconfig, &["revert", "--dry-run"]);
    assert!(
        tried.ok && tried.stdout.contains("would remove"),
        "{}",
        tried.stdout
    );
    assert_ne!(all(kubeconfig), before);
    let reverted = definitions(kubeconfig, &["revert"]);
    assert!(reverted.ok, "{}{}", reverted.stdout, reverted.stderr);
    assert_eq!(all(kubeconfig), before);
    let again = definitions(kubeconfig, &["revert"]);
    assert!(again.ok, "{}", again.stderr);
    assert_eq!(
        again.stdout.matches("nothing to do").count(),
        4,
        "{}",
        again.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversion_that_loses_fields_is_found_out_before_and_after_they_are_added() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
    let (authority, chain, key) = certificate(folder.path());
    let mut gate = Serve::start(&kubeconfig, &chain, &key);
    let lossy = Hook::start(&authority, lossy::routes()).await;
    tokio::task::block_in_place(|| {
        let author = Author(&kubeconfig);
        author.converts_with(&lossy.url, authority.ca_pem());
        let refused = definitions(&kubeconfig, &["apply"]);
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
        let told = format!("spec.conversion: {}/convert loses the fields", lossy.url);
        assert_eq!(refused.stdout.matches(&told).count(), 2, "{}", refused.stdout);

        author.converts_with(&gate.url, authority.ca_pem());
        let applied = definitions(&kubeconfig, &["apply"]);
        assert!(applied.ok, "{}{}", applied.stdout, applied.stderr);
        let spec = json!({"installStrategy": {"type": "Manual"}, "configuration": {"configs": []}});
        let addon = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
            "metadata": {"name": "kept"}, "spec": spec});
        let stored = author.apply(&addon);
        assert!(stored.ok, "{}", stored.stderr);
        erasing(&kubeconfig, 0);

        // As an operator that writes its own stanza back.
        author.converts_with(&lossy.url, authority.ca_pem());
        erasing(&kubeconfig, 1);
        let planned = definitions(&kubeconfig, &["plan"]);
        assert_eq!(planned.code, Some(1), "{}", planned.stdout);
        author.succeeds(&["label", BETA, "kept", "team=a"], "");
        let kept = author.read(ALPHA, "kept");
        assert_eq!(kept["spec"].get("configuration"), None, "so it is: {kept}");
        gate.end();
    });
    hub.shutdown().await;
}

/// The controllers' message about the conversion of ClusterManagementAddOns.
fn erasing(kubeconfig: &Path, expected: u8) {
    let mut controllers = Serve::half("controllers", kubeconfig, &["--metrics", "127.0.0.1:0"]);
    let address = controllers.url.strip_prefix("controllers health=http://");
    let address = address.expect("an address").to_owned();
    let line = format!("tidegate_erasing_conversions{{resource=\"clustermanagementaddons\"}} {expected}");
    until(&line, || {
        page(&address, "/metrics").is_some_and(|(_, text)| text.contains(&line))
    });
    controllers.end();
}

/// The definitions of a hub whose versions are one: without v1beta1.
fn of_one_version() -> Vec<Value> {
    let mut all = theirs();
    for crd in &mut all {
        let spec = crd["spec"].as_object_mut().expect("a spec");
        spec.remove("conversion");
        let versions = spec["versions"].as_array_mut().expect("versions");
        if versions.len() > 1 {
            versions.retain(|version| version["storage"] == true);
        }
    }
    all
}

fn operators() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clustermanagers.operator.open-cluster-management.io"},
        "spec": {"group": "operator.open-cluster-management.io", "scope": "Cluster",
            "names": {"kind": "ClusterManager", "plural": "clustermanagers", "singular": "clustermanager", "listKind": "ClusterManagerList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operators_crds_are_not_changed_until_they_are_taken_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut crds = of_one_version();
    for crd in &mut crds {
        crd["metadata"]["annotations"] = json!({OPERATOR_VERSION: "1.3.0"});
    }
    crds.push(operators());
    let (hub, kubeconfig) = hub_with(crds, folder.path()).await;
    tokio::task::block_in_place(|| {
        let before = all(&kubeconfig);
        let refused = definitions(&kubeconfig, &["apply"]);
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
        assert_eq!(all(&kubeconfig), before);
        // The cure is a command that works as it is printed.
        let cures = refused
            .stdout
            .split('`')
            .filter(|text| text.starts_with("kubectl annotate crd "));
        let cures: Vec<&str> = cures.collect();
        assert_eq!(cures.len(), 3, "{}", refused.stdout);
        for cure in cures {
            let words: Vec<&str> = cure.split(' ').skip(1).collect();
            let cured = kubectl(&kubeconfig, &words, "");
            assert!(cured.ok, "{}", cured.stderr);
        }
        let applied = definitions(&kubeconfig, &["apply"]);
        assert!(applied.ok, "{}{}", applied.stdout, applied.stderr);
        let planned = definitions(&kubeconfig, &["plan"]);
        assert!(
            planned.ok && planned.stdout.contains("leaves the definition alone"),
            "{}",
            planned.stdout
        );
    });
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hubs_that_drop_fields_and_hubs_without_crds_are_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut crds = theirs();
    for crd in &mut crds {
        crd["spec"].as_object_mut().expect("a spec").remove("conversion");
    }
    let (hub, kubeconfig) = hub_with(crds, folder.path()).await;
    tokio::task::block_in_place(|| {
        let refused = definitions(&kubeconfig, &["apply"]);
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
        assert!(
            refused.stdout.contains("no webhook converts"),
            "{}",
            refused.stdout
        );
    });
    hub.shutdown().await;

    let (hub, kubeconfig) = hub_with(Vec::new(), folder.path()).await;
    tokio::task::block_in_place(|| {
        for command in ["plan", "apply", "revert"] {
            let told = definitions(&kubeconfig, &[command]);
            assert_eq!(told.code, Some(2), "{}", told.stdout);
            assert!(told.stderr.contains("--for-hub-without-ocm"), "{}", told.stderr);
        }
    });
    hub.shutdown().await;
    let unreachable = definitions(&folder.path().join("none"), &["plan"]);
    assert_eq!(unreachable.code, Some(2), "{}", unreachable.stderr);
}

/// The commands of a page that change a hub, as an administrator copies them.
fn commands(page: &str, section: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository(page)).expect("the page");
    let (_, rest) = text.split_once(section).expect("the section");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let typed = section.lines().filter_map(|line| line.strip_prefix("$ "));
    let changes = |line: &&str| {
        [
            "kubectl",
            "tidegate crds",
            "tidegate definitions",
            "tidegate reference",
        ]
        .iter()
        .any(|word| line.contains(word))
    };
    typed.filter(changes).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_the_pages_tell_to_type_takes_a_version_a_conversion_or_a_name_away() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
    let mut typed = commands("README.md", "## Install on your own hub");
    typed.extend(commands("docs/install-addons.md", "# Install"));
    typed.extend(commands("docs/ocm/definitions.md", "# Tidegate's fields"));
    assert!(typed.len() >= 7, "{typed:?}");
    assert!(
        typed.iter().any(|line| line.contains("crds | kubectl apply")),
        "{typed:?}"
    );
    let (authority, chain, key) = certificate(folder.path());
    let mut program = Serve::start(&kubeconfig, &chain, &key);
    tokio::task::block_in_place(|| {
        // Otherwise nothing would be added that could do harm.
        Author(&kubeconfig).converts_with(&program.url, authority.ca_pem());
        let before = all(&kubeconfig);
        for line in &typed {
            let ended = shell(&kubeconfig, line);
            let must = line.starts_with("tidegate ");
            assert!(ended.ok || !must, "{line}: {}{}", ended.stdout, ended.stderr);
            assert_eq!(depended_on(&all(&kubeconfig)), depended_on(&before), "{line}");
        }
        let own = kubectl(&kubeconfig, &["get", "addonpolicies,addonhubconfigs", "-A"], "");
        assert!(own.ok, "{}", own.stderr);
        program.end();
    });
    hub.shutdown().await;
}

/// Runs a line as an administrator types it.
fn shell(kubeconfig: &Path, line: &str) -> Run {
    let program = Path::new(env!("CARGO_BIN_EXE_tidegate"));
    let path = std::env::var("PATH").unwrap_or_default();
    let beside = program.parent().expect("a folder").to_string_lossy();
    let ended = Command::new("sh")
        .args(["-c", line])
        .env("PATH", format!("{beside}:{path}"))
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", kubeconfig.parent().expect("a folder"))
        .output()
        .expect("a shell");
    let ended = Run::from(ended);
    assert_ne!(ended.code, Some(127), "{line}: {}", ended.stderr);
    ended
}
