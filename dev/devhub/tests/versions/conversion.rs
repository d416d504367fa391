//! What is converted, when, and in how many calls.

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{AsyncBufReadExt as _, StreamExt as _};
use serde_json::{Value, json};

use crate::{Scene, asked, conv, convs, new, old};

fn two() -> String {
    "v2".to_owned()
}

#[tokio::test]
async fn a_list_is_converted_in_one_call() {
    let scene = Scene::new().await;
    for name in ["a", "b", "c"] {
        scene.create(&convs("v1"), &old(name, "h:1")).await;
    }
    assert_eq!(scene.conversions(), [], "the stored version needs no webhook");
    let list = scene.get(&convs("v2")).await;
    let calls = scene.webhook.take_calls();
    assert_eq!(calls.iter().map(asked).collect::<Vec<_>>(), [(3, two())]);
    assert_eq!(calls[0].query, "timeout=30s");
    let hosts: Vec<&Value> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["spec"])
        .collect();
    assert_eq!(hosts, [&json!({ "host": "h", "port": "1" }); 3]);

    let page = scene.get(&format!("{}?limit=2", convs("v2"))).await;
    let token = page["metadata"]["continue"].as_str().expect("a token");
    let rest = scene
        .get(&format!("{}?limit=2&continue={token}", convs("v2")))
        .await;
    assert_eq!(rest["items"][0]["metadata"]["name"], "c");
    assert_eq!(
        scene.conversions(),
        [(2, two()), (1, two())],
        "no more than the page"
    );
}

#[tokio::test]
async fn a_write_goes_through_the_stored_version_and_back() {
    let scene = Scene::new().await;
    let created = scene.create(&convs("v2"), &new("a", "h", "1")).await;
    assert_eq!(created["spec"], json!({ "host": "h", "port": "1" }));
    assert_eq!(scene.conversions(), [(1, "v1".to_owned()), (1, two())]);
    let stored = scene.get(&conv("v1", "a")).await;
    assert_eq!(stored["spec"], json!({ "hostPort": "h:1" }));
    assert_eq!(stored["metadata"]["uid"], created["metadata"]["uid"]);
    assert_eq!(
        stored["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );

    let mut changed = created.clone();
    changed["spec"]["port"] = json!("2");
    let changed = scene.put(&conv("v2", "a"), &changed).await;
    assert_eq!(changed["metadata"]["generation"], 2);
    let same = scene.put(&conv("v2", "a"), &changed).await;
    assert_eq!(
        same["metadata"]["resourceVersion"],
        changed["metadata"]["resourceVersion"]
    );
    assert_eq!(scene.get(&conv("v1", "a")).await["spec"]["hostPort"], "h:2");

    let tried = scene
        .create(&format!("{}?dryRun=All", convs("v2")), &new("b", "h", "1"))
        .await;
    assert_eq!(tried["spec"], json!({ "host": "h", "port": "1" }));
    let (code, _) = scene
        .send("GET", &conv("v1", "b"), "application/json", None)
        .await;
    assert_eq!(code, 404);
    let gone = scene
        .ok("DELETE", &conv("v2", "a"), "application/json", None)
        .await;
    assert_eq!(gone["status"], "Success");
}

#[tokio::test]
async fn a_status_is_that_of_the_asked_version() {
    let scene = Scene::new().await;
    scene.create(&convs("v2"), &new("a", "h", "1")).await;
    let status = json!({ "status": { "phase": "Up" }, "spec": { "host": "ignored" } });
    let answer = scene.patch(&format!("{}/status", conv("v2", "a")), &status).await;
    assert_eq!(
        (&answer["status"]["phase"], &answer["spec"]["host"]),
        (&json!("Up"), &json!("h"))
    );
    let stored = scene.get(&conv("v1", "a")).await;
    assert_eq!(stored["spec"], json!({ "hostPort": "h:1" }));
    assert_eq!(stored["status"]["phase"], "Up");
}

#[tokio::test]
async fn tables_metadata_and_selectors_are_those_of_the_asked_version() {
    let scene = Scene::new().await;
    scene.create(&convs("v1"), &old("a", "h:1")).await;
    scene.create(&convs("v1"), &old("b", "g:1")).await;
    let table = form(&scene, "application/json;as=Table;v=v1;g=meta.k8s.io").await;
    assert_eq!(table["columnDefinitions"][1]["name"], "Host");
    assert_eq!(table["rows"][0]["cells"], json!(["a", "h"]));
    let partial = form(
        &scene,
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    )
    .await;
    assert_eq!(partial["items"][1]["metadata"]["name"], "b");
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(|item| item["metadata"]["name"].to_string())
            .collect()
    };
    let chosen = scene
        .get(&format!("{}?fieldSelector=spec.host%3Dg", convs("v2")))
        .await;
    assert_eq!(names(&chosen), ["\"b\""]);
    // Labels that only the conversion adds are seen by selectors of that version, and by no others.
    scene
        .patch(
            &conv("v1", "a"),
            &json!({ "metadata": { "labels": { "own": "yes" } } }),
        )
        .await;
    scene.converts("label").await;
    let chosen = scene
        .get(&format!("{}?labelSelector=converted%3Dv2,own", convs("v2")))
        .await;
    assert_eq!(names(&chosen), ["\"a\""]);
    let chosen = scene
        .get(&format!("{}?labelSelector=converted", convs("v1")))
        .await;
    assert_eq!(names(&chosen), [""; 0]);
}

async fn form(scene: &Scene, accept: &str) -> Value {
    let request = http::Request::get(convs("v2"))
        .header("accept", accept)
        .body(Vec::new())
        .expect("a request");
    scene.client.request(request).await.expect("an answer")
}

/// A running watch: type and object of each event.
type Events = BoxStream<'static, (String, Value)>;

async fn watch(scene: &Scene, target: &str) -> Events {
    let request = http::Request::get(target).body(Vec::new()).expect("a request");
    let stream = scene.client.request_stream(request).await.expect("a stream");
    let read = |line: std::io::Result<String>| {
        let event: Value = serde_json::from_str(&line.expect("a line")).expect("an event");
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        (kind, event["object"].clone())
    };
    Box::pin(stream.lines().map(read))
}

/// Reads so many events.
async fn take(events: &mut Events, count: usize) -> Vec<(String, Value)> {
    let read = events.take(count).collect::<Vec<_>>();
    tokio::time::timeout(Duration::from_mins(1), read)
        .await
        .expect("in time")
}

#[tokio::test]
async fn watchers_see_their_version_and_share_what_was_converted() {
    let scene = Scene::new().await;
    let created = scene.create(&convs("v1"), &old("a", "h:1")).await;
    let since = created["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version")
        .to_owned();
    scene
        .patch(&conv("v1", "a"), &json!({ "spec": { "hostPort": "h:2" } }))
        .await;
    scene
        .ok("DELETE", &conv("v1", "a"), "application/json", None)
        .await;
    scene.webhook.take_calls();
    let target = format!("{}?watch=true&resourceVersion={since}", convs("v2"));
    for round in 0..3 {
        let seen = take(&mut watch(&scene, &target).await, 2).await;
        let kinds: Vec<&str> = seen.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["MODIFIED", "DELETED"]);
        for (_, object) in &seen {
            assert_eq!(object["apiVersion"], "conv.example.io/v2");
            assert_eq!(object["spec"], json!({ "host": "h", "port": "2" }));
        }
        let versions: Vec<&Value> = seen
            .iter()
            .map(|(_, object)| &object["metadata"]["resourceVersion"])
            .collect();
        assert_ne!(versions[0], versions[1], "a deletion has a version of its own");
        // Both events show the same stored object.
        let expected = if round == 0 { vec![(1, two())] } else { vec![] };
        assert_eq!(scene.conversions(), expected);
    }
}

#[tokio::test]
async fn a_running_watch_follows_the_definition() {
    let scene = Scene::new().await;
    let target = format!("{}?watch=true", convs("v2"));
    let mut watched = watch(&scene, &target).await;
    scene.create(&convs("v1"), &old("a", "h:1")).await;
    let mut seen = take(&mut watched, 1).await;
    scene.converts("label").await;
    scene.create(&convs("v1"), &old("b", "h:1")).await;
    seen.extend(take(&mut watched, 1).await);
    let labels: Vec<&Value> = seen
        .iter()
        .map(|(_, object)| &object["metadata"]["labels"])
        .collect();
    assert_eq!(labels, [&Value::Null, &json!({ "converted": "v2" })]);
}

#[tokio::test]
async fn an_admission_webhook_sees_the_version_that_it_asked_for() {
    let scene = Scene::new().await;
    let url = |path: &str| format!("{}{path}", scene.webhook.url());
    let bundle = crate::client_config(&scene.webhook, "ok")["caBundle"].clone();
    let hook = |path: &str, policy: &str| {
        json!({
            "name": "old.test.example.io", "sideEffects": "None", "admissionReviewVersions": ["v1"], "matchPolicy": policy,
            "clientConfig": { "url": url(path), "caBundle": bundle },
            "rules": [{ "operations": ["CREATE", "UPDATE"], "apiGroups": ["conv.example.io"], "apiVersions": ["v1"], "resources": ["convs"] }],
        })
    };
    let configuration = |kind: &str, hook: Value| json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "c" }, "webhooks": [hook] });
    let mutating = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let object = configuration(
        "MutatingWebhookConfiguration",
        hook("/m/label/touched/yes", "Equivalent"),
    );
    scene.create(mutating, &object).await;
    let object = configuration("ValidatingWebhookConfiguration", hook("/v/allow", "Exact"));
    scene.create(validating, &object).await;
    let created = scene.create(&convs("v2"), &new("a", "h", "1")).await;
    assert_eq!(created["spec"], json!({ "host": "h", "port": "1" }));
    assert_eq!(created["metadata"]["labels"], json!({ "touched": "yes" }));
    let calls = scene.webhook.take_calls();
    let reviews: Vec<&Value> = calls
        .iter()
        .filter(|call| !call.path.starts_with("/convert/"))
        .map(|call| &call.review["request"])
        .collect();
    assert_eq!(
        reviews.len(),
        1,
        "a hook that wants one version exactly is not called for another"
    );
    let review = reviews[0];
    assert_eq!(
        (&review["kind"]["version"], &review["requestKind"]["version"]),
        (&json!("v1"), &json!("v2"))
    );
    assert_eq!(review["object"]["apiVersion"], "conv.example.io/v1");
    assert_eq!(review["object"]["spec"], json!({ "hostPort": "h:1" }));
}
