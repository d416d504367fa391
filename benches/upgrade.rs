//! Time to plan and check an upgrade of 100, 1,000 and 5,000 clusters of which ten are updating, and time to observe an agent's
//! report.

#![expect(clippy::indexing_slicing, reason = "a bench may panic")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use store::{Event, Kind, Owner, Settings, Store};

fn main() {
    divan::main();
}

const CLUSTERS: [usize; 3] = [100, 1_000, 5_000];
const GROUP: &str = "cluster.open-cluster-management.io";

fn now() -> Timestamp {
    "2026-01-05T00:00:00Z".parse().expect("a time")
}

/// A store to which plans are written, as a hub would.
struct World {
    store: Store,
    revision: u64,
}

impl World {
    fn put(&mut self, kind: Kind, mut object: Value) {
        self.revision += 1;
        let meta = object["metadata"].as_object_mut().expect("metadata");
        let uid = format!(
            "{}/{}",
            meta.get("namespace").unwrap_or(&Value::Null),
            meta["name"]
        );
        meta.insert("uid".to_owned(), uid.into());
        // A hub always sets it; without it every work would date from 1970 and be overdue.
        meta.entry("creationTimestamp")
            .or_insert_with(|| now().to_string().into());
        meta.insert("resourceVersion".to_owned(), self.revision.to_string().into());
        self.store.apply(Event::Applied { kind, object });
    }
}

/// An upgrade with ten clusters updating.
fn world(clusters: usize) -> (World, Owner) {
    let mut world = World {
        store: Store::new(Settings::default()),
        revision: 0,
    };
    let set = format!("{GROUP}/clusterset");
    for number in 0..clusters {
        let labels: BTreeMap<String, String> = [
            (set.as_str(), "default"),
            ("clusterID", "5f8e1c8a-0d2b-4a7e-9f0c-1c2d3e4f5a6b"),
            ("openshiftVersion", "4.11.9"),
            ("region", "somewhere"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        let available = json!({"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        world.put(
            Kind::Cluster,
            json!({"metadata": {"name": format!("cluster{number}"), "labels": labels},
                "spec": {"hubAcceptsClient": true}, "status": {"conditions": [available]}}),
        );
    }
    let place = json!({"name": "default", "namespace": "default"});
    world.put(
        Kind::ClusterSet,
        json!({"metadata": {"name": "default"}, "spec": {}}),
    );
    world.put(
        Kind::SetBinding,
        json!({"metadata": place, "spec": {"clusterSet": "default"}}),
    );
    let mut upgrade = json!({"metadata": {"name": "mcu", "namespace": "default",
            "finalizers": [store::upgrade::marks::FINALIZER], "generation": 1},
        "spec": {"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}}});
    world.put(Kind::Upgrade, upgrade.clone());
    let owner = Owner::new(Kind::Upgrade, "default", "mcu");
    for round in 0.. {
        let made = {
            let view = world.store.upgrade_view(&owner).expect("the upgrade");
            plan::upgrade::plan(&view, now())
        };
        if made.writes.is_empty() && made.status.is_none() {
            break;
        }
        assert!(round < 9, "it never comes to rest");
        for write in &made.writes {
            if let plan::upgrade::Write::Create { body, .. } = write {
                world.put(Kind::UpgradeWork, body.clone());
            }
        }
        if let Some(status) = &made.status {
            upgrade["status"] = serde_json::to_value(status).expect("plain data");
            world.put(Kind::Upgrade, upgrade.clone());
        }
    }
    (world, owner)
}

#[divan::bench(args = CLUSTERS, sample_count = 20)]
fn plan(bencher: divan::Bencher<'_, '_>, clusters: usize) {
    let (world, owner) = world(clusters);
    bencher.bench_local(|| {
        let view = world.store.upgrade_view(&owner).expect("the upgrade");
        let made = plan::upgrade::plan(&view, now());
        assert!(made.writes.is_empty() && made.status.is_none(), "it is at rest");
        made
    });
}

/// As the controller does it: every plan is checked.
#[divan::bench(args = CLUSTERS, sample_count = 20)]
fn plan_and_check(bencher: divan::Bencher<'_, '_>, clusters: usize) {
    let (world, owner) = world(clusters);
    bencher.bench_local(|| {
        let view = world.store.upgrade_view(&owner).expect("the upgrade");
        let made = plan::upgrade::plan(&view, now());
        assert_eq!(oracle::upgrade::check(&view, &made, now()), Vec::<String>::new());
        made
    });
}
