//! Certificate signing requests: who asked, who may say yes, and what each endpoint leaves alone.
//!
//! Decides which members a client cannot set. Never approves and never signs anything.

use ::schema::{ErrorClass, FieldError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer as _;

use super::members::carry;

/// The API group.
pub const GROUP: &str = "certificates.k8s.io";
/// The resource.
pub const PLURAL: &str = "certificatesigningrequests";

const VERDICTS: [&str; 2] = ["Approved", "Denied"];

/// Writes the user who asks into a new request, in place of what the client says of it, and drops a status that the client brings
/// along: a client can neither ask in the name of another user nor answer its own request.
pub fn sign_in(object: &mut Value, user: &Value) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    members.insert("status".to_owned(), json!({}));
    let Some(spec) = members.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for member in ["username", "uid", "groups", "extra"] {
        let empty = match user.get(member) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Object(map)) => map.is_empty(),
            Some(_) => false,
        };
        spec.remove(member);
        if let Some(value) = user.get(member).filter(|_| !empty) {
            spec.insert(member.to_owned(), value.clone());
        }
    }
}

/// The approval endpoint changes the conditions and nothing else.
pub fn approve(new: &mut Value, old: &Value, now: &str) {
    let conditions = new.pointer("/status/conditions").cloned();
    carry(new, old, "spec");
    carry(new, old, "status");
    put_conditions(new, stamped(conditions, old, now));
}

/// The status endpoint changes everything but the verdict.
pub fn keep_verdict(new: &mut Value, old: &Value, now: &str) {
    let is_verdict = |condition: &Value| VERDICTS.iter().any(|verdict| condition["type"] == *verdict);
    let kept = conditions(old).filter(|condition| is_verdict(condition)).cloned();
    let others = conditions(new)
        .filter(|condition| !is_verdict(condition))
        .cloned();
    let all: Vec<Value> = kept.chain(others).collect();
    let all = (!all.is_empty()).then_some(Value::Array(all));
    put_conditions(new, stamped(all, old, now));
}

fn put_conditions(object: &mut Value, conditions: Option<Value>) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    let status = members.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else {
        return;
    };
    match conditions {
        Some(conditions) => status.insert("conditions".to_owned(), conditions),
        None => status.remove("conditions"),
    };
}

/// The server fills in the times that a client left out.
fn stamped(given: Option<Value>, old: &Value, now: &str) -> Option<Value> {
    let mut all = given?;
    for condition in all.as_array_mut().into_iter().flatten() {
        let before = conditions(old)
            .find(|before| before["type"] == condition["type"])
            .cloned()
            .unwrap_or_default();
        let same = before["status"] == condition["status"];
        let Some(fields) = condition.as_object_mut() else {
            continue;
        };
        for (member, moves) in [
            ("lastUpdateTime", before.is_null()),
            ("lastTransitionTime", !same),
        ] {
            if fields.get(member).is_some_and(Value::is_string) {
                continue;
            }
            let known = before.get(member).filter(|_| !moves).cloned();
            fields.insert(member.to_owned(), known.unwrap_or_else(|| json!(now)));
        }
    }
    Some(all)
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Returns what is wrong with a request.
pub fn validate(object: &Value) -> Vec<FieldError> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let mut errors = Vec::new();
    let mut add = |field: &str, class: ErrorClass, message: String| {
        errors.push(FieldError {
            field: field.to_owned(),
            class,
            message,
        });
    };
    if let Err(fault) = readable(text("/spec/request")) {
        add(
            "spec.request",
            ErrorClass::Invalid,
            format!("Invalid value: {fault}"),
        );
    }
    let usages = object.pointer("/spec/usages").and_then(Value::as_array);
    if usages.is_none_or(Vec::is_empty) {
        add("spec.usages", ErrorClass::Required, "Required value".to_owned());
    }
    if !text("/spec/signerName").contains('/') {
        add(
            "spec.signerName",
            ErrorClass::Invalid,
            format!(
                "Invalid value: {:?}: must be a fully qualified domain and path of the form 'example.com/signer-name'",
                text("/spec/signerName")
            ),
        );
    }
    for (index, condition) in conditions(object).enumerate() {
        let verdict = VERDICTS.iter().any(|verdict| condition["type"] == *verdict);
        if verdict && condition["status"] != "True" {
            add(
                &format!("status.conditions[{index}].status"),
                ErrorClass::NotSupported,
                format!(
                    "Unsupported value: {}: supported values: \"True\"",
                    condition["status"]
                ),
            );
        }
    }
    errors
}

fn readable(request: &str) -> Result<(), String> {
    let pem = BASE64.decode(request).map_err(|error| error.to_string())?;
    let (_, block) = x509_parser::pem::parse_x509_pem(&pem)
        .map_err(|_malformed| "PEM block type must be CERTIFICATE REQUEST".to_owned())?;
    if block.label != "CERTIFICATE REQUEST" {
        return Err("PEM block type must be CERTIFICATE REQUEST".to_owned());
    }
    X509CertificationRequest::from_der(&block.contents)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requester_is_the_authenticated_user_not_the_value_in_the_object() {
        let mut object =
            json!({"spec": {"username": "other", "groups": ["x"]}, "status": {"certificate": "AA=="}});
        sign_in(
            &mut object,
            &json!({"username": "me", "uid": "", "groups": ["g"], "extra": {}}),
        );
        assert_eq!(
            object,
            json!({"spec": {"username": "me", "groups": ["g"]}, "status": {}})
        );
    }

    #[test]
    fn each_endpoint_leaves_the_rest_alone() {
        let old = json!({"spec": {"signerName": "a/b"}, "status": {"certificate": "AA=="}});
        let mut new = json!({"spec": {"signerName": "c/d"}, "status": {"certificate": "BB==",
            "conditions": [{"type": "Approved", "status": "True"}]}});
        let mut status = new.clone();
        approve(&mut new, &old, "2030-01-01T00:00:00Z");
        assert_eq!(new["spec"], old["spec"]);
        assert_eq!(new["status"]["certificate"], "AA==");
        assert_eq!(new["status"]["conditions"][0]["type"], "Approved");
        assert!(new["status"]["conditions"][0]["lastTransitionTime"].is_string());
        keep_verdict(&mut status, &old, "2030-01-01T00:00:00Z");
        assert_eq!(status["status"], json!({"certificate": "BB=="}));
    }

    #[test]
    fn an_undecodable_request_is_rejected() {
        let object = json!({"spec": {"request": "AAAA", "signerName": "x"}});
        let fields: Vec<String> = validate(&object).into_iter().map(|error| error.field).collect();
        assert_eq!(fields, ["spec.request", "spec.usages", "spec.signerName"]);
    }
}
