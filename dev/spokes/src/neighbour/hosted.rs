//! The part of an add-on's program in hosted mode: works in the namespace of the hosting cluster, and their end.
//!
//! Decides nothing about the works of the cluster itself.

use serde_json::{Value, json};

use super::decide::{ADDON_NAME, Scene, Write, key, stamped};
use super::framework::Framework;
use super::json::{annotation, is_deleting, label, list, text};

/// Annotation that names the hosting cluster. For this program an empty one counts as hosted, too.
pub(super) const HOSTING: &str = "addon.open-cluster-management.io/hosting-cluster-name";
const ADDON_NAMESPACE: &str = "open-cluster-management.io/addon-namespace";
const CLEANUP: &str = "addon.open-cluster-management.io/hosting-manifests-cleanup";

/// Returns the works that are hosted for the cluster of an instance, wherever they stand.
pub(super) fn works<'v>(scene: &Scene<'v>) -> Vec<&'v Value> {
    let cluster = text(scene.instance, "/metadata/namespace");
    let all = scene.works.iter();
    all.filter(|work| label(work, ADDON_NAMESPACE) == cluster)
        .collect()
}

/// Returns the writes for what is hosted: a work while it is wanted, none any more when it is not.
pub(super) fn writes(framework: &Framework, scene: &Scene<'_>) -> Vec<Write> {
    let instance = scene.instance;
    let host = annotation(instance, HOSTING).filter(|host| scene.clusters.contains(*host));
    let host = host.filter(|_| !is_deleting(instance));
    let held = list(instance, "/metadata/finalizers");
    let holds = held.iter().any(|one| *one == CLEANUP);
    let is_left = |work: &&&Value| Some(text(work, "/metadata/namespace")) != host && !is_deleting(work);
    let there = works(scene);
    let mut writes: Vec<Write> = there
        .iter()
        .filter(is_left)
        .map(|work| Write::Delete(key(work)))
        .collect();
    let Some(host) = host else {
        if there.is_empty() && holds {
            let kept: Vec<&Value> = held.iter().filter(|one| **one != CLEANUP).collect();
            writes.push(Write::Patch(
                key(instance),
                json!({"metadata": {"finalizers": kept}}),
            ));
        }
        return writes;
    };
    if !holds {
        let all: Vec<Value> = held.iter().cloned().chain([json!(CLEANUP)]).collect();
        writes.push(Write::Patch(
            key(instance),
            json!({"metadata": {"finalizers": all}}),
        ));
    }
    let cluster = text(instance, "/metadata/namespace");
    let name = format!("addon-{}-deploy-hosting-{cluster}-0", framework.addon);
    let labels = json!({(ADDON_NAME): framework.addon, (ADDON_NAMESPACE): cluster});
    writes.extend(stamped(
        framework,
        scene,
        (host, &name),
        json!({"labels": labels}),
    ));
    writes
}

/// Returns what is said of the hosting cluster.
pub(super) fn validity(scene: &Scene<'_>, host: &str) -> super::conditions::ConditionRow {
    if scene.clusters.contains(host) {
        let told = format!("hosting cluster {host} is a managed cluster of the hub");
        ("True", "HostingClusterValid", told)
    } else {
        let told = format!("hosting cluster {host} is not a managed cluster of the hub");
        ("False", "HostingClusterInvalid", told)
    }
}
