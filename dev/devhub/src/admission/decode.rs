//! From the bytes of a webhook's answer to an `AdmissionReview` response.
//!
//! Decides which bodies can be read and how the others are named, in the words of Kubernetes' own decoder.

use serde::Deserialize;
use serde_json::Value;

use super::{protocol::Protocol, status_text};

/// A webhook's HTTP answer.
#[derive(Clone, Debug)]
pub(crate) struct HttpAnswer {
    pub(super) code: u16,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

/// The `response` of a review, as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Response {
    pub(super) uid: String,
    pub(super) allowed: bool,
    pub(super) status: Option<Value>,
    /// Base64.
    pub(super) patch: Option<String>,
    pub(super) patch_type: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// An answered review: the kind it claims to be, and its response.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) response: Option<Response>,
}

/// Reads the document that a webhook answered. The error is the reason why there is none.
pub(crate) fn document(answer: &HttpAnswer) -> Result<Value, String> {
    if !(200..=206).contains(&answer.code) {
        return Err(status_text::of_status(
            answer.code,
            &answer.content_type,
            &answer.body,
        ));
    }
    if answer.body.is_empty() {
        let (code, content_type) = (answer.code, &answer.content_type);
        return Err(format!(
            "0-length response with status code: {code} and content type: {content_type}"
        ));
    }
    parsed(&answer.body)
}

/// Reads the answer to a review of version `protocol`.
pub(super) fn answered(answer: &HttpAnswer, protocol: Protocol) -> Result<Answered, String> {
    let mut review = document(answer)?;
    let text = |name: &str| {
        review
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    check_kind(&api_version, &kind, protocol)?;
    let response = match review.get_mut("response").map(Value::take) {
        None | Some(Value::Null) => None,
        Some(written) => Some(Response::deserialize(written).map_err(|cause| unreadable(&cause))?),
    };
    Ok(Answered {
        api_version,
        kind,
        response,
    })
}

/// Bodies are read as YAML would be, so a bare word is a string and not a syntax error.
fn parsed(body: &[u8]) -> Result<Value, String> {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(json_error) => std::str::from_utf8(body)
            .ok()
            .and_then(|text| serde_saphyr::from_str(text).ok())
            .ok_or_else(|| format!("couldn't get version/kind; json parse error: {json_error}"))?,
    };
    let found = match &value {
        Value::Object(_) => return Ok(value),
        Value::Null => return Ok(Value::Object(serde_json::Map::new())),
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
    };
    Err(format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ \
         APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    ))
}

/// Absent fields count as right here: whether they had to be written is a question of the protocol version.
fn check_kind(api_version: &str, kind: &str, protocol: Protocol) -> Result<(), String> {
    let expected = protocol.name();
    let version = match api_version {
        "" => expected,
        "admission.k8s.io/v1" => "v1",
        "admission.k8s.io/v1beta1" => "v1beta1",
        other => return Err(unregistered(kind, other)),
    };
    if !kind.is_empty() && kind != "AdmissionReview" {
        return Err(unregistered(kind, api_version));
    }
    if version != expected {
        return Err(format!(
            "converting ({version}.AdmissionReview) to ({expected}.AdmissionReview): unknown conversion"
        ));
    }
    Ok(())
}

/// Returns the text for a document of a kind that is not registered.
pub(crate) fn unregistered(kind: &str, api_version: &str) -> String {
    format!("no kind {kind:?} is registered for version {api_version:?} in scheme \"devhub\"")
}

fn unreadable(cause: &serde_json::Error) -> String {
    format!("json: cannot read AdmissionReview.response: {cause}")
}

#[cfg(test)]
mod tests {
    use super::{HttpAnswer, answered};
    use crate::admission::protocol::Protocol;

    #[track_caller]
    fn check(body: &str, expected: Result<bool, &str>) {
        let answer = HttpAnswer {
            code: 200,
            content_type: "application/json".to_owned(),
            body: body.into(),
        };
        let found = answered(&answer, Protocol::V1).map(|review| review.response.is_some());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn reads_a_review_and_names_what_it_cannot_read() {
        check(
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u"}}"#,
            Ok(true),
        );
        check(
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#,
            Ok(false),
        );
        check("kind: AdmissionReview\nresponse:\n  uid: u\n", Ok(true));
        check(
            r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{}}"#,
            Err("converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"),
        );
        check(
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"Something"}"#,
            Err(r#"no kind "Something" is registered for version "admission.k8s.io/v1" in scheme "devhub""#),
        );
        check(
            "",
            Err("0-length response with status code: 200 and content type: application/json"),
        );
        check(
            "hello",
            Err(
                "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type \
                 struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                 \"json:\\\"kind,omitempty\\\"\" }",
            ),
        );
    }
}
