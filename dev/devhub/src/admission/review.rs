//! The `AdmissionReview` that is sent to a webhook.
//!
//! Decides its version and shape.

use serde_json::{Value, json};

use super::{
    attributes::Attributes,
    hook::Hook,
    matching::{Invocation, VersionedObjects},
    protocol::Protocol,
};

/// A request body and what the answer has to refer to.
#[derive(Debug)]
pub(super) struct Review {
    pub(super) uid: String,
    pub(super) protocol: Protocol,
    pub(super) body: Value,
}

/// Builds the review of one call in the first version that `hook` prefers and this hub speaks.
pub(super) fn build(
    hook: &Hook,
    invocation: &Invocation,
    request: &Attributes,
    seen: &VersionedObjects,
) -> Result<Review, String> {
    let protocol = hook
        .review_versions
        .iter()
        .find_map(|version| match version.as_str() {
            "v1" => Some(Protocol::V1),
            "v1beta1" => Some(Protocol::V1Beta1),
            _ => None,
        })
        .ok_or("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)")?;
    let uid = uuid::Uuid::new_v4().to_string();
    let mut inner = request.to_request(&invocation.kind, &invocation.version);
    inner.insert("uid".to_owned(), json!(uid));
    inner.insert("object".to_owned(), seen.object.clone());
    inner.insert("oldObject".to_owned(), seen.old_object.clone());
    let api_version = format!("admission.k8s.io/{}", protocol.name());
    let body = json!({ "kind": "AdmissionReview", "apiVersion": api_version, "request": inner });
    Ok(Review { uid, protocol, body })
}
