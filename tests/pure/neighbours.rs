//! Programs of third-party add-ons next to Tidegate: in every generation each writes its own part, overwrites nothing of the other's,
//! and at rest neither writes.
//!
//! The programs are `dev/spokes/src/neighbour`.

use serde_json::{Value, json};
use spokes::neighbour::{Framework, Generation};
use store::{Compat, DiscoveryLabels, Kind, Managing, ObjectKey, Settings};

use crate::kit::neighbour;
use crate::kit::world::World;

const GROUP: &str = "addon.open-cluster-management.io";
const LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";
const HOSTING: &str = "addon.open-cluster-management.io/hosting-cluster-name";

/// What only a program writes into an instance.
const THEIRS: [&str; 5] = [
    "healthCheck",
    "namespace",
    "registrations",
    "supportedConfigs",
    "kubeClientDriver",
];
const THEIR_CONDITIONS: [&str; 5] = [
    "Available",
    "HostingClusterValidity",
    "HostingManifestApplied",
    "ManifestApplied",
    "RegistrationApplied",
];

fn settings(managing: Managing, compat: Compat) -> Settings {
    Settings {
        discovery_labels: DiscoveryLabels::Off,
        managing,
        ..Settings::of(compat)
    }
}

/// Three clusters with the add-on; `c2` is hosted on `c0`.
fn world(settings: Settings, lifecycle: Option<&str>) -> World {
    let mut world = World::new(settings);
    let names: Vec<String> = (0..3).map(|number| format!("c{number}")).collect();
    for name in &names {
        world.add_cluster(name);
    }
    let mut hosted = world.objects[&ObjectKey::new(Kind::Cluster, "", "c2")].clone();
    hosted["metadata"]["annotations"] = json!({(HOSTING): "c0"});
    world.put(Kind::Cluster, hosted);
    world.decide("all", &names);
    configure(&mut world, "hi");
    let mut metadata = json!({"name": "hello"});
    if let Some(value) = lifecycle {
        metadata["annotations"] = json!({(LIFECYCLE): value});
    }
    world.put(
        Kind::AddOn,
        json!({"metadata": metadata, "spec": {
            "supportedConfigs": [{"group": GROUP, "resource": "addondeploymentconfigs",
                "defaultConfig": {"name": "base", "namespace": "default"}}],
            "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default"}]}}}),
    );
    world
}

fn configure(world: &mut World, greeting: &str) {
    world.put(
        Kind::DeploymentConfig,
        json!({"metadata": {"name": "base", "namespace": "default"},
            "spec": {"customizedVariables": [{"name": "GREETING", "value": greeting}], "agentInstallNamespace": ""}}),
    );
}

/// Returns everything on the hub that a program has written.
fn theirs(world: &World) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (key, object) in &world.objects {
        match key.kind {
            Kind::Work => all.push((key.to_string(), object.clone())),
            Kind::Instance => {
                let status = &object["status"];
                let mut own: Value = THEIRS.iter().map(|field| status[*field].clone()).collect();
                let conditions = status["conditions"].as_array().into_iter().flatten();
                let conditions =
                    conditions.filter(|one| THEIR_CONDITIONS.iter().any(|kind| one["type"] == *kind));
                own.as_array_mut().expect("a list").extend(conditions.cloned());
                all.push((key.to_string(), own));
            }
            _ => {}
        }
    }
    all
}

/// Returns what only a manager writes into an instance.
fn ours(world: &World) -> Vec<(String, Value)> {
    let instances = world.objects.iter().filter(|(key, _)| key.kind == Kind::Instance);
    let told = instances.map(|(key, object)| {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let mine = conditions.filter(|one| THEIR_CONDITIONS.iter().all(|kind| one["type"] != *kind));
        (key.to_string(), mine.cloned().collect())
    });
    told.collect()
}

/// Lets the program, Tidegate and the agents act in turn; returns how many writes there were in the last rounds.
fn writes_at_rest(world: &mut World, framework: &Framework) -> usize {
    let mut last = 0;
    for round in 0..20 {
        let before = ours(world);
        let mut written = neighbour::act(world, framework);
        for one in ours(world) {
            assert!(
                before.contains(&one),
                "the program has written the manager's part: {one:?}"
            );
        }
        let before = theirs(world);
        let plan = world.plan("hello");
        written += plan.actions.len();
        world.apply(&plan);
        for one in theirs(world) {
            let is_new = before.iter().all(|(key, _)| *key != one.0);
            assert!(is_new || before.contains(&one), "overwritten: {one:?}");
        }
        if round < 12 {
            for cluster in ["c0", "c1", "c2"] {
                world.report(cluster, None, true);
            }
        }
        if round >= 16 {
            last += written;
        }
        world.tick(jiff::SignedDuration::from_secs(1));
    }
    last
}

fn progressing(world: &World, cluster: &str) -> String {
    let instance = &world.objects[&ObjectKey::new(Kind::Instance, cluster, "hello")];
    let conditions = instance["status"]["conditions"].as_array().expect("conditions");
    let found = conditions.iter().find(|one| one["type"] == "Progressing");
    found.map_or_else(String::new, |one| {
        one["reason"].as_str().unwrap_or_default().to_owned()
    })
}

/// Generation, lifecycle annotation, whom Tidegate manages.
const ROWS: [(Generation, Option<&str>, Managing); 6] = [
    (Generation::Old, Some("tidegate"), Managing::Marked),
    (Generation::Old, Some("tidegate"), Managing::All),
    (Generation::Old, Some("addon-manager"), Managing::All),
    (Generation::New, Some("tidegate"), Managing::Marked),
    (Generation::New, Some("addon-manager"), Managing::All),
    (Generation::New, None, Managing::All),
];

#[test]
fn with_any_generation_no_manager_overwrites_and_none_writes_at_rest() {
    for (generation, lifecycle, managing) in ROWS {
        for compat in [Compat::Tidegate, Compat::Ocm] {
            for (is_customized, waits_for_configured) in [(true, false), (false, true)] {
                let row = format!("{generation:?} {lifecycle:?} {managing:?} {compat:?} {is_customized}");
                let mut world = world(settings(managing, compat), lifecycle);
                let framework = Framework {
                    is_customized,
                    waits_for_configured,
                    ..neighbour::framework("hello", generation)
                };
                assert!(!framework.manages_itself(lifecycle), "{row}");
                assert_eq!(writes_at_rest(&mut world, &framework), 0, "{row}");
                let done = if compat == Compat::Ocm {
                    "Completed"
                } else {
                    "InstallSucceed"
                };
                for cluster in ["c0", "c1", "c2"] {
                    assert_eq!(progressing(&world, cluster), done, "{row} {cluster}");
                }
                configure(&mut world, "bye");
                assert_eq!(writes_at_rest(&mut world, &framework), 0, "{row}, changed");
                let done = if compat == Compat::Ocm {
                    "Completed"
                } else {
                    "UpgradeSucceed"
                };
                assert_eq!(progressing(&world, "c2"), done, "{row}, changed");
            }
        }
    }
}

#[test]
fn an_instance_that_is_hosted_has_its_work_on_the_hosting_cluster_and_leaves_none() {
    let mut world = world(settings(Managing::All, Compat::Tidegate), None);
    let framework = neighbour::framework("hello", Generation::New);
    writes_at_rest(&mut world, &framework);
    let hosted = ObjectKey::new(Kind::Work, "c0", "addon-hello-deploy-hosting-c2-0");
    assert!(world.objects.contains_key(&hosted));
    assert_eq!(world.works("c2").len(), 0);
    world.decide("all", &["c0".to_owned(), "c1".to_owned()]);
    world.delete(&ObjectKey::new(Kind::Instance, "c2", "hello"));
    assert_eq!(writes_at_rest(&mut world, &framework), 0);
    assert!(!world.objects.contains_key(&hosted), "its program clears it away");
    assert!(
        !world
            .objects
            .contains_key(&ObjectKey::new(Kind::Instance, "c2", "hello"))
    );
}

#[test]
fn self_becomes_empty_once_and_stays() {
    let mut world = world(settings(Managing::All, Compat::Ocm), Some("self"));
    let key = ObjectKey::new(Kind::Instance, "c1", "hello");
    world.put(
        Kind::Instance,
        json!({"metadata": {"name": "hello", "namespace": "c1"}, "spec": {}}),
    );
    let framework = neighbour::framework("hello", Generation::New);
    assert_eq!(writes_at_rest(&mut world, &framework), 0);
    let addon = &world.objects[&ObjectKey::new(Kind::AddOn, "", "hello")];
    assert_eq!(addon["metadata"]["annotations"][LIFECYCLE], "");
    // In OCM's words an empty value is the add-on's own, like `self`.
    assert_eq!(world.objects[&key]["metadata"].get("ownerReferences"), None);
}
