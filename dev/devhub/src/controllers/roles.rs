//! Aggregated ClusterRoles.
//!
//! Their `rules` are those of the roles that they select, in order of names. Authorization does not depend on this: the API server follows
//! the selectors itself.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use kubernetes::labels::Selector;

const MANAGER: &str = "clusterrole-aggregation-controller";

/// Writes the rules of aggregated roles, in a loop.
pub(super) async fn run(client: Client) {
    let api: Api<ClusterRole> = Api::all(client);
    let mut changes = watcher(api.clone(), watcher::Config::default())
        .default_backoff()
        .boxed();
    let mut roles: BTreeMap<String, ClusterRole> = BTreeMap::new();
    let mut complete = false;
    while let Some(change) = changes.next().await {
        match change {
            Ok(Event::Init) => {
                roles.clear();
                complete = false;
            }
            Ok(Event::InitDone) => complete = true,
            Ok(Event::InitApply(role) | Event::Apply(role)) => {
                roles.insert(role.name_any(), role);
            }
            Ok(Event::Delete(role)) => {
                roles.remove(&role.name_any());
            }
            Err(error) => tracing::debug!(%error, "watching cluster roles failed"),
        }
        if complete {
            settle(&api, &roles).await;
        }
    }
}

async fn settle(api: &Api<ClusterRole>, roles: &BTreeMap<String, ClusterRole>) {
    for (name, role) in roles {
        let Some(wanted) = gathered(role, roles) else {
            continue;
        };
        if role.rules.as_deref().unwrap_or_default() == wanted {
            continue;
        }
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        // What is written comes back as a change, and so does what another client wrote in between.
        if let Err(error) = api
            .patch(name, &params, &Patch::Merge(json!({ "rules": wanted })))
            .await
        {
            tracing::debug!(%name, %error, "cannot write the rules of a role");
        }
    }
}

/// Returns the rules that an aggregated role should have.
fn gathered(role: &ClusterRole, roles: &BTreeMap<String, ClusterRole>) -> Option<Vec<PolicyRule>> {
    let selectors = role.aggregation_rule.as_ref()?.cluster_role_selectors.as_ref()?;
    let mut wanted: Vec<PolicyRule> = Vec::new();
    for selector in selectors {
        let selector = serde_json::to_value(selector).ok()?;
        let selector = Selector::from_json(Some(&selector)).ok()?;
        let meant = roles.values().filter(|other| {
            other.name_any() != role.name_any()
                && selector.matches(|label| other.labels().get(label).map(String::as_str))
        });
        for rule in meant.flat_map(|other| other.rules.iter().flatten()) {
            if !wanted.contains(rule) {
                wanted.push(rule.clone());
            }
        }
    }
    Some(wanted)
}
