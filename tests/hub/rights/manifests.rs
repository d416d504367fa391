//! The manifests of `manifests/rbac`, and the permissions that they grant.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;
use operate::doctor::Right;
use serde_json::Value;

use crate::kit::manifests::{documents, repository};

/// Returns the objects of a file.
pub(crate) fn objects(file: &str) -> Vec<Value> {
    documents(&format!("manifests/rbac/{file}"))
}

/// Returns every file with the rights of an account. `users.yaml` has roles for users (`install_kit`).
pub(crate) fn files() -> BTreeSet<String> {
    let folder = repository("manifests/rbac");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "users.yaml").collect()
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

/// Returns what a role among some objects grants, spelled out: one right a verb and name.
pub(crate) fn granted(objects: &[Value], (kind, name): (&str, &str)) -> BTreeSet<Right> {
    let is_it = |role: &&Value| role["kind"] == kind && role["metadata"]["name"] == name;
    let role = objects.iter().find(is_it).cloned().unwrap_or_default();
    let namespace = role["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].clone()).unwrap_or_default();
    let mut all = BTreeSet::new();
    for rule in rules {
        let names = rule.resource_names.unwrap_or_else(|| vec![String::new()]);
        for (group, resource) in rule.api_groups.iter().flatten().flat_map(|group| {
            rule.resources
                .iter()
                .flatten()
                .map(move |resource| (group, resource))
        }) {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            for (verb, name) in rule
                .verbs
                .iter()
                .flat_map(|verb| names.iter().map(move |name| (verb, name)))
            {
                all.insert(Right {
                    group: group.clone(),
                    resource: resource.to_owned(),
                    subresource: subresource.to_owned(),
                    verb: verb.clone(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                });
            }
        }
    }
    all
}

/// Returns what a service account of the namespace `tidegate` is given by bindings for the whole hub, and by those in its namespace.
pub(crate) fn given(objects: &[Value], account: &str) -> BTreeSet<Right> {
    let is_about = |binding: &&Value| {
        let subjects = binding["subjects"].as_array();
        subjects
            .into_iter()
            .flatten()
            .any(|subject| subject["name"] == account)
    };
    let roles = objects.iter().filter(is_about).map(|binding| {
        let text = |field: &str| binding["roleRef"][field].as_str().unwrap_or_default();
        (text("kind"), text("name"))
    });
    roles.flat_map(|role| granted(objects, role)).collect()
}
