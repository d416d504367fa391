//! How long a plan takes for 10, 1,000 and 10,000 clusters: settled, and with a new configuration for all of them; and how
//! long it takes again when nothing, or only one cluster, has changed since.

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

use plan::{self, Memo};
use serde_json::json;
use store::{Kind, ObjectKey, Settings};
use world::World;

fn main() {
    divan::main();
}

const CLUSTERS: [usize; 3] = [10, 1_000, 10_000];

/// A template add-on that is installed and reported on all clusters.
fn fleet(clusters: usize) -> World {
    let mut world = World::new(Settings::default());
    let names: Vec<String> = (0..clusters).map(|n| format!("cluster{n}")).collect();
    for name in &names {
        world.add_cluster(name);
    }
    world.decide("all", &names);
    world.put(Kind::DeploymentConfig, config("one"));
    let containers: Vec<_> = (0..4)
        .map(|n| {
            json!({"name": format!("c{n}"), "image": "registry.example/agent:{{TAG}}",
        "args": ["--cluster={{CLUSTER_NAME}}", "--namespace={{INSTALL_NAMESPACE}}"]})
        })
        .collect();
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "x"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": containers}}}});
    world.put(
        Kind::Template,
        json!({"metadata": {"name": "hello"},
            "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [deployment]}}}}),
    );
    let group = "addon.open-cluster-management.io";
    world.put(
        Kind::AddOn,
        json!({"metadata": {"name": "hello"}, "spec": {
            "supportedConfigs": [
                {"group": group, "resource": "addontemplates", "defaultConfig": {"name": "hello"}},
                {"group": group, "resource": "addondeploymentconfigs",
                    "defaultConfig": {"name": "base", "namespace": "default"}}],
            "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default"}]}}}),
    );
    world.settle("hello");
    for name in &names {
        let key = ObjectKey::new(Kind::Work, name.as_str(), "addon-hello-deploy-0");
        world.report_on(&key, None, true);
    }
    world.settle("hello");
    world
}

fn config(tag: &str) -> serde_json::Value {
    json!({"metadata": {"name": "base", "namespace": "default"},
        "spec": {"customizedVariables": [{"name": "TAG", "value": tag}]}})
}

#[divan::bench(args = CLUSTERS, sample_count = 10)]
fn settled(bencher: divan::Bencher<'_, '_>, clusters: usize) {
    let world = fleet(clusters);
    let view = world.store.view("hello").expect("the add-on");
    assert!(plan::addon(&view, world.now).actions.is_empty());
    bencher.bench_local(|| plan::addon(&view, world.now));
}

#[divan::bench(args = CLUSTERS, sample_count = 10)]
fn new_configuration(bencher: divan::Bencher<'_, '_>, clusters: usize) {
    let mut world = fleet(clusters);
    world.put(Kind::DeploymentConfig, config("two"));
    let view = world.store.view("hello").expect("the add-on");
    assert_eq!(plan::addon(&view, world.now).actions.len(), 2 * clusters + 1);
    bencher.bench_local(|| plan::addon(&view, world.now));
}

/// As in the controllers: with the memo of the last plan.
#[divan::bench(args = CLUSTERS, sample_count = 10)]
fn settled_again(bencher: divan::Bencher<'_, '_>, clusters: usize) {
    let world = fleet(clusters);
    let view = world.store.view("hello").expect("the add-on");
    let mut memo = Memo::default();
    let _first = plan::addon_with(&view, world.now, &mut memo);
    bencher.bench_local(|| {
        let plan = plan::addon_with(&view, world.now, &mut memo);
        assert_eq!(memo.unseen(), clusters);
        plan
    });
}

/// The same after an agent has reported: the event and the plan.
#[divan::bench(args = CLUSTERS, sample_count = 10)]
fn one_changed(bencher: divan::Bencher<'_, '_>, clusters: usize) {
    let mut world = fleet(clusters);
    let mut memo = Memo::default();
    let key = ObjectKey::new(Kind::Work, "cluster5", "addon-hello-deploy-0");
    let mut available = true;
    bencher.bench_local(|| {
        available = !available;
        world.report_on(&key, None, available);
        let view = world.store.view("hello").expect("the add-on");
        let plan = plan::addon_with(&view, world.now, &mut memo);
        if let Some(change) = memo.change() {
            world.store.forget_changes(&view.owner(), change);
        }
        plan
    });
}
