//! The bundle for the Operator Lifecycle Manager: the fields that it needs, its rights and its kinds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::bundle::{VERSION, files, installed};
use crate::kit::manifests::{documents, repository};
use crate::pure::manifests_fit::unfit;

fn service_version() -> Value {
    let path = "manifests/olm/manifests/tidegate.clusterserviceversion.yaml";
    serde_saphyr::from_str(&files()[path]).expect("YAML")
}

#[test]
fn the_folder_has_the_files_of_the_bundle_and_no_others() {
    let folder = repository("manifests/olm/manifests");
    let found: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let wanted: BTreeSet<String> = files()
        .into_keys()
        .map(|path| path.rsplit('/').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(found, wanted);
    // Kinds that the manager installs from a bundle.
    for text in files().into_values() {
        let object: Value = serde_saphyr::from_str(&text).expect("YAML");
        let kind = object["kind"].as_str().expect("a kind");
        let known = [
            "ClusterRole",
            "ClusterServiceVersion",
            "CustomResourceDefinition",
            "PodDisruptionBudget",
            "Service",
        ];
        assert!(known.contains(&kind), "{kind}");
        assert_eq!(
            object["metadata"].get("namespace").is_some(),
            kind == "ClusterServiceVersion",
            "{kind}"
        );
    }
}

#[test]
fn required_fields_are_there_and_people_are_placeholders() {
    let csv = service_version();
    assert_eq!(csv["metadata"]["name"], format!("tidegate.v{VERSION}"));
    assert_eq!(csv["spec"]["version"], VERSION);
    for field in ["displayName", "description", "minKubeVersion", "maturity"] {
        assert!(
            csv["spec"][field].as_str().is_some_and(|text| !text.is_empty()),
            "{field}"
        );
    }
    for field in ["keywords", "links", "relatedImages", "installModes"] {
        assert!(
            csv["spec"][field].as_array().is_some_and(|all| !all.is_empty()),
            "{field}"
        );
    }
    assert_eq!(csv["spec"]["maintainers"][0]["email"], "{{MAINTAINER_EMAIL}}");
    assert_eq!(csv["spec"]["provider"]["name"], "{{MAINTAINER_NAME}}");
    let supported: Vec<&Value> = csv["spec"]["installModes"]
        .as_array()
        .expect("modes")
        .iter()
        .filter(|mode| mode["supported"] == true)
        .map(|mode| &mode["type"])
        .collect();
    assert_eq!(
        supported,
        ["OwnNamespace"],
        "Roles of one namespace would become ClusterRoles"
    );
    let annotations = &documents("manifests/olm/metadata/annotations.yaml")[0]["annotations"];
    let labels = std::fs::read_to_string(repository("manifests/olm/bundle.Containerfile")).expect("a file");
    for (key, value) in annotations.as_object().expect("annotations") {
        let label = format!("LABEL {key:?}={value}");
        assert!(labels.lines().any(|line| line == label), "{label}");
    }
}

#[test]
fn the_kinds_and_examples_are_those_of_the_definitions() {
    let csv = service_version();
    let owned = csv["spec"]["customresourcedefinitions"]["owned"]
        .as_array()
        .expect("kinds");
    let mut found: Vec<String> = Vec::new();
    for kind in owned {
        assert!(
            kind["description"].as_str().is_some_and(|text| text.len() > 10),
            "{kind}"
        );
        found.push(kind["name"].as_str().expect("a name").to_owned());
    }
    let wanted = std::fs::read_dir(repository("manifests/crds/ours"))
        .expect("the folder")
        .map(|entry| {
            let path = format!(
                "manifests/crds/ours/{}",
                entry.expect("an entry").file_name().to_string_lossy()
            );
            documents(&path)[0]["metadata"]["name"]
                .as_str()
                .expect("a name")
                .to_owned()
        });
    let mut wanted: Vec<String> = wanted.collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    let examples = csv["metadata"]["annotations"]["alm-examples"]
        .as_str()
        .expect("a text");
    let examples: Vec<Value> = serde_json::from_str(examples).expect("JSON");
    let mut shown: Vec<&str> = examples
        .iter()
        .filter_map(|example| example["kind"].as_str())
        .collect();
    let mut kinds: Vec<&str> = owned.iter().filter_map(|kind| kind["kind"].as_str()).collect();
    shown.sort_unstable();
    kinds.sort_unstable();
    assert_eq!(shown, kinds);
    for example in &examples {
        assert_eq!(unfit(example), Vec::<String>::new(), "{example}");
    }
}

/// The rules of each account, as text and sorted.
fn rules(grants: &Value) -> BTreeSet<String> {
    let grants = grants.as_array().expect("permissions");
    let of = |grant: &Value| {
        let account = grant["serviceAccountName"]
            .as_str()
            .expect("an account")
            .to_owned();
        let rules = grant["rules"].as_array().expect("rules").clone();
        rules.into_iter().map(move |rule| format!("{account}: {rule}"))
    };
    grants.iter().flat_map(of).collect()
}

#[test]
fn the_rights_are_those_of_the_folder_of_roles() {
    let csv = service_version();
    let install = &csv["spec"]["install"]["spec"];
    let bound = |file: &str, binding: &str, role: &str| -> BTreeSet<String> {
        let objects = documents(&format!("manifests/rbac/{file}"));
        let bindings = objects.iter().filter(|object| object["kind"] == binding);
        let of = |binding: &Value| {
            let found = objects.iter().find(|object| {
                object["kind"] == role && object["metadata"]["name"] == binding["roleRef"]["name"]
            });
            let account = binding["subjects"][0]["name"]
                .as_str()
                .expect("an account")
                .to_owned();
            let rules = found.expect("the role")["rules"]
                .as_array()
                .expect("rules")
                .clone();
            rules
                .into_iter()
                .map(move |rule| format!("{account}: {rule}"))
                .collect::<Vec<_>>()
        };
        bindings.flat_map(of).collect()
    };
    let files = [
        "gate.yaml",
        "controllers.yaml",
        "certificates.yaml",
        "registration.yaml",
    ];
    for (field, binding, role) in [
        ("clusterPermissions", "ClusterRoleBinding", "ClusterRole"),
        ("permissions", "RoleBinding", "Role"),
    ] {
        let wanted: BTreeSet<String> = files.iter().flat_map(|file| bound(file, binding, role)).collect();
        assert_eq!(rules(&install[field]), wanted, "{field}");
    }
    for deployment in install["deployments"].as_array().expect("deployments") {
        let account = &deployment["spec"]["template"]["spec"]["serviceAccountName"];
        let has = |grant: &Value| &grant["serviceAccountName"] == account;
        let granted = install["clusterPermissions"].as_array().expect("permissions");
        assert!(granted.iter().any(has), "{account}");
        let text = deployment.to_string();
        assert!(
            !text.contains("=tidegate/") && !text.contains("tidegate.tidegate.svc"),
            "{text}"
        );
    }
    let installed = installed()
        .into_iter()
        .filter(|object| object["kind"] == "Deployment")
        .count();
    assert_eq!(
        install["deployments"].as_array().expect("deployments").len(),
        installed
    );
}
