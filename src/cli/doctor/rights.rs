//! Which rights are asked about, and the questions.
//!
//! Decides which roles of the table of calls belong to what runs. Never decides what a missing right means.

use futures::StreamExt as _;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use operate::doctor::calls::Account;
use operate::doctor::{Judged, Reading, Right};

use super::ask::within;

/// How many questions are asked at the same time.
const AT_ONCE: usize = 16;

/// Checks for each permission whether the account of the client has it.
pub(super) async fn judged(client: &Client, rights: Vec<Right>) -> Reading<Vec<Judged>> {
    let questions = rights.into_iter().map(|right| async {
        let allowed = allowed(client, &right).await;
        Judged { right, allowed }
    });
    let mut all: Vec<Judged> = futures::stream::iter(questions)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    all.sort_by(|one, other| one.right.cmp(&other.right));
    // What applies to all is reported once.
    let first = all.first().and_then(|one| one.allowed.as_ref().err().cloned());
    match first.filter(|_| all.iter().all(|one| one.allowed.is_err())) {
        Some(why) => Reading::Refused(why),
        None => Reading::Seen(all),
    }
}

fn attributes(right: &Right) -> ResourceAttributes {
    let text = |part: &str| (!part.is_empty()).then(|| part.to_owned());
    ResourceAttributes {
        group: Some(right.group.clone()),
        resource: Some(right.resource.clone()),
        subresource: text(&right.subresource),
        verb: Some(right.verb.clone()),
        namespace: text(&right.namespace),
        name: text(&right.name),
        ..ResourceAttributes::default()
    }
}

async fn allowed(client: &Client, right: &Right) -> Result<bool, String> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes(right)),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let params = PostParams::default();
    let answer = within(api.create(&params, &review)).await?;
    let status = answer
        .and_then(|review| review.status)
        .ok_or("the hub has no access reviews")?;
    Ok(status.allowed)
}

/// Returns whether an account of this namespace has a right, as seen by another account.
pub(super) async fn has(
    client: &Client,
    namespace: &str,
    account: Account,
    right: &Right,
) -> Result<bool, String> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{namespace}:{}", account.name())),
            groups: Some(vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ]),
            resource_attributes: Some(attributes(right)),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = within(api.create(&PostParams::default(), &review)).await?;
    let status = answer.and_then(|review| review.status);
    Ok(status.ok_or("the hub has no access reviews")?.allowed)
}

/// Returns the user name of the account of a client, or "this account" if the hub does not report it.
pub(in crate::cli) async fn whoami(client: &Client) -> String {
    let name = user_name(client).await;
    name.unwrap_or_else(|| "this account".to_owned())
}

/// Returns the user name of the account of a client, if the hub reports it.
pub(in crate::cli) async fn user_name(client: &Client) -> Option<String> {
    use k8s_openapi::api::authentication::v1::SelfSubjectReview;
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let answer = api
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    answer.ok()?.status?.user_info?.username
}
