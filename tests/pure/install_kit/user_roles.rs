//! The ClusterRoles for users, in every way to install.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{KUBECTL, kustomized, printed, rendered};
use crate::kit::manifests::documents;
use crate::kit::programs::HELM;

/// Every installation whose roles can differ.
fn installations() -> Vec<(String, Vec<Value>)> {
    let all = "--with network-policy,monitoring,high-availability,openshift,web-page";
    let flags = [
        "",
        "--workloads one",
        "--certificates cert-manager",
        "--workloads gate",
        all,
    ];
    let mut found: Vec<(String, Vec<Value>)> = flags.map(|flags| (flags.to_owned(), printed(flags))).into();
    if !KUBECTL.is_missing() {
        let overlays = ["self-managed", "cert-manager", "one-workload", "gate-only"];
        found.extend(overlays.map(|name| (name.to_owned(), kustomized(&format!("overlays/{name}")))));
    }
    if !HELM.is_missing() {
        found.push(("Helm".to_owned(), rendered(&[])));
        found.push((
            "Helm, with the page".to_owned(),
            rendered(&["--set", "ui.enabled=true"]),
        ));
    }
    found
}

/// What a role allows: API group, resource and verb.
fn rights(role: &Value) -> BTreeSet<(String, String, String)> {
    let texts = |rule: &Value, field: &str| -> Vec<String> {
        let values = rule[field].as_array().into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                for verb in texts(rule, "verbs") {
                    all.insert((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    all
}

fn is_read(verb: &str) -> bool {
    ["get", "list", "watch"].contains(&verb)
}

fn aggregated(role: &Value) -> Vec<&str> {
    let labels = role["metadata"]["labels"].as_object().into_iter().flatten();
    let to = labels.filter_map(|(key, _)| key.strip_prefix("rbac.authorization.k8s.io/aggregate-to-"));
    to.collect()
}

#[test]
fn only_the_viewer_and_the_admin_are_aggregated_and_neither_changes_an_addon() {
    for (way, objects) in installations() {
        let mut found = BTreeMap::new();
        for role in objects.iter().filter(|object| object["kind"] == "ClusterRole") {
            let name = role["metadata"]["name"].as_str().expect("a name");
            for to in aggregated(role) {
                found.insert(to, name);
                for (group, resource, verb) in rights(role) {
                    let right = format!("{way}: {name}: {verb} {resource}.{group}");
                    assert!(
                        ![&group, &resource, &verb].iter().any(|word| word.contains('*')),
                        "{right}"
                    );
                    assert!(
                        is_read(&verb) || to == "admin" && group == "tidegate.io",
                        "{right}"
                    );
                }
            }
        }
        assert_eq!(
            found,
            BTreeMap::from([("admin", "tidegate-admin"), ("view", "tidegate-viewer")]),
            "{way}"
        );
    }
}

#[test]
fn no_account_has_the_roles_of_users() {
    let names: Vec<Value> = documents("manifests/rbac/users.yaml")
        .iter()
        .map(|role| role["metadata"]["name"].clone())
        .collect();
    assert_eq!(names.len(), 5);
    for (way, objects) in installations() {
        for binding in objects.iter().filter(|object| object.get("roleRef").is_some()) {
            assert!(!names.contains(&binding["roleRef"]["name"]), "{way}: {binding}");
        }
    }
}

#[test]
fn each_role_writes_only_what_its_users_decide() {
    let roles = documents("manifests/rbac/users.yaml");
    let written = |name: &str| -> BTreeSet<String> {
        let role = roles
            .iter()
            .find(|role| role["metadata"]["name"] == name)
            .expect("the role");
        let rights = rights(role).into_iter().filter(|(_, _, verb)| !is_read(verb));
        rights
            .map(|(group, resource, _)| format!("{resource}.{group}"))
            .collect()
    };
    assert!(written("tidegate-viewer").is_empty() && written("tidegate-fleet-viewer").is_empty());
    let operator = ["addonrollouts.tidegate.io", "rolloutfreezes.tidegate.io"];
    assert_eq!(written("tidegate-operator"), operator.map(str::to_owned).into());
    let approver = ["rolloutapprovals.tidegate.io".to_owned()];
    assert_eq!(written("tidegate-approver"), approver.into());
    // Every kind of Tidegate's own group has a role that reads it, and one that writes it.
    let own: BTreeSet<String> = api::crds()
        .into_iter()
        .filter(|crd| crd.spec.group == "tidegate.io")
        .map(|crd| format!("{}.tidegate.io", crd.spec.names.plural))
        .collect();
    assert_eq!(written("tidegate-admin"), own);
    let viewer = rights(&roles[0]);
    for kind in own {
        let resource = kind.trim_end_matches(".tidegate.io").to_owned();
        assert!(
            viewer.contains(&("tidegate.io".to_owned(), resource, "list".to_owned())),
            "{kind}"
        );
    }
}

/// The commands read these kinds, and fail without one of them.
#[test]
fn the_viewers_read_what_the_commands_need() {
    let roles = documents("manifests/rbac/users.yaml");
    let mut viewers = rights(&roles[0]);
    viewers.extend(rights(&roles[1]));
    for kind in store::Kind::ALL
        .into_iter()
        .filter(|kind| !kind.may_be_withheld())
    {
        let address = kind.address();
        let right = (
            address.group.to_owned(),
            address.resource.to_owned(),
            "list".to_owned(),
        );
        assert!(viewers.contains(&right), "{right:?}");
    }
}
