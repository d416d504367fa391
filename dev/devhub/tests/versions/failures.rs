//! Errors for clients when a conversion fails.

use serde_json::{Value, json};

use crate::{DEFINITION, Scene, conv, convs, new, old};

const WHO: &str = "conversion webhook for conv.example.io/v1, Kind=Conv";

#[tokio::test]
async fn every_failure_has_its_words() {
    let scene = Scene::new().await;
    let created = scene.create(&convs("v1"), &old("a", "h:1")).await;
    let uid = created["metadata"]["uid"].as_str().expect("a uid");
    let rows = [
        ("fail", format!("{WHO} failed: cannot convert today")),
        ("short", format!("{WHO} returned 0 objects, expected 1")),
        (
            "rename",
            format!("{WHO} returned invalid object: must have the same name: a != other"),
        ),
        (
            "uid",
            format!(
                "{WHO} returned invalid object: must have the same UID: {uid} != 00000000-0000-0000-0000-00000000ffff"
            ),
        ),
        (
            "wrong-version",
            format!(
                "{WHO} returned invalid object at index 0: invalid groupVersion (expected conv.example.io/v2, received conv.example.io/v1)"
            ),
        ),
        (
            "500",
            format!(
                "{WHO} failed: an error on the server (\"error page\") has prevented the request from succeeding"
            ),
        ),
    ];
    for (action, expected) in rows {
        scene.converts(action).await;
        let (code, status) = scene
            .send("GET", &conv("v2", "a"), "application/json", None)
            .await;
        assert_eq!((code, &status["message"]), (500, &json!(expected)), "{action}");
        assert_eq!(status.get("reason"), None, "{action}");
    }
    scene.converts("wrong-uid").await;
    let (_, status) = scene
        .send("GET", &conv("v2", "a"), "application/json", None)
        .await;
    let message = status["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with(&format!("{WHO} failed: expected response.uid=\"")),
        "{message}"
    );
    assert!(message.ends_with("\", got \"zzz\""), "{message}");
    scene.create(&convs("v1"), &old("b", "h:1")).await;
    scene.converts("rename").await;
    let (_, status) = scene.send("GET", &convs("v2"), "application/json", None).await;
    let expected =
        format!("{WHO} returned invalid converted object at index 0: must have the same name: a != other");
    assert_eq!(status["message"], json!(expected));
}

#[tokio::test]
async fn a_webhook_that_fails_stops_every_verb_in_its_version_and_none_in_the_stored_one() {
    let scene = Scene::new().await;
    let created = scene.create(&convs("v1"), &old("a", "h:1")).await;
    let mut newer = new("a", "h", "2");
    newer["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"].clone();
    scene.converts("fail").await;
    let patch = json!({ "spec": { "port": "3" } });
    let (merge, plain) = ("application/merge-patch+json", "application/json");
    let requests: [(&str, String, &str, Option<&Value>); 8] = [
        ("GET", conv("v2", "a"), plain, None),
        ("GET", convs("v2"), plain, None),
        (
            "GET",
            format!("{}?watch=true&timeoutSeconds=1", convs("v2")),
            plain,
            None,
        ),
        ("POST", convs("v2"), plain, Some(&newer)),
        ("PUT", conv("v2", "a"), plain, Some(&newer)),
        ("PATCH", conv("v2", "a"), merge, Some(&patch)),
        ("DELETE", conv("v2", "a"), plain, None),
        ("DELETE", convs("v2"), plain, None),
    ];
    for (verb, target, kind, body) in requests {
        let body = body.map(|body| {
            let mut body = body.clone();
            if verb == "POST" {
                body["metadata"] = json!({ "name": "b" });
            }
            body
        });
        let (code, status) = scene.send(verb, &target, kind, body.as_ref()).await;
        let message = status["message"].as_str().unwrap_or_default();
        assert_eq!(code, 500, "{verb} {target}: {status}");
        assert!(
            message.ends_with("failed: cannot convert today"),
            "{verb} {target}: {message}"
        );
    }
    let list = scene.get(&convs("v1")).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    scene
        .patch(&conv("v1", "a"), &json!({ "spec": { "hostPort": "h:4" } }))
        .await;
    scene.ok("DELETE", &conv("v1", "a"), plain, None).await;
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_named_with_its_url() {
    let scene = Scene::new().await;
    scene.create(&convs("v1"), &old("a", "h:1")).await;
    let config =
        |change: Value| json!({ "spec": { "conversion": { "webhook": { "clientConfig": change } } } });
    scene
        .patch(
            DEFINITION,
            &config(json!({ "url": "https://127.0.0.1:1/convert" })),
        )
        .await;
    let (_, status) = scene
        .send("GET", &conv("v2", "a"), "application/json", None)
        .await;
    let expected = format!(
        "{WHO} failed: Post \"https://127.0.0.1:1/convert?timeout=30s\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
    assert_eq!(status["message"], json!(expected));
    // Behind a Service the hub has to be told where that is.
    let service =
        json!({ "url": null, "service": { "namespace": "default", "name": "hook", "path": "/convert/ok" } });
    let definition = scene.patch(DEFINITION, &config(service)).await;
    assert_eq!(
        definition.pointer("/spec/conversion/webhook/clientConfig/service/port"),
        Some(&json!(443))
    );
    assert_eq!(scene.get(&conv("v2", "a")).await["spec"]["host"], "h");
}

#[tokio::test]
async fn a_definition_that_cannot_convert_is_refused() {
    let scene = Scene::new().await;
    let change = json!({ "spec": { "conversion": { "strategy": "None" } } });
    let (code, status) = scene
        .send("PATCH", DEFINITION, "application/merge-patch+json", Some(&change))
        .await;
    let causes = status["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let fields: Vec<&Value> = causes.iter().map(|cause| &cause["field"]).collect();
    assert_eq!(code, 422);
    assert_eq!(
        fields,
        [
            "spec.conversion.webhookClientConfig",
            "spec.conversion.conversionReviewVersions"
        ]
    );
    let change = json!({ "spec": { "conversion": { "strategy": "None", "webhook": null } } });
    scene.patch(DEFINITION, &change).await;
    scene.create(&convs("v1"), &old("a", "h:1")).await;
    let seen = scene.get(&conv("v2", "a")).await;
    assert_eq!(
        (&seen["apiVersion"], &seen["spec"]),
        (&json!("conv.example.io/v2"), &json!({}))
    );
    assert_eq!(scene.conversions(), []);
}
