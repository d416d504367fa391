//! Secrets.
//!
//! Decides faults and warnings by the secret's type.

use ::schema::FieldError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::config;
use crate::builtin::faults::{invalid, required, text, too_long};
use crate::patch::go_json;

pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in object
        .get("data")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        errors.extend(config::validate_key("data", key));
        size += config::decoded_length(value);
    }
    if size > config::MAX_BYTES {
        errors.push(too_long("data", config::MAX_BYTES));
    }
    errors.extend(validate_type(object));
    errors
}

fn validate_type(object: &Value) -> Vec<FieldError> {
    let data = |key: &str| {
        object
            .get("data")
            .and_then(|data| data.get(key))
            .and_then(Value::as_str)
    };
    let missing = |key: &str| data(key).is_none().then(|| required(&format!("data[{key}]"), ""));
    match text(object, "/type") {
        "kubernetes.io/service-account-token" => {
            const NAME: &str = "kubernetes.io/service-account.name";
            let annotations = object.pointer("/metadata/annotations");
            let named = annotations
                .and_then(|map| map.get(NAME))
                .and_then(Value::as_str)
                .is_some_and(|name| !name.is_empty());
            if named {
                Vec::new()
            } else {
                vec![required(&format!("metadata.annotations[{NAME}]"), "")]
            }
        }
        "kubernetes.io/dockercfg" => validate_json(".dockercfg", data(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => validate_json(".dockerconfigjson", data(".dockerconfigjson")),
        "kubernetes.io/basic-auth" if data("username").is_none() && data("password").is_none() => {
            ["username", "password"].into_iter().filter_map(missing).collect()
        }
        "kubernetes.io/ssh-auth" if data("ssh-privatekey").is_none_or(str::is_empty) => {
            vec![required("data[ssh-privatekey]", "")]
        }
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().filter_map(missing).collect(),
        _ => Vec::new(),
    }
}

fn validate_json(key: &str, encoded: Option<&str>) -> Vec<FieldError> {
    let field = format!("data[{key}]");
    let Some(encoded) = encoded else {
        return vec![required(&field, "")];
    };
    match go_json::check(&decoded(encoded)) {
        Ok(_) => Vec::new(),
        Err(fault) => vec![invalid(&field, "<secret contents redacted>", &fault)],
    }
}

pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let kind = text(new, "/type");
    let changed = (kind != text(old, "/type")).then(|| invalid("type", kind, "field is immutable"));
    changed
        .into_iter()
        .chain(config::validate_immutable(new, old, &["data"]))
        .collect()
}

/// Returns the warnings for a TLS secret that holds no certificate or no key.
pub(super) fn warnings(object: &Value) -> Vec<String> {
    if text(object, "/type") != "kubernetes.io/tls" {
        return Vec::new();
    }
    let has_pem = |key: &str| {
        let encoded = object
            .get("data")
            .and_then(|data| data.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default();
        String::from_utf8_lossy(&decoded(encoded)).contains("-----BEGIN ")
    };
    [("tls.crt", "certificate"), ("tls.key", "key")]
        .into_iter()
        .find(|(key, _)| !has_pem(key))
        .map(|(_, name)| format!("tls: failed to find any PEM data in {name} input"))
        .into_iter()
        .collect()
}

fn decoded(text: &str) -> Vec<u8> {
    BASE64.decode(text).unwrap_or_default()
}
