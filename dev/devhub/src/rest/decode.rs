//! From the body of a request to an object.
//!
//! Decides whether a body can be read as an object of the asked kind, in the words of Kubernetes' decoders.

use serde_json::Value;

use super::binary;
use super::call::Call;
use super::errors::invalid_kind;
use super::metadata::{self, text};
use super::options::FieldValidation;
use super::strategy;
use super::unreadable::{unrecognized, unsupported};
use crate::admission::Warnings;
use crate::builtin::Dialect;
use crate::error::ApiError;
use crate::http::{Decoded, decode_json, decode_yaml};
use crate::patch::go_json;
use crate::protobuf::MEDIA_TYPE;
use schema::{ErrorClass, FieldError};

const GO_TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Reads the body in any of the forms that are read.
pub(super) fn body(call: &Call) -> Result<Decoded, ApiError> {
    let decoded = match call.content_type.as_str() {
        "" | "application/json" => decode_json(&call.body)
            .map_err(|fault| format!("couldn't get version/kind; json parse error: {fault}")),
        "application/yaml" => decode_yaml(&call.body),
        MEDIA_TYPE => return binary::object(call),
        _ => return Err(unsupported(ACCEPTED)),
    };
    let unrecognized = |fault: &str| unrecognized(call, fault);
    let decoded = decoded.map_err(|fault| unrecognized(&fault))?;
    match &decoded.value {
        Value::Object(members) => {
            let lacks = |name: &str| {
                members
                    .get(name)
                    .and_then(Value::as_str)
                    .is_none_or(str::is_empty)
            };
            let body = String::from_utf8_lossy(&call.body);
            for (name, shown) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
                if call.is_custom() && lacks(name) {
                    return Err(unrecognized(&format!("Object '{shown}' is missing in '{body}'")));
                }
            }
            Ok(decoded)
        }
        Value::Null if call.is_custom() => Err(unrecognized("Object 'Kind' is missing in 'null'")),
        Value::Null => Ok(Decoded {
            value: serde_json::json!({}),
            faults: Vec::new(),
        }),
        other => {
            let found = go_json::type_name(other);
            let fault = format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {GO_TYPE_META}"
            );
            Err(unrecognized(&fault))
        }
    }
}

/// Reads the body as an object of the asked kind.
pub(super) fn object(call: &Call, mode: FieldValidation, warnings: &mut Warnings) -> Result<Value, ApiError> {
    let Decoded {
        value: mut object,
        faults,
    } = body(call)?;
    let resource = &call.served.resource;
    settle_head(call, &mut object)?;
    let unreadable = |fault: &str| {
        let (kind, version) = (&resource.kind, &resource.version);
        ApiError::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {fault}"
        ))
    };
    let unknown = strategy::decode(call, &mut object, Dialect::Json).map_err(|fault| unreadable(&fault))?;
    report(faults, &unknown, mode, warnings).map_err(|fault| unreadable(&fault))?;
    Ok(object)
}

/// Reads a patched object.
pub(super) fn patched(
    call: &Call,
    object: &mut Value,
    faults: Vec<String>,
    (mode, dialect): (FieldValidation, Dialect),
    warnings: &mut Warnings,
) -> Result<(), String> {
    let missing = |name: &str| object.get(name).and_then(Value::as_str).is_none_or(str::is_empty);
    for (name, shown) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
        if missing(name) {
            return Err(format!("Object '{shown}' is missing in '{object}'"));
        }
    }
    if call.is_custom()
        && object.get("apiVersion").and_then(Value::as_str) != Some(&call.served.resource.api_version())
    {
        // Under a version that is not served nothing is known but metadata; the refusal itself comes later.
        let foreign = drop_content(object);
        return report(faults, &foreign, mode, warnings);
    }
    let unknown = strategy::decode(call, object, dialect)?;
    report(faults, &unknown, mode, warnings)
}

fn drop_content(object: &mut Value) -> Vec<String> {
    let Some(members) = object.as_object_mut() else {
        return Vec::new();
    };
    let is_known = |name: &String| matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
    let foreign: Vec<String> = members.keys().filter(|name| !is_known(name)).cloned().collect();
    members.retain(|name, _| is_known(name));
    foreign
}

/// Adds unknown fields to the faults of a body and refuses or warns, as was asked for.
pub(super) fn report(
    mut faults: Vec<String>,
    unknown: &[String],
    mode: FieldValidation,
    warnings: &mut Warnings,
) -> Result<(), String> {
    faults.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
    match mode {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            warnings.extend(faults);
            Ok(())
        }
        FieldValidation::Strict if faults.is_empty() => Ok(()),
        FieldValidation::Strict => Err(format!("strict decoding error: {}", faults.join(", "))),
    }
}

/// Checks `apiVersion`; built-in kinds may leave it and `kind` out.
fn settle_head(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    let resource = &call.served.resource;
    let (expected, kind) = (resource.api_version(), resource.kind.clone());
    let Some(members) = object.as_object_mut() else {
        return Ok(());
    };
    let given = |members: &serde_json::Map<String, Value>, name: &str| {
        members
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (version, given_kind) = (given(members, "apiVersion"), given(members, "kind"));
    if !version.is_empty() && version != expected {
        let text = format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        );
        return Err(ApiError::bad_request(text));
    }
    if !call.is_custom() {
        if !given_kind.is_empty() && given_kind != kind {
            let version = &resource.version;
            let text = format!(
                "{given_kind} in version \"{version}\" cannot be handled as a {kind}: the kind of the object is {given_kind}"
            );
            return Err(ApiError::bad_request(text));
        }
        members.insert("apiVersion".to_owned(), Value::String(expected));
        members.insert("kind".to_owned(), Value::String(kind));
    }
    Ok(())
}

/// Checks that an object says of itself what the resource serves. Other than the decoder's checks this is a validation.
pub(super) fn check_kind(call: &Call, object: &Value) -> Result<(), ApiError> {
    let resource = &call.served.resource;
    let given = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (given("kind"), given("apiVersion"));
    let mut errors = Vec::new();
    let mut fault = |field: &str, given: &str, expected: &str| {
        errors.push(FieldError {
            field: field.to_owned(),
            class: ErrorClass::Invalid,
            message: format!("Invalid value: {given:?}: must be {expected}"),
        });
    };
    if kind != resource.kind {
        fault("kind", kind, &resource.kind);
    }
    if version != resource.api_version() {
        fault("apiVersion", version, &resource.api_version());
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(invalid_kind(&resource.group, kind, text(object, "name"), &errors))
}

/// Checks that an object belongs where the path says, and puts the namespace in.
pub(super) fn check_location(call: &Call, object: &mut Value, place: Place) -> Result<(), ApiError> {
    if call.is_namespaced() {
        match text(object, "namespace") {
            "" => metadata::set(object, "namespace", Value::String(call.namespace.clone())),
            given if given == call.namespace => {}
            _ => {
                let text =
                    "the namespace of the provided object does not match the namespace sent on the request";
                return Err(ApiError::bad_request(text));
            }
        }
    } else {
        metadata::remove(object, "namespace");
    }
    if place == Place::Collection {
        return Ok(());
    }
    match text(object, "name") {
        "" => {
            let url = &call.name;
            let text = format!(
                "the name of the object ({url} based on URL) was undeterminable: name must be provided"
            );
            Err(ApiError::bad_request(text))
        }
        given if given != call.name => {
            let url = &call.name;
            let text = format!("the name of the object ({given}) does not match the name on the URL ({url})");
            Err(ApiError::bad_request(text))
        }
        _ => Ok(()),
    }
}

/// Where an object is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A collection: the name is the object's own.
    Collection,
    /// An object: the name is the path's.
    Object,
}
