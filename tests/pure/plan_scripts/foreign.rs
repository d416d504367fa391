//! The actions of an add-on's own program: works of its own, annotated with the hashes of the status.
//!
//! `foreign work CLUSTER` writes the one on the cluster, `foreign work CLUSTER on HOST` the one on the cluster that hosts it.

use serde_json::{Map, Value, json};
use store::{Kind, ObjectKey};

use super::unknown;
use crate::kit::world::World;

pub(super) fn act(world: &mut World, addon: &str, words: &[&str]) {
    let (name, namespace, home) = match words {
        ["work", cluster] => (format!("addon-{addon}-deploy-0"), cluster, None),
        ["work", cluster, "on", host] => (
            format!("addon-{addon}-deploy-hosting-{cluster}-0"),
            host,
            Some(*cluster),
        ),
        other => return unknown(other),
    };
    let cluster = home.unwrap_or(namespace);
    let instance = &world.objects[&ObjectKey::new(Kind::Instance, cluster, addon)];
    let mut labels = json!({"open-cluster-management.io/addon-name": addon});
    if let Some(home) = home {
        labels["open-cluster-management.io/addon-namespace"] = json!(home);
    }
    let metadata = json!({"name": name, "namespace": namespace, "labels": labels,
        "annotations": {"open-cluster-management.io/config-spec-hash": hashes(instance).to_string()}});
    let spec = json!({"workload": {"manifests": []}});
    world.put(Kind::Work, json!({"metadata": metadata, "spec": spec}));
}

fn hashes(instance: &Value) -> Value {
    let references = instance["status"]["configReferences"].as_array();
    let each = references.into_iter().flatten().map(|one| {
        let text = |pointer: &str| one.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (resource, group) = (text("/resource"), text("/group"));
        let (namespace, name) = (text("/desiredConfig/namespace"), text("/desiredConfig/name"));
        let hash = one["desiredConfig"]["specHash"].clone();
        (format!("{resource}.{group}/{namespace}/{name}"), hash)
    });
    Value::Object(each.collect::<Map<_, _>>())
}
