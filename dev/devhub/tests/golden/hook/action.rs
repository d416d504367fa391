//! Answers to `AdmissionReview`s.
//!
//! Decides by the path `/<phase>/<action>[/<arguments>]`, as section 6 of the data's README lists them.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::server::Reply;

/// Answers one review.
pub(super) fn reply(path: &str, review: &Value) -> Reply {
    let mut segments = path.trim_start_matches('/').split('/').skip(1);
    let action = segments.next().unwrap_or_default();
    let arguments: Vec<&str> = segments.collect();
    let uid = &review["request"]["uid"];
    let mut answer = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": uid, "allowed": true } });
    match action {
        "garbage" => return Reply::text(200, "application/json", "hello"),
        "empty" => return Reply::text(200, "application/json", ""),
        "500" => return Reply::text(500, "text/plain", "error page"),
        "503" => return Reply::text(503, "text/plain", "error page"),
        "404" => return Reply::text(404, "text/plain", "error page"),
        "slow" => {
            return Reply {
                delay: Duration::from_millis(2500),
                ..Reply::json(&answer)
            };
        }
        "no-response" => drop(
            answer
                .as_object_mut()
                .and_then(|answer| answer.remove("response")),
        ),
        "wrong-version" => answer["apiVersion"] = json!("admission.k8s.io/v1beta1"),
        "wrong-kind" => answer["kind"] = json!("Something"),
        _ => {
            for (name, value) in response(action, &arguments, subject(review)) {
                answer["response"][name] = value;
            }
        }
    }
    Reply::json(&answer)
}

fn subject(review: &Value) -> &Value {
    let request = &review["request"];
    if request["object"].is_null() {
        &request["oldObject"]
    } else {
        &request["object"]
    }
}

type Members = Vec<(&'static str, Value)>;

fn response(action: &str, arguments: &[&str], object: &Value) -> Members {
    let first = arguments.first().copied().unwrap_or_default();
    match action {
        "deny" => denied(json!({ "message": "no way", "reason": "Forbidden", "code": 403 })),
        "deny-min" => vec![("allowed", json!(false))],
        "deny-msg" => denied(json!({ "message": format!("denied by {first}") })),
        "deny-reason" => denied(json!({ "reason": "OnlyAReason" })),
        "deny-422" => denied(json!({ "message": "bad size", "reason": "Invalid", "code": 422,
            "details": { "name": "x", "kind": "Y", "causes": [
                { "reason": "FieldValueInvalid", "field": "spec.size", "message": "not that" },
                { "reason": "FieldValueRequired", "field": "spec.color", "message": "please" }] } })),
        "deny-code" => denied(json!({ "message": format!("code {first}"), "code": number(first) })),
        "deny-warn" => {
            let mut members = denied(json!({ "message": "denied with warnings" }));
            members.push(("warnings", json!(["warned before denial"])));
            members
        }
        "warn" => vec![("warnings", json!(["careful now", "second"]))],
        "warn-len" => vec![("warnings", json!(["x".repeat(first.parse().unwrap_or(0))]))],
        "audit" => vec![("auditAnnotations", json!({ "k": "v" }))],
        "annot" => annotated(object),
        "wrong-uid" => vec![("uid", json!("zzz"))],
        "empty-uid" => vec![("uid", json!(""))],
        "patch-not-json" => vec![
            ("patchType", json!("JSONPatch")),
            ("patch", json!(STANDARD.encode("hello"))),
        ],
        "no-patch-type" => vec![("patch", json!(STANDARD.encode("[]")))],
        "wrong-patch-type" => vec![
            ("patchType", json!("MergePatch")),
            ("patch", json!(STANDARD.encode("[]"))),
        ],
        _ => match operations(action, arguments, object) {
            Some(operations) => vec![
                ("patchType", json!("JSONPatch")),
                ("patch", json!(STANDARD.encode(operations.to_string()))),
            ],
            None => Vec::new(),
        },
    }
}

fn denied(status: Value) -> Members {
    vec![("allowed", json!(false)), ("status", status)]
}

/// The object itself says what to answer.
fn annotated(object: &Value) -> Members {
    let wish = object
        .pointer("/metadata/annotations/wh")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match wish.split_once(':') {
        Some(("deny", text)) => denied(json!({ "message": text, "code": 403, "reason": "Forbidden" })),
        Some(("warn", text)) => vec![("warnings", json!([text]))],
        _ => Vec::new(),
    }
}

/// The JSON patch of an action that has one.
fn operations(action: &str, arguments: &[&str], object: &Value) -> Option<Value> {
    let argument = |index: usize| arguments.get(index).copied().unwrap_or_default();
    let one = |op: &str, path: &str, value: Value| json!([{ "op": op, "path": path, "value": value }]);
    let owner = |operation: &str, fields: Value| {
        json!([{ "manager": "evil", "operation": operation, "apiVersion": "dev.example.io/v1",
            "fieldsType": "FieldsV1", "fieldsV1": fields }])
    };
    Some(match action {
        "label" => put(object, "labels", argument(0), &json!(argument(1))),
        "append" => {
            let trail = object
                .pointer("/metadata/annotations/trail")
                .and_then(Value::as_str)
                .unwrap_or_default();
            put(
                object,
                "annotations",
                "trail",
                &json!(format!("{trail}{}", argument(0))),
            )
        }
        "seen-size" => {
            let size = object
                .pointer("/spec/size")
                .map_or_else(|| "None".to_owned(), Value::to_string);
            put(object, "annotations", "seen-size", &json!(size))
        }
        "set-size" => one("add", "/spec/size", number(argument(0))),
        "set-size-str" => one("add", "/spec/size", json!("str")),
        "set-status" => one("add", "/status", json!({ "phase": "FromWebhook" })),
        "unknown-field" => one("add", "/spec/zzz", json!("x")),
        "rename" => one("replace", "/metadata/name", json!("renamed")),
        "finalizer" => one("add", "/metadata/finalizers", json!(["golden.example.io/hook"])),
        "drop-default" => json!([{ "op": "remove", "path": "/spec/color" }]),
        "mf-tamper" => one(
            "replace",
            "/metadata/managedFields",
            owner("Update", json!({ "f:spec": { "f:size": {} } })),
        ),
        "mf-invalid" => one(
            "replace",
            "/metadata/managedFields",
            owner("Bogus", json!({ "f:spec": {} })),
        ),
        "bad-patch" => json!([{ "op": "remove", "path": "/nope/x" }]),
        "test-fails" => one("test", "/spec/size", json!(123_456)),
        "empty-patch" => json!([]),
        _ => return None,
    })
}

/// Adds one label or annotation, or the whole map if there is none.
fn put(object: &Value, map: &str, key: &str, value: &Value) -> Value {
    if object
        .pointer(&format!("/metadata/{map}"))
        .is_some_and(Value::is_object)
    {
        json!([{ "op": "add", "path": format!("/metadata/{map}/{key}"), "value": value }])
    } else {
        json!([{ "op": "add", "path": format!("/metadata/{map}"), "value": { key: value } }])
    }
}

fn number(text: &str) -> Value {
    text.parse::<u64>().map_or(Value::Null, Value::from)
}
