//! Webhooks that cannot be asked or answer nonsense.

use base64::{Engine, engine::general_purpose::STANDARD};
use devhub::{
    ApiError,
    admission::{Attributes, Hooks, Operation, Services, Warnings},
};
use serde_json::{Value, json};

use crate::{Scene, create, hook::Hook, none, widget, written};

/// Tells how a validating hook's unusable answer is named under the policy Fail; under Ignore it is no obstacle.
#[track_caller]
fn internal(hook: &str, cause: &str) -> ApiError {
    ApiError::internal(format!("failed calling webhook \"{hook}.example.io\": {cause}"))
}

#[tokio::test]
async fn the_failure_policy_decides_over_calls_that_fail() {
    let rows = [
        (
            "500",
            "failed to call webhook: an error on the server (\"error page\") has prevented the request from succeeding",
        ),
        (
            "503",
            "failed to call webhook: the server is currently unable to handle the request",
        ),
        (
            "404",
            "failed to call webhook: the server could not find the requested resource",
        ),
        (
            "empty",
            "failed to call webhook: 0-length response with status code: 200 and content type: application/json",
        ),
        (
            "no-response",
            "received invalid webhook response: webhook response was absent",
        ),
        (
            "set-size/5",
            "received invalid webhook response: validating webhook may not return response.patch",
        ),
    ];
    for (action, cause) in rows {
        let scene = Scene::new(&[], &[(action, none())]).await;
        let expected = internal(&action.replace('/', "-"), cause);
        assert_eq!(scene.validate(&create(), &widget()).await.0, Err(expected));
        let scene = Scene::new(&[], &[(action, json!({ "failurePolicy": "Ignore" }))]).await;
        assert_eq!(scene.validate(&create(), &widget()).await.0, Ok(()));
    }
}

#[tokio::test]
async fn a_bad_patch_is_never_forgiven_but_an_undecodable_one_is() {
    let ignore = json!({ "failurePolicy": "Ignore" });
    let scene = Scene::new(&[("bad-patch", ignore.clone())], &[]).await;
    let text = "remove operation does not apply: doc is missing path: \"/nope/x\": missing value";
    assert_eq!(
        scene.mutate(&create(), widget()).await.0,
        Err(ApiError::internal(text))
    );
    let scene = Scene::new(&[("test-fails", none())], &[]).await;
    let text = "testing value /spec/size failed: test failed";
    assert_eq!(
        scene.mutate(&create(), widget()).await.0,
        Err(ApiError::internal(text))
    );
    let scene = Scene::new(&[("patch-not-json", none())], &[]).await;
    let text = "received undecodable patch in webhook response: invalid character 'h' looking for beginning of value";
    assert_eq!(
        scene.mutate(&create(), widget()).await.0,
        Err(internal("patch-not-json", text))
    );
    let scene = Scene::new(&[("patch-not-json", ignore), ("wrong-patch-type", none())], &[]).await;
    assert_eq!(scene.mutate(&create(), widget()).await.0, Ok(Some(widget())));
}

#[tokio::test]
async fn a_removal_cannot_be_patched() {
    let scene = Scene::new(&[("label/a/b", none())], &[]).await;
    let request = Attributes {
        operation: Operation::Delete,
        old_object: Some(widget()),
        ..create()
    };
    let result = scene
        .chain
        .mutate(&request, None, &|_| {}, &mut Warnings::new())
        .await;
    let text = "admission webhook \"label-a-b.example.io\" attempted to modify the object, which is not supported for this operation";
    assert_eq!(result, Err(ApiError::internal(text)));
}

#[tokio::test]
async fn gives_up_when_the_time_is_over() {
    let scene = Scene::new(&[], &[("slow", json!({ "timeoutSeconds": 1 }))]).await;
    let url = format!("{}/v/slow?timeout=1s", scene.server.url());
    let cause = format!("failed to call webhook: Post \"{url}\": context deadline exceeded");
    assert_eq!(
        scene.validate(&create(), &widget()).await.0,
        Err(internal("slow", &cause))
    );
}

/// A hook with this client configuration fails with this cause.
async fn fails(scene: &Scene, config: Value, cause: &str) {
    let hook = written(&scene.server, "v", "allow", &json!({ "clientConfig": config }));
    let object = json!({ "metadata": { "name": "x" }, "webhooks": [hook] });
    scene
        .chain
        .install(Hooks::from_objects(&[], &[object], &Services::default()));
    assert_eq!(
        scene.validate(&create(), &widget()).await.0,
        Err(internal("allow", cause))
    );
}

#[tokio::test]
async fn names_what_keeps_it_from_connecting() {
    let scene = Scene::new(&[], &[]).await;
    let bundle = STANDARD.encode(&scene.server.ca_pem);
    let closed = "https://127.0.0.1:1/x";
    let cause = format!(
        "failed to call webhook: Post \"{closed}?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
    fails(&scene, json!({ "url": closed, "caBundle": bundle }), &cause).await;
    let url = format!("{}/v/allow", scene.server.url());
    let other = STANDARD.encode(&Hook::start().await.ca_pem);
    let cause = format!(
        "failed to call webhook: Post \"{url}?timeout=10s\": tls: failed to verify certificate: x509: certificate signed by unknown authority"
    );
    fails(&scene, json!({ "url": url, "caBundle": other }), &cause).await;
}

#[tokio::test]
async fn names_what_is_wrong_with_a_client_configuration() {
    let scene = Scene::new(&[], &[]).await;
    let url = format!("{}/v/allow", scene.server.url());
    let cause =
        "could not get REST client: unable to load root certificates: unable to parse bytes as PEM block";
    fails(&scene, json!({ "url": url, "caBundle": "YmFk" }), cause).await;
    let cause =
        "could not get REST client: no caBundle is given, and this hub trusts no certificates of the system";
    fails(&scene, json!({ "url": url }), cause).await;
    let cause = "could not get REST client: service \"a/b\" has no address: this hub runs no Services, name its address when the hub is built";
    let bundle = STANDARD.encode(&scene.server.ca_pem);
    fails(
        &scene,
        json!({ "service": { "namespace": "a", "name": "b" }, "caBundle": bundle }),
        cause,
    )
    .await;
}

#[tokio::test]
async fn refuses_dry_runs_that_would_have_side_effects() {
    let scene = Scene::new(&[], &[("allow", json!({ "sideEffects": "Some" }))]).await;
    let request = Attributes {
        dry_run: true,
        ..create()
    };
    let text = "admission webhook \"allow.example.io\" does not support dry run";
    assert_eq!(
        scene.validate(&request, &widget()).await.0,
        Err(ApiError::bad_request(text))
    );
    assert_eq!(scene.called(), [""; 0]);
}
