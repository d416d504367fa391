//! Token infrastructure: what the cluster's own agent needs to fetch tokens for an add-on's agent.
//!
//! Decides service account, role, role binding and the condition whose text the cluster's agent parses. Serves every
//! add-on, whichever program deploys it.

use serde_json::{Value, json};

use super::grants::{WantedGrant, binding};
use super::identity::TOKEN;
use crate::conditions::Wish;
use api::names::conditions;
use api::reason::Reason;
use store::{
    GrantContent, Holders, Instance, Kind, Name, ObjectKey, Purpose, Status, View, rules_digest,
    token_account, token_role,
};

/// Returns whether the agent shows tokens. The cluster's own agent chooses it, and chooses nothing else: all names are
/// derived.
pub(super) fn is_used(instance: &Instance) -> bool {
    *instance.driver == *TOKEN
}

/// Returns whether the service account of the agent exists and was created by the controllers.
pub(super) fn stands(view: &View<'_>, instance: &Instance) -> bool {
    let found = view.grant(&account(instance));
    found.is_some_and(|grant| grant.purpose == Purpose::Token && !grant.meta.deleting)
}

/// Returns the rules of the role: tokens of this one service account.
pub(super) fn rules(addon: &str) -> Value {
    json!([
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": [token_account(addon)], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["subscribe"]},
    ])
}

/// Returns the objects: the account, then the role that allows tokens of it, then the binding of the role. An account of that name
/// that the controllers have not created must not become the cluster's because its agent has chosen tokens. An API server rejects a
/// binding of a role that does not exist yet.
pub(super) fn wanted<'v>(view: &View<'_>, instance: &'v Instance) -> Vec<WantedGrant<'v>> {
    let [account, role, binding] = all(instance);
    let exists = |one: &WantedGrant<'_>| view.grant(&one.key).is_some();
    let is_role_due = stands(view, instance) || exists(&role);
    let is_role_there = view.grant(&role.key).is_some_and(|grant| !grant.meta.deleting);
    let is_binding_due = (stands(view, instance) && is_role_there) || exists(&binding);
    let role = Some(role).filter(|_| is_role_due);
    let binding = Some(binding).filter(|_| is_binding_due);
    std::iter::once(account).chain(role).chain(binding).collect()
}

fn all(instance: &Instance) -> [WantedGrant<'_>; 3] {
    let Instance { addon, cluster, .. } = instance;
    let role = token_role(addon);
    let one = |key: ObjectKey, content: GrantContent| WantedGrant {
        key,
        instance,
        purpose: Purpose::Token,
        index: 0,
        content,
    };
    let bound = GrantContent::Binding {
        kind: Name::from("Role"),
        role: Name::from(role.as_str()),
        holders: Holders::Cluster,
    };
    [
        one(account(instance), GrantContent::Account),
        one(
            ObjectKey::new(Kind::Role, cluster.clone(), role.as_str()),
            GrantContent::Role(rules_digest(&rules(addon))),
        ),
        one(binding(cluster, role), bound),
    ]
}

fn account(instance: &Instance) -> ObjectKey {
    let name = token_account(&instance.addon);
    ObjectKey::new(Kind::ServiceAccount, instance.cluster.clone(), name)
}

/// Returns the condition; `None` leaves what stands there until the hub shows what was written.
pub(super) fn condition(
    view: &View<'_>,
    instance: &Instance,
    wanted: &[WantedGrant<'_>],
) -> Option<Wish<'static>> {
    let troubles: Vec<&str> = wanted
        .iter()
        .filter_map(|one| view.trouble(&one.key))
        .map(|why| &**why)
        .collect();
    if !troubles.is_empty() {
        return Some(Wish::new(
            conditions::TOKEN_INFRASTRUCTURE_READY,
            Status::False,
            Reason::TokenInfrastructureApplyFailed,
            format!("Failed to apply token infrastructure: {}", troubles.join("; ")),
        ));
    }
    let stands = |one: &WantedGrant<'_>| view.grant(&one.key).is_some_and(|grant| one.stands(grant));
    if !all(instance).iter().all(stands) {
        return None;
    }
    let uid = &view.grant(&account(instance))?.meta.uid;
    let name = token_account(&instance.addon);
    Some(Wish::new(
        conditions::TOKEN_INFRASTRUCTURE_READY,
        Status::True,
        Reason::TokenInfrastructureReady,
        format!("ServiceAccount {}/{name} (UID: {uid}) is ready", instance.cluster),
    ))
}
