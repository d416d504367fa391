//! The program of a third-party add-on on a hub in memory: `spokes::neighbour`, with its writes applied and counted here.

use std::collections::{BTreeMap, BTreeSet};

use api::hash::SpecHash;
use serde_json::{Value, json};
use spokes::neighbour::{Framework, Generation, Key, Scene, Write, decide};
use store::{Kind, ObjectKey};

use super::world::World;

/// Returns a program that computes hashes as all others on the hub do.
pub(crate) fn framework(addon: &str, generation: Generation) -> Framework {
    Framework::new(addon, generation, |object| SpecHash::of(object).to_string())
}

/// Lets the program act once on everything; returns how many objects it has written.
pub(crate) fn act(world: &mut World, framework: &Framework) -> usize {
    let of_kind = |kind: Kind| {
        let all = world.objects.iter().filter(move |(key, _)| key.kind == kind);
        all.map(|(key, object)| full(key, object))
    };
    let own = |object: &Value| object["metadata"]["name"] == json!(framework.addon);
    let label = "open-cluster-management.io/addon-name";
    let Some(addon) = of_kind(Kind::AddOn).find(own) else {
        return 0;
    };
    let instances: Vec<Value> = of_kind(Kind::Instance).filter(own).collect();
    let works =
        of_kind(Kind::Work).filter(|work| work["metadata"]["labels"][label] == json!(framework.addon));
    let works: Vec<Value> = works.collect();
    let all: BTreeMap<String, Value> = of_kind(Kind::Cluster)
        .map(|cluster| (text(&cluster, "name"), cluster))
        .collect();
    let clusters: BTreeSet<String> = all.keys().cloned().collect();
    let place = |config: &Value| {
        let plural = "addondeploymentconfigs".to_owned();
        (plural, text(config, "namespace"), text(config, "name"))
    };
    let configs = of_kind(Kind::DeploymentConfig).map(|config| (place(&config), config));
    let configs: BTreeMap<_, _> = configs.collect();
    let mut writes = Vec::new();
    for instance in &instances {
        let scene = Scene {
            addon: &addon,
            instance,
            cluster: &all[&text(instance, "namespace")],
            clusters: &clusters,
            works: &works,
            configs: &configs,
        };
        // What concerns the add-on is said once.
        let new = decide(framework, &scene, world.now);
        writes.extend(
            new.into_iter()
                .filter(|write| !writes.contains(write))
                .collect::<Vec<_>>(),
        );
    }
    let written = writes.len();
    for write in writes {
        carry_out(world, write);
    }
    written
}

fn text(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().unwrap_or_default().to_owned()
}

fn full(key: &ObjectKey, object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(key.kind.api_version());
    object["kind"] = json!(key.kind.address().kind);
    object
}

fn carry_out(world: &mut World, write: Write) {
    match write {
        Write::Create(work) => {
            world.put(Kind::Work, work);
        }
        Write::Patch(key, patch) => {
            let key = named(&key);
            let mut merged = world.objects[&key].clone();
            json_patch::merge(&mut merged, &patch);
            world.put(key.kind, merged);
        }
        Write::Status(key, status) => world.put_status(&named(&key), &status),
        Write::Delete(key) => world.delete(&named(&key)),
    }
}

fn named((kind, namespace, name): &Key) -> ObjectKey {
    let kind = [Kind::AddOn, Kind::Instance, Kind::Work]
        .into_iter()
        .find(|one| one.address().kind == *kind)
        .expect("a kind that it writes");
    ObjectKey::new(kind, namespace.as_str(), name.as_str())
}
