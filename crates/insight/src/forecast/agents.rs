//! Simulated agents that apply every change and report it.
//!
//! A connected cluster applies everything successfully; a cluster that is not available reports nothing.

use std::sync::Arc;

use serde_json::{Value, json};

use super::world::{World, cluster_of};
use api::names::{conditions, labels};
use store::{Kind, ObjectKey};

/// Lets every connected agent of an add-on's clusters report on its works; returns how many did.
pub(super) fn report(world: &mut World<'_>, addon: &str) -> usize {
    let works: Vec<(ObjectKey, Arc<Value>)> = world
        .objects
        .iter()
        .filter(|(key, work)| key.kind == Kind::Work && is_of(work, addon))
        .map(|(key, work)| (key.clone(), work.clone()))
        .collect();
    let mut reported = 0;
    for (key, work) in works {
        if !is_connected(world, &key.namespace) {
            continue;
        }
        let goes = work
            .pointer("/metadata/deletionTimestamp")
            .is_some_and(Value::is_string);
        if goes {
            world.remove(&key);
        } else if is_reported(&work) {
            continue;
        } else {
            let status = status(&work, &world.now.to_string());
            world.report(&key, &status);
        }
        reported += 1;
    }
    reported
}

/// Returns the connected clusters of an add-on's works that have not reported: none, after `report`.
pub(super) fn silent(world: &World<'_>, addon: &str) -> Vec<String> {
    let works = world
        .objects
        .iter()
        .filter(|(key, work)| key.kind == Kind::Work && is_of(work, addon));
    let silent = works.filter(|(key, work)| !is_reported(work) && !is_connected(world, &key.namespace));
    silent.map(|(key, work)| cluster_of(key, work)).collect()
}

fn is_of(work: &Value, addon: &str) -> bool {
    let labels = work.pointer("/metadata/labels").and_then(Value::as_object);
    let name = labels
        .and_then(|labels| labels.get(labels::ADDON_NAME))
        .and_then(Value::as_str);
    name == Some(addon)
}

/// A cluster without a ManagedCluster, as in files of a folder, counts as connected.
fn is_connected(world: &World<'_>, cluster: &str) -> bool {
    let key = ObjectKey::new(Kind::Cluster, "", cluster);
    let stated = world
        .objects
        .get(&key)
        .and_then(|object| object.pointer("/status/conditions"));
    let mut stated = stated.and_then(Value::as_array).into_iter().flatten();
    stated
        .find(|condition| {
            condition.get("type").and_then(Value::as_str) == Some(conditions::CLUSTER_AVAILABLE)
        })
        .is_none_or(|condition| condition.get("status").and_then(Value::as_str) == Some("True"))
}

fn is_reported(work: &Value) -> bool {
    let generation = work.pointer("/metadata/generation");
    let stated = work.pointer("/status/conditions").and_then(Value::as_array);
    let is_done = |kind: &str| {
        stated.into_iter().flatten().any(|condition| {
            condition.get("type").and_then(Value::as_str) == Some(kind)
                && condition.get("status").and_then(Value::as_str) == Some("True")
                && condition.get("observedGeneration") == generation
        })
    };
    is_done(conditions::WORK_APPLIED) && is_done(conditions::WORK_AVAILABLE)
}

fn status(work: &Value, now: &str) -> Value {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "Forecast", "message": "as forecast",
            "observedGeneration": work.pointer("/metadata/generation"), "lastTransitionTime": now})
    };
    let manifests = work.pointer("/spec/workload/manifests").and_then(Value::as_array);
    let reports: Vec<Value> = manifests
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, manifest)| manifest_report(index, manifest))
        .collect();
    json!({
        "conditions": [condition(conditions::WORK_APPLIED), condition(conditions::WORK_AVAILABLE)],
        "resourceStatus": {"manifests": reports},
    })
}

fn manifest_report(index: usize, manifest: &Value) -> Value {
    let text = |pointer: &str| {
        manifest
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let api_version = text("/apiVersion");
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let kind = text("/kind");
    let replicas = manifest
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(1);
    let number =
        |name: &str, value: i64| json!({"name": name, "fieldValue": {"type": "Integer", "integer": value}});
    let word =
        |name: &str, value: &str| json!({"name": name, "fieldValue": {"type": "String", "string": value}});
    let values = match kind {
        "Deployment" => vec![number("Replicas", replicas), number("ReadyReplicas", replicas)],
        "DaemonSet" => vec![number("DesiredNumberScheduled", 1), number("NumberReady", 1)],
        "Job" => vec![word("JobComplete", "True")],
        "Pod" => vec![word("PodPhase", "Succeeded")],
        _ => Vec::new(),
    };
    json!({
        "resourceMeta": {"ordinal": index, "group": group, "version": version, "kind": kind,
            "resource": format!("{}s", kind.to_lowercase()), "name": text("/metadata/name"),
            "namespace": text("/metadata/namespace")},
        "conditions": [],
        "statusFeedback": {"values": values},
    })
}
