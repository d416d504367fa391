//! Bodies in Kubernetes' binary form, as requests carry them.
//!
//! Decides whether such a body can be read as the asked kind; the bytes are read in `protobuf`.

use serde_json::{Value, json};

use super::call::Call;
use super::unreadable::{unrecognized, unsupported};
use crate::error::ApiError;
use crate::http::Decoded;
use crate::protobuf::{self, Envelope, Message};

/// Reads the body as an object of the kind of the call. A body of another kind is returned without its content: the refusal of
/// it is the same for every encoding.
pub(super) fn object(call: &Call) -> Result<Decoded, ApiError> {
    let resource = &call.served.resource;
    let known = protobuf::message_of(&resource.group, &resource.kind).filter(|_| !call.is_custom());
    let Some(message) = known else {
        return Err(unsupported("application/json, application/yaml"));
    };
    of_kind(call, message, (&resource.api_version(), &resource.kind))
}

/// Reads the body as an object of a kind that is not that of the resource.
pub(super) fn of_kind(
    call: &Call,
    message: &'static Message,
    (api_version, kind): (&str, &str),
) -> Result<Decoded, ApiError> {
    let Envelope {
        api_version: given_version,
        kind: given_kind,
        content,
    } = protobuf::open(&call.body).map_err(|fault| unrecognized(call, &fault.to_string()))?;
    let given_version = some_or(given_version, api_version);
    let given_kind = some_or(given_kind, kind);
    let mut value = if given_version == api_version && given_kind == kind {
        protobuf::decode(message, content).map_err(|fault| {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            ApiError::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: {fault}"
            ))
        })?
    } else {
        json!({})
    };
    if let Value::Object(members) = &mut value {
        members.insert("apiVersion".to_owned(), Value::String(given_version));
        members.insert("kind".to_owned(), Value::String(given_kind));
    }
    Ok(Decoded {
        value,
        faults: Vec::new(),
    })
}

/// Reads the body of a deletion.
pub(super) fn delete_options(body: &[u8]) -> Result<Value, ApiError> {
    let refused = |fault: String| ApiError::bad_request(fault);
    let envelope = protobuf::open(body).map_err(|fault| refused(fault.to_string()))?;
    if !matches!(envelope.kind.as_str(), "" | "DeleteOptions") {
        let Envelope {
            kind, api_version, ..
        } = envelope;
        return Err(refused(format!(
            "decoded object cannot be converted to DeleteOptions: it is {kind} of {api_version}"
        )));
    }
    protobuf::decode(protobuf::DELETE_OPTIONS, envelope.content)
        .map_err(|fault| refused(format!("DeleteOptions cannot be read: {fault}")))
}

fn some_or(given: String, default: &str) -> String {
    if given.is_empty() {
        default.to_owned()
    } else {
        given
    }
}
