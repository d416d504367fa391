//! Answers to `ConversionReview`s.
//!
//! Decides by the action after `/convert/`; converts `spec.hostPort` of v1 to `spec.host` and `spec.port` of v2.

use serde_json::{Map, Value, json};

use super::server::Reply;

/// Answers one review.
pub(super) fn reply(action: &str, review: &Value) -> Reply {
    if action == "500" {
        return Reply::text(500, "text/plain", "error page");
    }
    let request = &review["request"];
    let desired = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let mut converted: Vec<Value> = objects
        .into_iter()
        .map(|object| convert(object, desired, action))
        .collect();
    if action == "short" {
        converted.pop();
    }
    let uid = if action == "wrong-uid" {
        json!("zzz")
    } else {
        request["uid"].clone()
    };
    let response = if action == "fail" {
        json!({ "uid": uid, "result": { "status": "Failure", "message": "cannot convert today" } })
    } else {
        json!({ "uid": uid, "result": { "status": "Success" }, "convertedObjects": converted })
    };
    Reply::json(
        &json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response }),
    )
}

fn convert(mut object: Value, desired: &str, action: &str) -> Value {
    let version = desired.rsplit('/').next().unwrap_or_default();
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        if version == "v2" { split(spec) } else { join(spec) }
    }
    match action {
        "label" => object["metadata"]["labels"]["converted"] = json!(version),
        "rename" => object["metadata"]["name"] = json!("other"),
        "uid" => object["metadata"]["uid"] = json!("00000000-0000-0000-0000-00000000ffff"),
        _ => {}
    }
    if action != "wrong-version" {
        object["apiVersion"] = json!(desired);
    }
    object
}

fn split(spec: &mut Map<String, Value>) {
    if let Some(Value::String(both)) = spec.remove("hostPort") {
        let (host, port) = both.split_once(':').unwrap_or((&both, ""));
        spec.insert("host".to_owned(), json!(host));
        spec.insert("port".to_owned(), json!(port));
    }
}

fn join(spec: &mut Map<String, Value>) {
    if let Some(Value::String(host)) = spec.remove("host") {
        let port = spec
            .remove("port")
            .and_then(|port| port.as_str().map(str::to_owned))
            .unwrap_or_default();
        spec.insert("hostPort".to_owned(), json!(format!("{host}:{port}")));
    }
}
