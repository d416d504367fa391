//! Commands about versions: templates with a version, a user who sets one, and the versions in a status.

use serde_json::{Value, json};
use store::{Kind, ObjectKey};

use crate::kit::world::World;

/// Carries out a line about versions.
#[expect(clippy::panic, reason = "an unknown line must fail and not count as executed")]
pub(crate) fn act(world: &mut World, addon: &str, words: &[&str]) {
    match words {
        ["template", name, version] => put_template(world, addon, name, version),
        ["desire", cluster, version] => desire(world, addon, cluster, version),
        other => panic!("no such line: {other:?}"),
    }
}

/// `template <name> <version>`: an `AddOnTemplate` for the add-on with the label and one manifest.
fn put_template(world: &mut World, addon: &str, name: &str, version: &str) {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "agent", "namespace": "default"}, "data": {"from": name}});
    let labels = json!({"addon.open-cluster-management.io/version": version});
    let template = json!({"kind": "AddOnTemplate", "metadata": {"name": name, "labels": labels},
        "spec": {"addonName": addon, "agentSpec": {"workload": {"manifests": [manifest]}}}});
    world.put(Kind::Template, template);
}

/// `desire <cluster> <version>`: a user writes `spec.desiredVersion`, or removes it (`none`).
fn desire(world: &mut World, addon: &str, cluster: &str, version: &str) {
    let key = ObjectKey::new(Kind::Instance, cluster, addon);
    let mut instance = world.objects[&key].clone();
    let spec = instance["spec"].as_object_mut().expect("an instance has a spec");
    if version == "none" {
        spec.remove("desiredVersion");
    } else {
        spec.insert("desiredVersion".to_owned(), Value::from(version));
    }
    world.put(Kind::Instance, instance);
}

/// Returns what a status says about versions, "" when it says nothing.
pub(crate) fn told(status: &Value, before: &str, after: &str) -> String {
    let fields = [
        "supportedVersions",
        "defaultVersion",
        "currentVersion",
        "lastVersion",
    ];
    let said: Vec<String> = fields
        .iter()
        .filter_map(|field| Some((field, status.get(field)?)))
        .map(|(field, value)| format!("{field}={value}"))
        .collect();
    if said.is_empty() {
        return String::new();
    }
    format!("{before}{}{after}", said.join(" "))
}
