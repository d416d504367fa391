//! Requests to webhooks, their order, and the effect of the responses.

use base64::{Engine, engine::general_purpose::STANDARD};
use devhub::{
    ApiError,
    admission::{Hooks, Services, Warnings},
};
use serde_json::{Value, json};

use crate::{Scene, create, none, widget, written};

#[tokio::test]
async fn tells_a_webhook_everything_about_the_request() {
    let scene = Scene::new(&[], &[("allow", none())]).await;
    let (result, _) = scene.validate(&create(), &widget()).await;
    assert_eq!(result, Ok(()));
    let calls = scene.server.take_calls();
    let call = calls.first().expect("one call");
    assert_eq!(call.query, "timeout=10s");
    assert_eq!(call.caller.0, "kube-apiserver-admission");
    let mut request = call.review["request"].clone();
    assert_eq!(request["uid"].take().as_str().map(str::len), Some(36));
    let kind = json!({ "group": "dev.example.io", "version": "v1", "kind": "Widget" });
    let resource = json!({ "group": "dev.example.io", "version": "v1", "resource": "widgets" });
    let expected = json!({ "uid": null, "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
        "name": "w", "namespace": "ns", "operation": "CREATE", "dryRun": false, "object": widget(), "oldObject": null,
        "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        "userInfo": { "username": "admin", "uid": "admin-uid", "groups": ["system:masters"] } });
    assert_eq!(request, expected);
}

#[tokio::test]
async fn reuses_the_connection_to_a_webhook() {
    let scene = Scene::new(&[], &[("allow", none())]).await;
    for _ in 0..5 {
        assert_eq!(scene.validate(&create(), &widget()).await.0, Ok(()));
    }
    let connections: Vec<usize> = scene
        .server
        .take_calls()
        .into_iter()
        .map(|call| call.caller.1)
        .collect();
    assert_eq!(connections, [1, 1, 1, 1, 1]);
}

#[tokio::test]
async fn patches_one_hook_after_the_other() {
    let scene = Scene::new(
        &[("append/A", none()), ("append/B", none()), ("set-size/7", none())],
        &[],
    )
    .await;
    let (result, _) = scene.mutate(&create(), widget()).await;
    let object = result.expect("allowed").expect("an object");
    assert_eq!(object["metadata"]["annotations"]["trail"], "AB");
    assert_eq!(object["spec"]["size"], 7);
}

#[tokio::test]
async fn asks_again_once_where_a_later_hook_changed_the_object() {
    let again = json!({ "reinvocationPolicy": "IfNeeded" });
    let scene = Scene::new(&[("append/X", again.clone()), ("append/Y", again)], &[]).await;
    let object = scene
        .mutate(&create(), widget())
        .await
        .0
        .expect("allowed")
        .expect("an object");
    assert_eq!(object["metadata"]["annotations"]["trail"], "XYXY");
    let scene = Scene::new(&[("seen-size", none()), ("set-size/9", none())], &[]).await;
    let object = scene
        .mutate(&create(), widget())
        .await
        .0
        .expect("allowed")
        .expect("an object");
    assert_eq!(
        object["metadata"]["annotations"]["seen-size"], "1",
        "the default is to ask once"
    );
}

#[tokio::test]
async fn settles_the_object_before_the_next_hook_sees_it() {
    let scene = Scene::new(&[("set-size/2", none()), ("seen-size", none())], &[]).await;
    let settle = |object: &mut Value| object["spec"]["size"] = json!(3);
    let result = scene
        .chain
        .mutate(&create(), Some(widget()), &settle, &mut Warnings::new())
        .await;
    let object = result.expect("allowed").expect("an object");
    assert_eq!(object["metadata"]["annotations"]["seen-size"], "3");
}

#[tokio::test]
async fn a_refusal_ends_the_mutating_chain_and_keeps_its_warnings() {
    let scene = Scene::new(
        &[("append/A", none()), ("deny-warn", none()), ("append/B", none())],
        &[],
    )
    .await;
    let (result, warnings) = scene.mutate(&create(), widget()).await;
    let message = "admission webhook \"deny-warn.example.io\" denied the request: denied with warnings";
    assert_eq!(result, Err(ApiError::new(400, "", message)));
    assert_eq!(warnings, ["warned before denial"]);
    assert_eq!(scene.called(), ["/m/append/A", "/m/deny-warn"]);
}

#[tokio::test]
async fn the_first_of_several_denials_is_returned() {
    let scene = Scene::new(
        &[],
        &[
            ("allow", none()),
            ("deny-msg/one", none()),
            ("deny-msg/two", none()),
        ],
    )
    .await;
    let (result, _) = scene.validate(&create(), &widget()).await;
    let message = "admission webhook \"deny-msg-one.example.io\" denied the request: denied by one";
    assert_eq!(result, Err(ApiError::new(400, "", message)));
    assert_eq!(scene.called().len(), 3, "they are asked side by side");
}

#[tokio::test]
async fn calls_services_at_the_address_it_was_told() {
    let scene = Scene::new(&[], &[]).await;
    let config = json!({ "service": { "namespace": "default", "name": "hook", "path": "v/deny" },
        "caBundle": STANDARD.encode(&scene.server.ca_pem) });
    let hook = written(&scene.server, "v", "deny", &json!({ "clientConfig": config }));
    let object = json!({ "metadata": { "name": "x" }, "webhooks": [hook] });
    let services = Services::default().with("default", "hook", scene.server.address);
    scene
        .chain
        .install(Hooks::from_objects(&[], &[object], &services));
    let message = "admission webhook \"deny.example.io\" denied the request: no way";
    assert_eq!(
        scene.validate(&create(), &widget()).await.0,
        Err(ApiError::new(403, "Forbidden", message))
    );
}
