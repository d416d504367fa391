//! Token infrastructure: what the cluster's own agent needs to fetch tokens for an add-on's agent.
//!
//! Decides service account, role, role binding and the condition whose text the cluster's agent parses. Serves every
//! add-on, whoever deploys it.

use serde_json::{Value, json};

use super::grants::{Wanted, binding};
use super::identity::TOKEN;
use crate::api::names::{conditions, reasons};
use crate::plan::conditions::Wish;
use crate::snapshot::{
    GrantContent, Holders, Instance, Kind, Name, ObjectKey, Purpose, Registered, Status, View, rules_digest,
    token_account, token_role,
};

/// Returns whether the agent shows tokens: only the first registration as a client of the hub counts, and all share one
/// driver.
pub(super) fn is_wanted(registrations: &[Registered], instance: &Instance) -> bool {
    *instance.driver == *TOKEN && registrations.iter().any(Registered::is_kube_client)
}

/// Returns the rules of the role: tokens of this one service account.
pub(super) fn rules(addon: &str) -> Value {
    json!([
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": [token_account(addon)], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["subscribe"]},
    ])
}

/// Returns the three objects.
pub(super) fn wanted(instance: &Instance) -> [Wanted<'_>; 3] {
    let Instance { addon, cluster, .. } = instance;
    let role = token_role(addon);
    let one = |key: ObjectKey, content: GrantContent| Wanted {
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
    wanted: &[Wanted<'_>],
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
            reasons::TOKEN_INFRASTRUCTURE_APPLY_FAILED,
            format!("Failed to apply token infrastructure: {}", troubles.join("; ")),
        ));
    }
    let stands = |one: &Wanted<'_>| view.grant(&one.key).is_some_and(|grant| one.stands(grant));
    if !wanted.iter().all(stands) {
        return None;
    }
    let uid = &view.grant(&account(instance))?.meta.uid;
    let name = token_account(&instance.addon);
    Some(Wish::new(
        conditions::TOKEN_INFRASTRUCTURE_READY,
        Status::True,
        conditions::TOKEN_INFRASTRUCTURE_READY,
        format!("ServiceAccount {}/{name} (UID: {uid}) is ready", instance.cluster),
    ))
}
