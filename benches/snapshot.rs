//! Cost of the snapshot: memory of one cluster, one add-on instance and one ManifestWork when an add-on is installed; and the time to
//! interpret a ManifestWork, which every work of another manager costs once per generation.
//!
//! `cargo bench -p tidegate --bench snapshot`. The allocator is counted: the peak of a case divided by 10,000 is one object.

#![expect(
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a bench may panic"
)]

#[path = "../tests/kit/settings.rs"]
mod settings;
#[path = "../tests/kit/status_table.rs"]
mod status_table;
#[path = "../tests/kit/world.rs"]
#[expect(dead_code, reason = "stories need more of the world than a measurement")]
mod world;

use divan::AllocProfiler;
use serde_json::{Value, json};
use store::{Completeness, Digest, Event, Kind, ObjectKey, Settings, Store};
use world::World;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// Objects that a store holds.
const HELD: usize = 10_000;
const ADDON: &str = "hello";

fn main() {
    divan::main();
}

/// The text of an object of a cluster on which the add-on is installed and reported.
fn installed(kind: Kind) -> String {
    let mut world = World::new(Settings::default());
    world.add_cluster("cluster0");
    world.decide("all", &["cluster0".to_owned()]);
    let group = "addon.open-cluster-management.io";
    world.put(
        Kind::DeploymentConfig,
        json!({"metadata": {"name": "base", "namespace": "default"},
            "spec": {"customizedVariables": [{"name": "TAG", "value": "one"}]}}),
    );
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "x"},
        "spec": {"replicas": 1}});
    world.put(
        Kind::Template,
        json!({"metadata": {"name": ADDON},
            "spec": {"addonName": ADDON, "agentSpec": {"workload": {"manifests": [deployment]}}}}),
    );
    world.put(
        Kind::AddOn,
        json!({"metadata": {"name": ADDON}, "spec": {
            "supportedConfigs": [
                {"group": group, "resource": "addontemplates", "defaultConfig": {"name": ADDON}},
                {"group": group, "resource": "addondeploymentconfigs",
                    "defaultConfig": {"name": "base", "namespace": "default"}}],
            "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default"}]}}}),
    );
    world.settle(ADDON);
    world.report("cluster0", None, true);
    world.settle(ADDON);
    let key = match kind {
        Kind::Cluster => ObjectKey::new(kind, "", "cluster0"),
        Kind::Work => ObjectKey::new(kind, "cluster0", format!("addon-{ADDON}-deploy-0")),
        _ => ObjectKey::new(kind, "cluster0", ADDON),
    };
    world.objects[&key].to_string()
}

fn hold(bencher: divan::Bencher<'_, '_>, kind: Kind) {
    let text = installed(kind);
    bencher.bench_local(|| {
        let mut store = Store::new(Settings::default());
        for n in 0..HELD {
            // One object at a time: what is not kept is freed before the next one.
            let text = text
                .replace("cluster0", &format!("cluster{n}"))
                .replace("uid-", &format!("uid-{n}-"));
            let object = serde_json::from_str(&text).expect("JSON");
            store.apply(Event::Applied { kind, object });
        }
        store
    });
}

#[divan::bench(sample_count = 3)]
fn hold_clusters(bencher: divan::Bencher<'_, '_>) {
    hold(bencher, Kind::Cluster);
}

#[divan::bench(sample_count = 3)]
fn hold_instances(bencher: divan::Bencher<'_, '_>) {
    hold(bencher, Kind::Instance);
}

#[divan::bench(sample_count = 3)]
fn hold_works(bencher: divan::Bencher<'_, '_>) {
    hold(bencher, Kind::Work);
}

/// Ten add-ons on ten thousand clusters, each with its work: the peak of the allocator is what all of them take.
#[divan::bench(sample_count = 1, sample_size = 1)]
fn hold_fleet(bencher: divan::Bencher<'_, '_>) {
    let texts = [Kind::Cluster, Kind::Instance, Kind::Work].map(|kind| (kind, installed(kind)));
    bencher.bench_local(|| {
        let mut store = Store::new(Settings::default());
        for (kind, text) in &texts {
            let addons = if *kind == Kind::Cluster { 1 } else { 10 };
            for (cluster, addon) in
                (0..HELD).flat_map(|cluster| (0..addons).map(move |addon| (cluster, addon)))
            {
                let text = text
                    .replace("cluster0", &format!("cluster{cluster}"))
                    .replace("uid-", &format!("uid-{cluster}-{addon}-"))
                    .replace("hello", &format!("hello{addon}"));
                let object = serde_json::from_str(&text).expect("JSON");
                store.apply(Event::Applied { kind: *kind, object });
            }
        }
        let _facts = store.publish(Completeness::default());
        store
    });
}

/// The spec of a work with so many Deployments and as many ConfigMaps, each as Go's types write it: empty values included.
fn spec(pairs: usize) -> Value {
    let container = json!({"name": "main", "image": "quay.example/agent:1", "args": ["--cluster=cluster0"], "resources": {},
        "env": [{"name": "HUB_KUBECONFIG", "value": "/managed/hub-kubeconfig/kubeconfig"}, {"name": "CLUSTER_NAME", "value": "cluster0"}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8000}, "initialDelaySeconds": 2}});
    let pair = |number: usize| {
        let metadata =
            json!({"name": format!("agent-{number}"), "namespace": "agents", "creationTimestamp": null});
        let pod = json!({"serviceAccountName": "agent", "containers": [container],
            "volumes": [{"name": "scratch", "emptyDir": {}}]});
        [
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "status": {}, "spec": {"replicas": 1, "strategy": {},
                "selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}}, "spec": pod}}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
                "data": {"cluster": "cluster0", "settings": "level: info\n".repeat(60)}}),
        ]
    };
    let manifests: Vec<Value> = (0..pairs).flat_map(pair).collect();
    json!({"workload": {"manifests": manifests}})
}

/// 1 is a small add-on; 200 make a work of about the largest size that is written (400 KiB).
#[divan::bench(args = [1, 10, 200])]
fn meaning_of_work(bencher: divan::Bencher<'_, '_>, pairs: usize) {
    let spec = spec(pairs);
    let bytes = divan::counter::BytesCount::new(spec.to_string().len());
    bencher
        .counter(bytes)
        .bench(|| Digest::of_spec(divan::black_box(&spec)));
}
