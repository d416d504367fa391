//! In which version objects are stored, and how a definition leaves one behind.

use serde_json::{Value, json};

use crate::{DEFINITION, Scene, conv, convs, new, old};

const STATUS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/convs.conv.example.io/status";

/// Marks a version as the stored one.
async fn store(scene: &Scene, name: &str) -> Value {
    let mut definition = scene.get(DEFINITION).await;
    let versions = definition["spec"]["versions"].as_array_mut().expect("versions");
    for version in versions {
        version["storage"] = json!(version["name"] == name);
    }
    scene.put(DEFINITION, &definition).await
}

#[tokio::test]
async fn objects_stay_in_their_version_until_they_are_written() {
    let scene = Scene::new().await;
    let before = scene.create(&convs("v1"), &old("a", "h:1")).await;
    let definition = store(&scene, "v2").await;
    assert_eq!(definition["status"]["storedVersions"], json!(["v1", "v2"]));
    scene.get(&conv("v1", "a")).await;
    assert_eq!(
        scene.conversions(),
        [],
        "the old object is still stored as it was"
    );
    scene.get(&conv("v2", "a")).await;
    assert_eq!(scene.conversions(), [(1, "v2".to_owned())]);
    scene.create(&convs("v2"), &new("b", "h", "1")).await;
    assert_eq!(
        scene.conversions(),
        [],
        "new objects are stored in the new version"
    );
    scene.get(&convs("v2")).await;
    assert_eq!(
        scene.conversions(),
        [(1, "v2".to_owned())],
        "only the old one is sent"
    );
    // Writing what is there already moves the object to the new version.
    let after = scene.put(&conv("v1", "a"), &before).await;
    assert_ne!(
        after["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    assert_eq!(after["metadata"]["generation"], 1);
    scene.conversions();
    assert_eq!(
        scene.get(&conv("v2", "a")).await["spec"],
        json!({ "host": "h", "port": "1" })
    );
    assert_eq!(scene.conversions(), []);
}

#[tokio::test]
async fn a_stored_version_cannot_be_removed_before_it_is_given_up() {
    let scene = Scene::new().await;
    scene.create(&convs("v1"), &old("a", "h:1")).await;
    let mut definition = store(&scene, "v2").await;
    let versions = definition["spec"]["versions"].as_array_mut().expect("versions");
    versions.retain(|version| version["name"] == "v2");
    let (code, status) = scene
        .send("PUT", DEFINITION, "application/json", Some(&definition))
        .await;
    assert_eq!(code, 422);
    let expected = "CustomResourceDefinition.apiextensions.k8s.io \"convs.conv.example.io\" is invalid: status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions";
    assert_eq!(status["message"], expected);

    let given_up = scene
        .patch(STATUS, &json!({ "status": { "storedVersions": ["v2"] } }))
        .await;
    definition["metadata"]["resourceVersion"] = given_up["metadata"]["resourceVersion"].clone();
    scene.put(DEFINITION, &definition).await;
    let (code, _) = scene.send("GET", &convs("v1"), "application/json", None).await;
    assert_eq!(code, 404);
    // Objects that are left in a version which was given up too early cannot be read.
    for target in [conv("v2", "a"), convs("v2")] {
        let (code, status) = scene.send("GET", &target, "application/json", None).await;
        let expected = "request to convert CR from an invalid group/version: conv.example.io/v1";
        assert_eq!((code, &status["message"]), (500, &json!(expected)));
    }
}

#[tokio::test]
async fn a_version_that_is_not_served_can_still_be_the_stored_one() {
    let scene = Scene::new().await;
    scene.create(&convs("v1"), &old("a", "h:1")).await;
    let mut definition = scene.get(DEFINITION).await;
    definition["spec"]["versions"][0]["served"] = json!(false);
    scene.put(DEFINITION, &definition).await;
    let (code, _) = scene.send("GET", &convs("v1"), "application/json", None).await;
    assert_eq!(code, 404);
    assert_eq!(
        scene.get(&conv("v2", "a")).await["spec"],
        json!({ "host": "h", "port": "1" })
    );
    scene.create(&convs("v2"), &new("b", "h", "1")).await;
    assert_eq!(
        scene.get(&convs("v2")).await["items"].as_array().map(Vec::len),
        Some(2)
    );
    scene.ok("DELETE", DEFINITION, "application/json", None).await;
    let (code, _) = scene.send("GET", DEFINITION, "application/json", None).await;
    assert_eq!(code, 404);
}
