//! Whether single objects exist, asked of the hub itself; of a namespace or a role, what counts of it; and what somebody may do.
//!
//! Decides nothing: a hub that does not say, or does not let this program look, leaves the question open. Asking for a review
//! of access stores nothing.

use std::sync::Arc;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::DynamicObject;
use kube::{Api, Client};

use super::runtime::raw::{Raw, resource};
use crate::snapshot::{Kind, MayBind, Names, NamespaceFacts, ObjectKey, RoleFacts, Told};

/// Where reviews of access are asked for.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Returns what the hub says of an object, if it does.
pub async fn ask(client: Client, object: ObjectKey) -> Option<Told> {
    if object.kind.is_hub_role() {
        return role(client, &object).await;
    }
    let api: Api<DynamicObject> = if object.kind.address().namespaced {
        Api::namespaced_with(client, &object.namespace, &resource(object.kind))
    } else {
        Api::all_with(client, &resource(object.kind))
    };
    let found = api.get_metadata_opt(&object.name).await.ok()?;
    Some(match found {
        None => Told::Absent,
        Some(found) if object.kind == Kind::Namespace => {
            Told::Namespace(NamespaceFacts::of(&found.metadata, &mut Names::default()))
        }
        Some(_) => Told::Exists,
    })
}

/// What counts of a role are its rules.
async fn role(client: Client, object: &ObjectKey) -> Option<Told> {
    let api: Api<Raw> = if object.kind == Kind::HubRole {
        Api::namespaced_with(client, &object.namespace, &resource(object.kind))
    } else {
        Api::all_with(client, &resource(object.kind))
    };
    match api.get_opt(&object.name).await.ok()? {
        None => Some(Told::Absent),
        Some(found) => RoleFacts::of(&found.object).ok().map(Told::Role),
    }
}

/// Returns whether a user (`userInfo` of a review) may bind a role, if the hub says so. An answer that rests on an error of the
/// hub's own is none.
pub async fn may_bind(client: Client, user: Arc<str>, question: MayBind) -> Option<bool> {
    let user: UserInfo = serde_json::from_str(&user).ok()?;
    if user.username.as_deref().unwrap_or_default().is_empty() {
        return None;
    }
    let address = question.role.kind.address();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            resource_attributes: Some(ResourceAttributes {
                group: Some(address.group.to_owned()),
                resource: Some(address.resource.to_owned()),
                verb: Some("bind".to_owned()),
                name: Some(question.role.name.to_string()),
                namespace: Some(question.namespace.to_string()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let body = serde_json::to_vec(&review).ok()?;
    let request = http::Request::post(REVIEWS).header(http::header::CONTENT_TYPE, "application/json");
    let answer: SubjectAccessReview = client.request(request.body(body).ok()?).await.ok()?;
    let status = answer.status?;
    let broken = !status.allowed && status.evaluation_error.is_some_and(|error| !error.is_empty());
    (!broken).then_some(status.allowed)
}
