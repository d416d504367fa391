//! Access reviews and token reviews.
//!
//! Decides faults of the question.

use ::schema::FieldError;
use serde_json::{Value, json};

use crate::builtin::faults::{invalid, invalid_value, list, text};
use crate::{ApiError, Resource};

/// Validates a review before it is answered.
///
/// The 422 that follows from the faults names no kind and no name (`.authorization.k8s.io "" is invalid: …`), as the real
/// server does it; a token review without a token is a plain 400.
pub fn validate(resource: &Resource, review: &Value) -> Result<Vec<FieldError>, ApiError> {
    let is = |kind: &str| resource.kind == kind;
    if is("TokenReview") && text(review, "/spec/token").is_empty() {
        return Err(ApiError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    if !resource.kind.ends_with("SubjectAccessReview") {
        return Ok(Vec::new());
    }
    let mut errors = validate_attributes(review);
    if !is("SelfSubjectAccessReview")
        && text(review, "/spec/user").is_empty()
        && list(review, "/spec/groups").is_empty()
    {
        errors.push(invalid(
            "spec.user",
            "",
            "at least one of user or group must be specified",
        ));
    }
    let own = text(review, "/metadata/namespace");
    if is("LocalSubjectAccessReview") && text(review, "/spec/resourceAttributes/namespace") != own {
        errors.push(invalid(
            "spec.resourceAttributes.namespace",
            text(review, "/spec/resourceAttributes/namespace"),
            "must match metadata.namespace",
        ));
    }
    Ok(errors)
}

fn validate_attributes(review: &Value) -> Vec<FieldError> {
    match (
        review.pointer("/spec/resourceAttributes"),
        review.pointer("/spec/nonResourceAttributes"),
    ) {
        (None, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![invalid_value("spec.resourceAttributes", &Value::Null, detail)]
        }
        (Some(_), Some(path)) => {
            let printed = json!({ "Path": text(path, "/path"), "Verb": text(path, "/verb") });
            vec![invalid_value(
                "spec.nonResourceAttributes",
                &printed,
                "cannot be specified in combination with resourceAttributes",
            )]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_refused_as_recorded() {
        let kind = |name: &str| {
            crate::builtin::resources()
                .into_iter()
                .find(|resource| resource.kind == name)
                .expect("a kind")
        };
        for (name, spec, expected) in [
            (
                "SelfSubjectAccessReview",
                json!({}),
                "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ),
            (
                "SelfSubjectAccessReview",
                json!({"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/x", "verb": "get"}}),
                "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be specified in combination with resourceAttributes",
            ),
            (
                "SubjectAccessReview",
                json!({"resourceAttributes": {"verb": "get"}}),
                "spec.user: Invalid value: \"\": at least one of user or group must be specified",
            ),
        ] {
            let errors = validate(&kind(name), &json!({"spec": spec})).expect("a list");
            assert_eq!(
                errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
                [expected]
            );
        }
        let error = validate(&kind("TokenReview"), &json!({"spec": {"token": ""}})).expect_err("no token");
        assert_eq!(
            (error.code, error.message.as_str()),
            (400, "token is required for TokenReview in authentication")
        );
    }
}
