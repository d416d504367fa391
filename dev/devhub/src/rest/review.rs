//! Reviews: questions that are answered and never stored.
//!
//! Decides what is wrong with a question, and answers those about users; those about rights are answered in `access`.

use schema::{ErrorClass, FieldError};
use serde_json::{Map, Value, json};

use super::access;
use super::call::Call;
use super::decode;
use super::errors::invalid_kind;
use super::options::WriteOptions;
use crate::admission::{UserInfo, Warnings};
use crate::error::ApiError;
use crate::http::Reply;
use crate::hub::timestamp;
use crate::identity::API_AUDIENCE;

/// Answers a POST of a review.
pub(super) fn review(call: &Call, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let body = decode::object(call, options.validation, warnings)?;
    let spec = body.get("spec").cloned().unwrap_or_else(|| json!({}));
    let kind = call.served.resource.kind.as_str();
    let status = match kind {
        "SelfSubjectReview" => return Ok(Reply::json(201, &self_review(call))),
        "TokenReview" => token(call, &spec)?,
        "SelfSubjectRulesReview" => access::rules(call, &spec)?,
        _ => {
            check_access(call, kind, &spec)?;
            access::verdict(call, kind, &spec)?
        }
    };
    let api_version = call.served.resource.api_version();
    let mut answer =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": {}, "spec": spec, "status": status });
    if let Some(metadata) = body
        .get("metadata")
        .filter(|metadata| metadata.is_object())
        .cloned()
        && let Some(members) = answer.as_object_mut()
    {
        members.insert("metadata".to_owned(), metadata);
    }
    Ok(Reply::json(201, &answer))
}

fn self_review(call: &Call) -> Value {
    json!({
        "apiVersion": call.served.resource.api_version(), "kind": "SelfSubjectReview",
        "metadata": { "creationTimestamp": timestamp() },
        "status": { "userInfo": shown(&call.user) },
    })
}

fn shown(user: &UserInfo) -> Value {
    let mut info = Map::new();
    info.insert("username".to_owned(), json!(user.name));
    if !user.uid.is_empty() {
        info.insert("uid".to_owned(), json!(user.uid));
    }
    info.insert("groups".to_owned(), json!(user.groups));
    if !user.extra.is_empty() {
        info.insert("extra".to_owned(), json!(user.extra));
    }
    Value::Object(info)
}

fn token(call: &Call, spec: &Value) -> Result<Value, ApiError> {
    let token = spec.get("token").and_then(Value::as_str).unwrap_or_default();
    if token.is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let wanted: Vec<&str> = spec
        .get("audiences")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_wanted = |audience: &String| match wanted.as_slice() {
        [] => audience == API_AUDIENCE,
        wanted => wanted.contains(&audience.as_str()),
    };
    let holder = call.hub.users.by_token(token, &call.hub.store);
    let shared = holder.map(|mut holder| {
        holder.audiences.retain(is_wanted);
        holder
    });
    Ok(match shared.filter(|holder| !holder.audiences.is_empty()) {
        Some(holder) => json!({
            "authenticated": true, "user": shown(&holder.user), "audiences": holder.audiences,
        }),
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    })
}

fn check_access(call: &Call, kind: &str, spec: &Value) -> Result<(), ApiError> {
    let given = |name: &str| spec.get(name).filter(|value| !value.is_null());
    let mut errors = Vec::new();
    let mut fault = |field: &str, message: String| {
        errors.push(FieldError {
            field: field.to_owned(),
            class: ErrorClass::Invalid,
            message,
        });
    };
    match (given("resourceAttributes"), given("nonResourceAttributes")) {
        (None, None) => {
            let cause = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            fault("spec.resourceAttributes", format!("Invalid value: null: {cause}"));
        }
        (Some(_), Some(other)) => {
            let part = |name: &str| other.get(name).cloned().unwrap_or_else(|| json!(""));
            let shown = format!("{{\"Path\":{},\"Verb\":{}}}", part("path"), part("verb"));
            let cause = "cannot be specified in combination with resourceAttributes";
            fault(
                "spec.nonResourceAttributes",
                format!("Invalid value: {shown}: {cause}"),
            );
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    let has_subject = given("user")
        .and_then(Value::as_str)
        .is_some_and(|user| !user.is_empty())
        || given("groups")
            .and_then(Value::as_array)
            .is_some_and(|groups| !groups.is_empty());
    if kind != "SelfSubjectAccessReview" && !has_subject {
        fault(
            "spec.user",
            "Invalid value: \"\": at least one of user or group must be specified".to_owned(),
        );
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(invalid_kind(&call.served.resource.group, "", "", &errors))
    }
}
