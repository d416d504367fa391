//! What a webhook's response means: allowed, refused or unusable.
//!
//! Decides by Kubernetes' checks and with its texts.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{
    decode::{Answered, Response},
    protocol::Protocol,
};
use crate::ApiError;

/// Which kind of webhook was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Mutating,
    Validating,
}

/// A response that passed the protocol checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookResponse {
    /// `Err` is the refusal, ready to be sent.
    pub(super) verdict: Result<(), ApiError>,
    pub(super) warnings: Vec<String>,
    /// JSON patch document; empty if nothing is to change.
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
}

/// What was asked, as far as the answer has to agree with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) hook: &'a str,
    pub(super) uid: &'a str,
    pub(super) protocol: Protocol,
    pub(super) phase: Phase,
}

/// Checks a decoded review. The error is the reason why it is not a valid answer.
pub(super) fn check(question: Question<'_>, answered: Answered) -> Result<HookResponse, String> {
    let Some(response) = answered.response else {
        return Err("webhook response was absent".to_owned());
    };
    match question.protocol {
        Protocol::V1 => check_v1(question, &answered.api_version, &answered.kind, &response)?,
        // The older version checked neither kind nor uid nor patch type.
        Protocol::V1Beta1 => check_phase(question.phase, &response)?,
    }
    let patch = match &response.patch {
        None => Vec::new(),
        Some(text) => STANDARD
            .decode(text)
            .map_err(|cause| format!("response.patch is not base64: {cause}"))?,
    };
    let patch_type = match question.protocol {
        Protocol::V1 => response.patch_type.clone().unwrap_or_default(),
        Protocol::V1Beta1 => "JSONPatch".to_owned(),
    };
    let verdict = if response.allowed {
        Ok(())
    } else {
        Err(refusal(question.hook, response.status.as_ref()))
    };
    Ok(HookResponse {
        verdict,
        warnings: response.warnings,
        patch,
        patch_type,
    })
}

fn check_v1(
    question: Question<'_>,
    api_version: &str,
    kind: &str,
    response: &Response,
) -> Result<(), String> {
    if response.uid != question.uid {
        return Err(format!(
            "expected response.uid={:?}, got {:?}",
            question.uid, response.uid
        ));
    }
    if api_version != "admission.k8s.io/v1" || kind != "AdmissionReview" {
        let found = if api_version.is_empty() { "/" } else { api_version };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {found}, Kind={kind}"
        ));
    }
    check_phase(question.phase, response)?;
    let patched = has_patch(response);
    match (question.phase, &response.patch_type) {
        (Phase::Mutating, None) if patched => {
            Err("webhook returned response.patch but not response.patchType".to_owned())
        }
        (Phase::Mutating, Some(_)) if !patched => {
            Err("webhook returned response.patchType but not response.patch".to_owned())
        }
        (Phase::Mutating, Some(empty)) if empty.is_empty() => {
            Err("webhook returned invalid response.patchType of \"\"".to_owned())
        }
        (Phase::Mutating | Phase::Validating, _) => Ok(()),
    }
}

fn check_phase(phase: Phase, response: &Response) -> Result<(), String> {
    match phase {
        Phase::Validating if has_patch(response) => {
            Err("validating webhook may not return response.patch".to_owned())
        }
        Phase::Validating if response.patch_type.is_some() => {
            Err("validating webhook may not return response.patchType".to_owned())
        }
        Phase::Mutating | Phase::Validating => Ok(()),
    }
}

fn has_patch(response: &Response) -> bool {
    response.patch.as_ref().is_some_and(|patch| !patch.is_empty())
}

/// A refusal passes the webhook's code, reason and details on. It is never a success, whatever code was sent.
fn refusal(hook: &str, status: Option<&Value>) -> ApiError {
    let text = |name: &str| {
        status
            .and_then(|it| it.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let code = status
        .and_then(|it| it.get("code"))
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let code = u16::try_from(code)
        .ok()
        .filter(|code| (400..=999).contains(code))
        .unwrap_or(400);
    let explained = [text("message"), text("reason")]
        .into_iter()
        .find(|text| !text.is_empty());
    let message = match explained {
        Some(cause) => format!("admission webhook {hook:?} denied the request: {cause}"),
        None => format!("admission webhook {hook:?} denied the request without explanation"),
    };
    let error = ApiError::new(code, text("reason"), message);
    match status.and_then(|it| it.get("details")) {
        Some(details) => error.with_details(details.clone()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Phase, Question, check};
    use crate::{
        ApiError,
        admission::{decode, protocol::Protocol},
    };

    fn answered(response: &Value) -> decode::Answered {
        let body =
            json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
        let answer = decode::HttpAnswer {
            code: 200,
            content_type: String::new(),
            body: body.to_string().into_bytes(),
        };
        decode::answered(&answer, Protocol::V1).expect("a readable review")
    }

    fn question(phase: Phase) -> Question<'static> {
        Question {
            hook: "h.example.io",
            uid: "u1",
            protocol: Protocol::V1,
            phase,
        }
    }

    #[track_caller]
    fn unusable(phase: Phase, response: &Value, expected: &str) {
        assert_eq!(
            check(question(phase), answered(response)),
            Err(expected.to_owned())
        );
    }

    #[test]
    fn refuses_answers_that_break_the_protocol() {
        let patch = "W10=";
        unusable(Phase::Mutating, &json!(null), "webhook response was absent");
        unusable(
            Phase::Mutating,
            &json!({ "uid": "zzz" }),
            r#"expected response.uid="u1", got "zzz""#,
        );
        unusable(
            Phase::Mutating,
            &json!({ "uid": "u1", "allowed": true, "patch": patch }),
            "webhook returned response.patch but not response.patchType",
        );
        unusable(
            Phase::Mutating,
            &json!({ "uid": "u1", "allowed": true, "patchType": "JSONPatch" }),
            "webhook returned response.patchType but not response.patch",
        );
        unusable(
            Phase::Validating,
            &json!({ "uid": "u1", "patch": patch, "patchType": "JSONPatch" }),
            "validating webhook may not return response.patch",
        );
    }

    #[track_caller]
    fn refused(status: &Value, expected: ApiError) {
        let response = json!({ "uid": "u1", "allowed": false, "status": status });
        let answer = check(question(Phase::Validating), answered(&response)).expect("a valid answer");
        assert_eq!(answer.verdict, Err(expected));
    }

    #[test]
    fn passes_a_refusal_on_with_its_code_reason_and_details() {
        let denied = |rest: &str| format!("admission webhook \"h.example.io\" denied the request{rest}");
        refused(
            &json!({ "message": "no way", "reason": "Forbidden", "code": 403 }),
            ApiError::new(403, "Forbidden", denied(": no way")),
        );
        refused(
            &json!(null),
            ApiError::new(400, "", denied(" without explanation")),
        );
        refused(
            &json!({ "reason": "OnlyAReason" }),
            ApiError::new(400, "OnlyAReason", denied(": OnlyAReason")),
        );
        refused(
            &json!({ "message": "fine", "code": 200 }),
            ApiError::new(400, "", denied(": fine")),
        );
        let details = json!({ "name": "x", "causes": [{ "field": "spec.size", "message": "not that" }] });
        refused(
            &json!({ "message": "bad", "reason": "Invalid", "code": 422, "details": details }),
            ApiError::new(422, "Invalid", denied(": bad")).with_details(details),
        );
    }
}
