//! Commands about template add-ons: manifests of a given size, the work of each manifest, and their pods.

use std::fmt::Write as _;

use serde_json::{Value, json};
use store::Kind;

use crate::kit::world::World;

/// Puts a template with one ConfigMap for every `<name>=<KiB>`.
pub(crate) fn put_sized(world: &mut World, name: &str, sizes: &[&str]) {
    let manifest = |pair: &&str| {
        let (name, size) = pair.split_once('=').expect("<name>=<KiB>");
        let size: usize = size.parse().expect("a number of KiB");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
            "data": {"filler": "x".repeat(size * 1024)}})
    };
    let manifests: Vec<Value> = sizes.iter().map(manifest).collect();
    let spec = json!({"addonName": "hello", "agentSpec": {"workload": {"manifests": manifests}}});
    world.put(Kind::Template, json!({"metadata": {"name": name}, "spec": spec}));
}

/// Takes the add-on's label from all works of a cluster.
pub(crate) fn strip_labels(world: &mut World, cluster: &str) {
    for key in world.works(cluster) {
        let mut work = world.objects[&key].clone();
        work["metadata"]["labels"] = json!({"foreign": "kept"});
        world.put(Kind::Work, work);
    }
}

/// Tells which manifests each work of a cluster holds, and what is left behind when it goes.
pub(crate) fn holdings(world: &World, cluster: &str) -> String {
    let mut text = String::new();
    for key in world.works(cluster) {
        let spec = &world.objects[&key]["spec"];
        let names = |pointer: &str, field: &str| {
            let items = spec.pointer(pointer).and_then(Value::as_array);
            let each = items.into_iter().flatten();
            let name = |one: &Value| {
                one.pointer(field)
                    .and_then(Value::as_str)
                    .unwrap_or("?")
                    .to_owned()
            };
            each.map(name).collect::<Vec<_>>().join(" ")
        };
        let held = names("/workload/manifests", "/metadata/name");
        let left = names("/deleteOption/selectivelyOrphans/orphaningRules", "/name");
        let left = if left.is_empty() {
            left
        } else {
            format!("; left behind: {left}")
        };
        writeln!(text, "  {}: {held}{left}", key.name).expect("a string takes text");
    }
    text
}

/// Tells what the pods of every workload of a cluster look like, one field a line.
pub(crate) fn pods(world: &World, cluster: &str) -> String {
    let mut text = String::new();
    for key in world.works(cluster) {
        let manifests = world.objects[&key].pointer("/spec/workload/manifests").cloned();
        for manifest in manifests.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let name = |field: &str| {
                manifest["metadata"][field]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            writeln!(
                text,
                "  {} {}/{}",
                manifest["kind"],
                name("namespace"),
                name("name")
            )
            .expect("text");
            let pod = manifest.pointer("/spec/template/spec").and_then(Value::as_object);
            let fields: Vec<(String, &Value)> = pod
                .into_iter()
                .flatten()
                .filter(|(field, _)| *field != "containers")
                .map(|(field, value)| (field.clone(), value))
                .collect();
            let containers = pod
                .and_then(|pod| pod.get("containers"))
                .and_then(Value::as_array);
            let of_container = |one: &'_ Value| -> Vec<(String, Value)> {
                let fields = one.as_object().cloned().unwrap_or_default();
                fields
                    .into_iter()
                    .map(|(field, value)| (format!("container {field}"), value))
                    .collect()
            };
            let inner: Vec<(String, Value)> =
                containers.into_iter().flatten().flat_map(of_container).collect();
            for (field, value) in fields
                .into_iter()
                .chain(inner.iter().map(|(field, value)| (field.clone(), value)))
            {
                match value {
                    Value::Array(items) => {
                        for item in items {
                            writeln!(text, "    {field}: {item}").expect("a string takes text");
                        }
                    }
                    other => writeln!(text, "    {field}: {other}").expect("a string takes text"),
                }
            }
        }
    }
    text
}
