//! A conversion webhook that loses unknown fields, as Open Cluster Management's does.
//!
//! Fields of both versions are converted, annotations are kept, and the rest is dropped.

use api::conversion::{Extensions, Version, convert};
use axum::Router;
use axum::routing::post;
use serde_json::{Value, json};

/// What it serves.
pub(crate) fn routes() -> Router {
    Router::new().route("/convert", post(answer))
}

async fn answer(body: String) -> String {
    let review: Value = serde_json::from_str(&body).expect("a review");
    let request = &review["request"];
    let desired = request["desiredAPIVersion"].as_str().and_then(Version::parse);
    let desired = desired.expect("a version");
    let objects = request["objects"].as_array().expect("objects");
    let converted: Vec<Value> = objects.iter().map(|one| carried(one, desired)).collect();
    let response =
        json!({"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted});
    json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).to_string()
}

fn carried(object: &Value, to: Version) -> Value {
    let kept_in = Version::EVERY.map(Version::kept_in);
    let mut before = object.clone();
    let given = before
        .pointer("/metadata/annotations")
        .cloned()
        .unwrap_or(Value::Null);
    forget(&mut before, &kept_in);
    let mut after = convert(before, to, Extensions::Kept);
    forget(&mut after, &kept_in);
    for name in kept_in {
        if let Some(text) = given.get(name) {
            after["metadata"]["annotations"][name] = text.clone();
        }
    }
    after
}

fn forget(object: &mut Value, names: &[&str]) {
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !names.contains(&name.as_str()));
    }
}
