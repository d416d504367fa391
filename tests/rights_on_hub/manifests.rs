//! The manifests of `manifests/rbac`, and what they grant.
//!
//! Decides nothing about what is right; it only spells rules out.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use crate::testkit::manifests::{documents, repository};

/// Group, resource and verb.
pub(crate) type Granted = (String, String, String);

/// Returns the objects of a file.
pub(crate) fn objects(file: &str) -> Vec<Value> {
    documents(&format!("manifests/rbac/{file}"))
}

/// Returns every file.
pub(crate) fn files() -> BTreeSet<String> {
    let folder = repository("manifests/rbac");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Returns the rules of all roles in a file but those that are for agents.
pub(crate) fn rules(file: &str) -> Vec<PolicyRule> {
    let roles = objects(file);
    let ours = |role: &&Value| {
        role["metadata"]["labels"]
            .get("tidegate.io/hub-permissions")
            .is_none()
    };
    let rules = roles
        .iter()
        .filter(ours)
        .filter_map(|role| role.get("rules")?.as_array());
    let rule = |rule: &Value| serde_json::from_value(rule.clone()).expect("a rule");
    rules.flatten().map(rule).collect()
}

/// Returns everything that files grant, spelled out.
pub(crate) fn granted(files: &[&str]) -> BTreeSet<Granted> {
    let mut granted = BTreeSet::new();
    for rule in files.iter().flat_map(|file| rules(file)) {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for verb in &rule.verbs {
                    granted.insert((group.clone(), resource.clone(), verb.clone()));
                }
            }
        }
    }
    granted
}
