//! Questions about rights.
//!
//! Decides how a question is read and its answer shown; what is allowed is decided in `rights`.

use serde_json::{Map, Value, json};

use super::call::Call;
use crate::admission::UserInfo;
use crate::error::ApiError;
use crate::rights::{About, Question, ResourceAttributes, Verdict};

/// Answers whether a user may do something.
pub(super) fn verdict(call: &Call, kind: &str, spec: &Value) -> Result<Value, ApiError> {
    if kind == "LocalSubjectAccessReview" {
        let asked = text(spec, "/resourceAttributes/namespace");
        if asked != call.namespace {
            let namespace = &call.namespace;
            let message = format!("spec.resourceAttributes.namespace must match namespace: {namespace}");
            return Err(ApiError::bad_request(message));
        }
    }
    let user = if kind == "SelfSubjectAccessReview" {
        call.user.clone()
    } else {
        subject(spec)
    };
    let Verdict { allowed, reason } = call.hub.rights.decide(&user, &question(spec));
    let mut status = Map::new();
    status.insert("allowed".to_owned(), json!(allowed));
    if !reason.is_empty() {
        status.insert("reason".to_owned(), json!(reason));
    }
    Ok(Value::Object(status))
}

/// Answers what a user may do in a namespace.
pub(super) fn rules(call: &Call, spec: &Value) -> Result<Value, ApiError> {
    let namespace = text(spec, "/namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (rules, fault) = call.hub.rights.rules(&call.user, &namespace);
    let (paths, resources): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| !rule.urls.is_empty());
    let shown =
        |rules: &[&crate::rights::Rule]| -> Vec<Value> { rules.iter().map(|rule| rule.shown()).collect() };
    let mut status = json!({
        "resourceRules": shown(&resources), "nonResourceRules": shown(&paths), "incomplete": fault.is_some(),
    });
    if let (Some(fault), Some(members)) = (fault, status.as_object_mut()) {
        members.insert("evaluationError".to_owned(), json!(fault));
    }
    Ok(status)
}

fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn question(spec: &Value) -> Question {
    let part = |name: &str| text(spec, &format!("/resourceAttributes/{name}"));
    let is_resource = spec.get("resourceAttributes").is_some_and(Value::is_object);
    if !is_resource {
        return Question {
            verb: text(spec, "/nonResourceAttributes/verb"),
            about: About::Path(text(spec, "/nonResourceAttributes/path")),
        };
    }
    Question {
        verb: part("verb"),
        about: About::Resource(ResourceAttributes {
            group: part("group"),
            resource: part("resource"),
            subresource: part("subresource"),
            namespace: part("namespace"),
            name: part("name"),
        }),
    }
}

fn subject(spec: &Value) -> UserInfo {
    let texts = |list: Option<&Value>| -> Vec<String> {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = spec.get("extra").and_then(Value::as_object).into_iter().flatten();
    UserInfo {
        name: text(spec, "/user"),
        uid: text(spec, "/uid"),
        groups: texts(spec.get("groups")),
        extra: extra
            .map(|(key, values)| (key.clone(), texts(Some(values))))
            .collect(),
    }
}
