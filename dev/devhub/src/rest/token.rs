//! Tokens for service accounts.
//!
//! Decides which wishes for a token are granted; what a token says is decided in `identity`.

use jiff::Timestamp;
use schema::{ErrorClass, FieldError};
use serde_json::{Value, json};

use super::binary;
use super::call::Call;
use super::decode;
use super::errors::{conflict_because, invalid_kind, not_found};
use super::metadata::text;
use super::options::WriteOptions;
use super::unreadable::unsupported;
use crate::admission::Warnings;
use crate::builtin::{self, Dialect};
use crate::error::ApiError;
use crate::http::Reply;
use crate::hub::timestamp;
use crate::identity::{API_AUDIENCE, Named, Wish, uid};
use crate::protobuf::{self, MEDIA_TYPE};

const GROUP: &str = "authentication.k8s.io";
const API_VERSION: &str = "authentication.k8s.io/v1";
const KIND: &str = "TokenRequest";
const DEFINITION: &str = "io.k8s.api.authentication.v1.TokenRequest";
const HOUR: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;

/// Answers a POST of a wish for a token.
pub(super) fn issue(call: &Call, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let body = body(call, warnings)?;
    let spec = body.get("spec").cloned().unwrap_or_default();
    let seconds = spec
        .get("expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(HOUR);
    check(seconds)?;
    let missing = || not_found(&call.served.resource, &call.name);
    let account = Named {
        name: call.name.clone(),
        uid: uid(&call.hub.store, "serviceaccounts", &call.namespace, &call.name).ok_or_else(missing)?,
    };
    let reference = spec.get("boundObjectRef").cloned().unwrap_or_default();
    let mut audiences: Vec<String> = spec
        .get("audiences")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|audience| audience.as_str().map(str::to_owned))
        .collect();
    if audiences.is_empty() {
        audiences.push(API_AUDIENCE.to_owned());
    }
    let from = Timestamp::now();
    let until = from.as_second() + seconds;
    let wish = Wish {
        namespace: call.namespace.clone(),
        account,
        secret: bound(call, &reference)?,
        audiences,
        from,
        until,
    };
    let expires = Timestamp::from_second(until).map_err(|error| ApiError::bad_request(error.to_string()))?;
    Ok(Reply::json(
        201,
        &json!({
            "kind": KIND, "apiVersion": API_VERSION,
            "metadata": { "name": call.name, "namespace": call.namespace, "creationTimestamp": timestamp() },
            "spec": { "audiences": wish.audiences, "expirationSeconds": seconds, "boundObjectRef": reference },
            "status": { "token": call.hub.users.issue(&wish), "expirationTimestamp": expires.to_string() },
        }),
    ))
}

fn body(call: &Call, warnings: &mut Warnings) -> Result<Value, ApiError> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let decoded = if call.content_type == MEDIA_TYPE {
        let message = protobuf::message_of(GROUP, KIND);
        let message = message.ok_or_else(|| unsupported("application/json, application/yaml"))?;
        binary::of_kind(call, message, (API_VERSION, KIND))?
    } else {
        decode::body(call)?
    };
    let unreadable = |fault: &str| {
        ApiError::bad_request(format!(
            "{KIND} in version \"v1\" cannot be handled as a {KIND}: {fault}"
        ))
    };
    let mut body = decoded.value;
    for (name, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        let given = body.get(name).and_then(Value::as_str).unwrap_or_default();
        if !given.is_empty() && given != expected {
            return Err(unreadable(&format!("the {name} of the object is {given}")));
        }
    }
    let unknown = builtin::decode::definition(DEFINITION, &mut body, Dialect::Json);
    let unknown = unknown.map_err(|fault| unreadable(&fault))?;
    decode::report(decoded.faults, &unknown, options.validation, warnings)
        .map_err(|fault| unreadable(&fault))?;
    let (given, url) = (text(&body, "name"), &call.name);
    if !given.is_empty() && given != url {
        let text = format!("the name of the object ({given}) does not match the name on the URL ({url})");
        return Err(ApiError::bad_request(text));
    }
    Ok(body)
}

fn check(seconds: i64) -> Result<(), ApiError> {
    let fault = match seconds {
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        SHORTEST..=LONGEST => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let error = FieldError {
        field: "spec.expirationSeconds".to_owned(),
        class: ErrorClass::Invalid,
        message: format!("Invalid value: {seconds}: {fault}"),
    };
    Err(invalid_kind(GROUP, KIND, "", &[error]))
}

/// Finds the secret with which a token shall end. There are no pods and nodes here.
fn bound(call: &Call, reference: &Value) -> Result<Option<Named>, ApiError> {
    if reference.is_null() {
        return Ok(None);
    }
    let part = |name: &str| {
        reference
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (version, kind, name, expected) = (part("apiVersion"), part("kind"), part("name"), part("uid"));
    if version != "v1" || kind != "Secret" {
        let text = format!("cannot bind token to object of type {version}, Kind={kind}");
        return Err(ApiError::bad_request(text));
    }
    let registry = call.hub.directory.load();
    let secrets = registry
        .find("", "v1", "secrets")
        .map_or(&call.served, |served| served);
    let missing = || not_found(&secrets.resource, &name);
    let uid = uid(&call.hub.store, "secrets", &call.namespace, &name).ok_or_else(missing)?;
    if !expected.is_empty() && expected != uid {
        let cause = format!(
            "the UID in the bound object reference ({expected}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(conflict_because(&secrets.resource, &name, &cause));
    }
    Ok(Some(Named { name, uid }))
}
