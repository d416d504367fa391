//! Whether single objects exist, asked of the hub itself; of a namespace, a role or an add-on of a cluster, what counts of it;
//! and what a user may do.
//!
//! Decides nothing: a hub that does not say, or does not let this program look, leaves the question open. Asking for a review
//! of access stores nothing.

use std::sync::Arc;

use futures::future::try_join_all;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use kubernetes::names::{is_dns1123_label, is_dns1123_subdomain};

use super::runtime::raw::{Raw, resource};
use api::names::labels;
use store::{
    AddonFacts, AddonPlacement, Facts, Kind, LiveFact, Names, NamespaceFacts, ObjectKey, RoleFacts, UserRight,
};

/// API path of access reviews.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Maximum number of placements whose clusters are read at once.
const MOST_PLACEMENTS: usize = 10;

/// Returns what the hub says of an object, if it does.
pub async fn ask(client: Client, object: ObjectKey) -> Option<LiveFact> {
    if object.kind.is_hub_role() {
        return role(client, &object).await;
    }
    if object.kind == Kind::Instance {
        return given(client, &object).await;
    }
    let api: Api<DynamicObject> = if object.kind.address().namespaced {
        Api::namespaced_with(client, &object.namespace, &resource(object.kind))
    } else {
        Api::all_with(client, &resource(object.kind))
    };
    let found = api.get_metadata_opt(&object.name).await.ok()?;
    Some(match found {
        None => LiveFact::Absent,
        Some(found) if object.kind == Kind::Namespace => {
            LiveFact::Namespace(NamespaceFacts::of(&found.metadata, &mut Names::default()))
        }
        Some(_) => LiveFact::Exists,
    })
}

/// What counts of an add-on of a cluster is the install namespace that it would be given now. Decisions are read only where the
/// placements differ; of more than [`MOST_PLACEMENTS`] nothing is said.
async fn given(client: Client, instance: &ObjectKey) -> Option<LiveFact> {
    let (cluster, name) = (&*instance.namespace, &*instance.name);
    let addons: Api<Raw> = Api::all_with(client.clone(), &resource(Kind::AddOn));
    let Some(found) = addons.get_opt(name).await.ok()? else {
        return Some(LiveFact::Given(None));
    };
    let addon = AddonFacts::read(&found.object()).ok()?;
    let is_one = |placement: &&AddonPlacement| {
        is_dns1123_label(&placement.namespace) && is_dns1123_subdomain(&placement.name)
    };
    let giving = addon
        .placements
        .iter()
        .filter(|placement| placement.template.install_namespace.is_some());
    let giving: Vec<&AddonPlacement> = giving.filter(is_one).collect();
    let mut facts = Facts::default().with_addon(name, addon.clone());
    if addon.only_namespace().is_none() {
        if giving.len() > MOST_PLACEMENTS {
            return None;
        }
        let selected = giving.iter().map(|placement| selected(client.clone(), placement));
        for (placement, clusters) in giving.iter().zip(try_join_all(selected).await.ok()?) {
            let clusters = clusters.iter().map(String::as_str);
            facts = facts.with_placement(&placement.namespace, &placement.name, clusters);
        }
    }
    Some(LiveFact::Given(facts.install_namespace(name, cluster).cloned()))
}

/// Returns the clusters that a placement selects.
async fn selected(client: Client, placement: &AddonPlacement) -> Result<Vec<String>, kube::Error> {
    let decisions: Api<Raw> = Api::namespaced_with(client, &placement.namespace, &resource(Kind::Decision));
    let params = ListParams::default().labels(&format!("{}={}", labels::PLACEMENT, placement.name));
    let found = decisions.list(&params).await?;
    let each = found.items.iter().filter_map(|decision| {
        decision
            .object()
            .pointer("/status/decisions")?
            .as_array()
            .cloned()
    });
    let names = each
        .flatten()
        .filter_map(|decision| Some(decision.get("clusterName")?.as_str()?.to_owned()));
    Ok(names.collect())
}

/// What counts of a role are its rules.
async fn role(client: Client, object: &ObjectKey) -> Option<LiveFact> {
    let api: Api<Raw> = if object.kind == Kind::HubRole {
        Api::namespaced_with(client, &object.namespace, &resource(object.kind))
    } else {
        Api::all_with(client, &resource(object.kind))
    };
    match api.get_opt(&object.name).await.ok()? {
        None => Some(LiveFact::Absent),
        Some(found) => RoleFacts::of(&found.object()).ok().map(LiveFact::Role),
    }
}

/// Returns whether a user (`userInfo` of a review) has a right, if the hub says so. An answer that rests on an error of the
/// hub's own is none.
pub async fn is_allowed(client: Client, user: Arc<str>, question: UserRight) -> Option<bool> {
    let user: UserInfo = serde_json::from_str(&user).ok()?;
    if user.username.as_deref().unwrap_or_default().is_empty() {
        return None;
    }
    let address = question.object.kind.address();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            resource_attributes: Some(ResourceAttributes {
                group: Some(address.group.to_owned()),
                resource: Some(address.resource.to_owned()),
                verb: Some(question.verb().to_owned()),
                name: Some(question.object.name.to_string()),
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
