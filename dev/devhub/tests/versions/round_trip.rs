//! Nothing is lost on the way from version to version.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{Scene, conv, convs, new};

/// What tells an object from others, whatever its version.
fn kept(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    if let Some(members) = metadata.as_object_mut() {
        members.remove("resourceVersion");
        members.remove("managedFields");
    }
    json!([metadata, object["spec"], object["status"]])
}

#[test]
fn an_object_that_goes_through_the_other_version_comes_back_as_it_was() {
    let runtime = Runtime::new().expect("a runtime");
    let scene = runtime.block_on(Scene::new());
    let config = Config {
        cases: 32,
        failure_persistence: None,
        ..Config::default()
    };
    let label = "[a-z0-9]{1,8}";
    let object = (
        "[^:]{0,12}",
        ".{0,12}",
        proptest::collection::btree_map(label, label, 0..4),
        proptest::collection::btree_map(label, ".{0,20}", 0..3),
        0..2_000_000_000_i64,
    );
    let numbers = AtomicUsize::new(0);
    let outcome = TestRunner::new(config).run(&object, |(host, port, labels, annotations, replicas)| {
        let name = format!("o{}", numbers.fetch_add(1, Ordering::Relaxed));
        let mut object = new(&name, &host, &port);
        object["spec"]["replicas"] = json!(replicas);
        object["metadata"]["labels"] = json!(labels);
        object["metadata"]["annotations"] = json!(annotations);
        let (before, stored, after) = runtime.block_on(async {
            scene.create(&convs("v2"), &object).await;
            let before = scene
                .patch(
                    &format!("{}/status", conv("v2", &name)),
                    &json!({ "status": { "phase": port } }),
                )
                .await;
            let stored = scene.get(&conv("v1", &name)).await;
            scene.put(&conv("v1", &name), &stored).await;
            (before, stored, scene.get(&conv("v2", &name)).await)
        });
        prop_assert_eq!(&stored["spec"]["hostPort"], &json!(format!("{host}:{port}")));
        prop_assert_eq!(kept(&before), kept(&after));
        Ok(())
    });
    outcome.expect("it comes back");
}
