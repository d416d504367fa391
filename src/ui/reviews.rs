//! Questions to the hub about a person: who a token belongs to, and what that person may do.
//!
//! Decides nothing: the hub authenticates and authorises. Both questions store nothing, and no token is kept or told here.

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::visibility::Question;

const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// The hub gives no answer.
#[derive(Debug, thiserror::Error)]
#[error("the hub does not answer reviews of tokens or permissions")]
pub(super) struct Unanswered(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Returns the user of the token; `None` if the hub does not accept it.
pub(super) async fn read_person(client: &Client, token: &str) -> Result<Option<UserInfo>, Unanswered> {
    let review = TokenReview {
        spec: TokenReviewSpec {
            token: token.to_owned(),
            audiences: None,
        },
        ..TokenReview::default()
    };
    let answer: TokenReview = post(client, TOKENS, &review).await?;
    let status = answer.status.filter(|status| status.authenticated == Some(true));
    let user = status.and_then(|status| status.user);
    // A user without a name has no rights that could be asked about.
    Ok(user.filter(|user| user.username.as_deref().is_some_and(|name| !name.is_empty())))
}

/// Returns whether a person may read what is asked about.
pub(super) async fn read_right(
    client: &Client,
    user: &UserInfo,
    question: &Question,
) -> Result<bool, Unanswered> {
    let address = question.kind.address();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
            resource_attributes: Some(ResourceAttributes {
                group: Some(address.group.to_owned()),
                version: Some(address.version.to_owned()),
                resource: Some(address.resource.to_owned()),
                verb: Some(question.verb().to_owned()),
                namespace: Some(question.namespace.clone()),
                name: Some(question.name.clone()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let answer: SubjectAccessReview = post(client, ACCESS, &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

async fn post<T: Serialize + DeserializeOwned>(
    client: &Client,
    path: &str,
    review: &T,
) -> Result<T, Unanswered> {
    let body = serde_json::to_vec(review).map_err(|source| Unanswered(Box::new(source)))?;
    let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
    let request = request
        .body(body)
        .map_err(|source| Unanswered(Box::new(source)))?;
    client
        .request(request)
        .await
        .map_err(|source| Unanswered(Box::new(source)))
}
