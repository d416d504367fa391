//! What a server answers to those who mistake one thing for another: another object, another kind, a name that is taken.
//!
//! Each of them was once answered otherwise here than by a real server; with `KUBEBUILDER_ASSETS` the same is asked of one.

use kube::client::Body;
use serde_json::{Value, json};

use crate::raw::{WIDGETS, ask};
use crate::{Scene, within};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Sends a body and returns status and answer.
async fn send(scene: &Scene, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", "application/json")
        .body(Body::from(body.to_string().into_bytes()))
        .expect("a request");
    let response = within(scene.client.send(request)).await.expect("an answer");
    let status = response.status().as_u16();
    let bytes = within(response.into_body().collect_bytes())
        .await
        .expect("a body");
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn an_update_meant_for_the_former_object_of_a_name_is_a_conflict_of_the_storage() {
    let scene = Scene::start().await;
    let made = serde_json::to_value(scene.create("a", "red").await).expect("an object");
    let uid = made["metadata"]["uid"].as_str().expect("a uid").to_owned();
    let former = "0b6a4f0a-0000-4000-8000-000000000000";
    // Without a resource version, custom resources may not be replaced at all; with it, the UID decides.
    let version = &made["metadata"]["resourceVersion"];
    let body = json!({
        "apiVersion": "probe.example.io/v1", "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default", "uid": former, "resourceVersion": version},
        "spec": {"color": "blue"},
    });
    let path = format!("{WIDGETS}/a");
    let (code, answer) = send(&scene, "PUT", &path, &body).await;
    assert_eq!((code, &answer["reason"]), (409, &json!("Conflict")));
    let told = message(&answer);
    for part in [
        "StorageError: invalid object, Code: 4, Key: /registry/probe.example.io/widgets/default/a, ResourceVersion: 0",
        &format!("Precondition failed: UID in precondition: {former}, UID in object meta: {uid}"),
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(ask(&scene.client, "GET", &path).await.1["spec"]["color"], "red");
}

#[tokio::test]
async fn a_deletion_whose_body_is_an_object_is_refused_and_deletes_nothing() {
    let scene = Scene::start().await;
    scene.create("a", "red").await;
    let path = format!("{WIDGETS}/a");
    let body = json!({"apiVersion": "probe.example.io/v1", "kind": "Widget", "metadata": {"name": "a"}});
    let (code, answer) = send(&scene, "DELETE", &path, &body).await;
    assert_eq!(code, 400, "{answer}");
    let told = message(&answer);
    let expected = r#"no kind "Widget" is registered for version "probe.example.io/v1" in scheme"#;
    assert!(told.contains(expected), "{told}");
    assert_eq!(ask(&scene.client, "GET", &path).await.0, 200);
    let (code, _) = send(
        &scene,
        "DELETE",
        &path,
        &json!({"apiVersion": "v1", "kind": "DeleteOptions"}),
    )
    .await;
    assert_eq!(code, 200);
}

#[tokio::test]
async fn a_namespace_is_named_by_one_label() {
    let scene = Scene::start().await;
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team.blue"}});
    let (code, answer) = send(&scene, "POST", "/api/v1/namespaces", &body).await;
    assert_eq!(code, 422);
    assert!(
        message(&answer).contains("must not contain dots"),
        "{}",
        message(&answer)
    );
}

/// A definition of gadgets, under names of its own.
fn definition(group: &str, names: &Value) -> Value {
    let plural = names["plural"].as_str().unwrap_or_default();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "names": names, "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// Reads a definition until its names have been judged.
async fn judged(scene: &Scene, name: &str) -> Value {
    within(async {
        loop {
            let (_, read) = ask(&scene.client, "GET", &format!("{DEFINITIONS}/{name}")).await;
            let conditions = read["status"]["conditions"].as_array();
            if conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "NamesAccepted")) {
                return read;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn the_names_of_a_definition_are_accepted_one_by_one() {
    let scene = Scene::start().await;
    let names =
        json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "WidgetList"});
    let body = definition("probe.example.io", &names);
    let (code, answer) = send(&scene, "POST", DEFINITIONS, &body).await;
    assert_eq!(code, 201, "{answer}");
    let read = judged(&scene, "gadgets.probe.example.io").await;
    let conditions = read["status"]["conditions"].as_array().expect("conditions");
    let accepted = conditions
        .iter()
        .find(|one| one["type"] == "NamesAccepted")
        .expect("a condition");
    assert_eq!(
        (&accepted["status"], &accepted["reason"], &accepted["message"]),
        (
            &json!("False"),
            &json!("ListKindConflict"),
            &json!(r#""WidgetList" is already in use"#)
        )
    );
    let status = &read["status"]["acceptedNames"];
    assert_eq!(
        (&status["plural"], &status["kind"], &status["singular"]),
        (&json!("gadgets"), &json!("Gadget"), &json!("gadget")),
        "names that no other kind has are accepted"
    );
}

#[tokio::test]
async fn what_a_definition_may_never_change_is_one_fault_each() {
    let scene = Scene::start().await;
    let path = format!("{DEFINITIONS}/widgets.probe.example.io");
    let (_, mut read) = ask(&scene.client, "GET", &path).await;
    read["spec"]["group"] = json!("other.example.io");
    let (code, answer) = send(&scene, "PUT", &path, &read).await;
    assert_eq!(code, 422);
    let causes = answer["details"]["causes"].as_array().expect("causes");
    let told: Vec<_> = causes
        .iter()
        .map(|cause| {
            let text = cause["message"].as_str().unwrap_or_default();
            (
                cause["field"].as_str().unwrap_or_default(),
                text.ends_with("field is immutable"),
            )
        })
        .collect();
    assert_eq!(told, [("spec.group", true)]);
}

#[tokio::test]
async fn a_generated_name_that_is_taken_is_reported_and_may_be_retried() {
    let scene = Scene::start().await;
    let taken = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fixed"}});
    assert_eq!(send(&scene, "POST", MAPS, &taken).await.0, 201);
    // A name of the client's own that is taken is no such case.
    let (code, answer) = send(&scene, "POST", MAPS, &taken).await;
    assert_eq!(
        (code, &answer["details"]["retryAfterSeconds"]),
        (409, &Value::Null)
    );
    assert!(!message(&answer).contains("unique name"), "{answer}");
    // A server looks at whether a name was to be made, not at whether it made it.
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fixed", "generateName": "fix-"}});
    let (code, answer) = send(&scene, "POST", MAPS, &generated).await;
    assert_eq!((code, &answer["details"]["retryAfterSeconds"]), (409, &json!(1)));
    assert!(
        message(&answer).ends_with("the server was not able to generate a unique name for the object"),
        "{answer}"
    );
}

#[tokio::test]
async fn embedded_objects_lose_empty_metadata_when_they_are_stored() {
    let scene = Scene::start().await;
    let mut body = definition(
        "embedding.example.io",
        &json!({"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"}),
    );
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
        "type": "object",
        "properties": {"manifests": {"type": "array", "items": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        }}},
    });
    assert_eq!(send(&scene, "POST", DEFINITIONS, &body).await.0, 201);
    let path = "/apis/embedding.example.io/v1/namespaces/default/boxes";
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "creationTimestamp": null, "labels": {}, "annotations": {}},
        "data": {"creationTimestamp": null},
    });
    let wanted = json!({
        "apiVersion": "embedding.example.io/v1", "kind": "Box", "metadata": {"name": "a"}, "manifests": [manifest],
    });
    let made = within(async {
        loop {
            let (code, made) = send(&scene, "POST", path, &wanted).await;
            if code == 201 {
                return made;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    let stored = &made["manifests"][0];
    assert_eq!(stored["metadata"].get("creationTimestamp"), None, "{stored}");
    assert_eq!(
        stored["data"],
        json!({"creationTimestamp": null}),
        "only metadata"
    );
}
