//! The two refusals that patches share.
//!
//! Decides their wording.

use serde_json::json;

use crate::ApiError;

/// Returns the 422 for a patched document that cannot be decoded: ` "" is invalid: patch: Invalid value: "…": fault`.
///
/// `quoted` is what Kubernetes quotes: the patched object as JSON text, or for strategic patches the patch as
/// [`kubernetes::print::plain`] prints it.
pub fn invalid_patch(quoted: &str, fault: &str) -> ApiError {
    let message = format!("Invalid value: {}: {fault}", kubernetes::print::quote(quoted));
    ApiError::new(422, "Invalid", format!(" \"\" is invalid: patch: {message}")).with_details(json!({
        "causes": [{ "reason": "FieldValueInvalid", "message": message, "field": "patch" }],
    }))
}

/// Returns the 422 without any detail that a patch gets when it does not fit the document.
pub fn rejected() -> ApiError {
    ApiError::new(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )
    .with_details(json!({}))
}
