//! What registration may write: grants of the add-on, and answers to its own requests.
//!
//! Decides nothing and repairs nothing.

use serde_json::Value;

use plan::Action;
use plan::CertificateDecision;
use store::{
    AgentGroups, GrantContent, Kind, Name, ObjectKey, Purpose, Request, Stage, Unbindable, View,
    agent_groups, agent_user, agent_user_prefix, cluster_groups, terms, token_account, token_role,
};

/// The token infrastructure is for every add-on: its objects, and one condition.
pub(super) fn serves_all_users(action: &Action) -> bool {
    match action {
        Action::Create { object, .. } | Action::Replace { object, .. } | Action::Delete { object, .. } => {
            object.kind.is_for_registration()
        }
        Action::Status { object, patch, .. } => {
            let patch = patch.value();
            let status = patch.get("status").and_then(Value::as_object);
            object.kind == Kind::Instance
                && status.is_some_and(|fields| fields.keys().all(|field| field == "conditions"))
        }
        Action::Certify { .. } => false,
    }
}

/// A grant carries the add-on's label when it is made, and is one of the add-on's when it is changed or deleted.
pub(super) fn granted(view: &View<'_>, object: &ObjectKey, body: Option<&Value>) -> Option<&'static str> {
    if object.kind == Kind::SigningRequest {
        return Some("requests are only answered");
    }
    let Some(body) = body else {
        return view.grant(object).is_none().then_some("the grant is not ours");
    };
    if let Some(why) = bound(view, object, body) {
        return Some(why);
    }
    let label = body
        .pointer("/metadata/labels")
        .and_then(|labels| labels.get(terms::TOKEN_ADDON_NAME));
    if label.and_then(Value::as_str) != Some(&*view.addon.name) {
        return Some("the label with the add-on is absent");
    }
    let owners = body
        .pointer("/metadata/ownerReferences/0/uid")
        .and_then(Value::as_str);
    let instance = view.instance(&object.namespace);
    let is_owners = |uid: &str| instance.is_some_and(|instance| *instance.meta.uid == *uid);
    (!owners.is_none_or(is_owners)).then_some("the instance does not own it")
}

/// A role binding names the agent of one cluster and no other subject; `written` is what of the binding is written.
pub(super) fn held(view: &View<'_>, object: &ObjectKey, written: &Value) -> Option<&'static str> {
    let subjects = written.get("subjects").and_then(Value::as_array)?;
    let addon = &*view.addon.name;
    let stored = view.grant(object);
    let labelled = written.pointer("/metadata/labels");
    let cluster = labelled
        .and_then(|labels| labels.get(terms::CLUSTER_NAME)?.as_str())
        .or_else(|| stored.map(|grant| &*grant.cluster));
    let is_token = *object.name == *token_role(addon)
        && stored.is_none_or(|grant| grant.purpose == Purpose::Token)
        && labelled.is_none_or(|labels| labels.get(terms::PERMISSION).is_none());
    let cluster = if is_token { &object.namespace } else { cluster? };
    let allowed: Vec<(&str, String)> = if is_token {
        cluster_groups(cluster).map(|group| ("Group", group)).into()
    } else {
        let [own, all] = agent_groups(cluster, addon);
        let account = format!("system:serviceaccount:{cluster}:{}", token_account(addon));
        let mut allowed = vec![
            ("User", agent_user(cluster, addon)),
            ("User", account),
            ("Group", own),
        ];
        if view.settings().agent_groups == AgentGroups::Stock {
            allowed.push(("Group", all));
        }
        allowed
    };
    let is_allowed = |one: &Value| {
        let (kind, name) = (one["kind"].as_str(), one["name"].as_str());
        let mut allowed = allowed.iter();
        allowed.any(|(of, who)| Some(*of) == kind && Some(who.as_str()) == name)
    };
    (!subjects.iter().all(is_allowed)).then_some("a subject other than the agent gets the role")
}

/// A client of the hub is the agent itself; what a signer of the add-on's own signs names no user and no group that the hub
/// knows, the agent's own names aside.
fn misnamed(view: &View<'_>, request: &Request) -> Option<&'static str> {
    let (cluster, addon) = (&*request.cluster, &*view.addon.name);
    let Some(Ok(asked)) = &request.asked else {
        return Some("it is not known what the request asks for");
    };
    let is_hubs = |name: &String| name.starts_with("system:") || name.starts_with("kubeadm:");
    if *request.signer == *store::KUBE_CLIENT_SIGNER {
        let mut groups = asked.groups.clone();
        groups.remove("system:authenticated");
        let is_agent = asked.users == [agent_user(cluster, addon)]
            && groups
                .iter()
                .eq(&std::collections::BTreeSet::from(agent_groups(cluster, addon)));
        return (!is_agent).then_some("the request is not for the agent's own name");
    }
    if request.signer.starts_with("kubernetes.io/") {
        return Some("the signer is Kubernetes' own");
    }
    let own = agent_user_prefix(cluster, addon);
    let mut users = asked.users.iter().filter(|user| !user.starts_with(&own));
    (users.any(is_hubs) || asked.groups.iter().any(is_hubs))
        .then_some("the hub would believe the certificate")
}

/// A binding gives the role of the token infrastructure, or one that agents may have. Nothing else is ever given.
fn bound(view: &View<'_>, object: &ObjectKey, body: &Value) -> Option<&'static str> {
    if object.kind != Kind::RoleBinding {
        return (!view.is_clusters_own(&object.namespace)).then_some("it is in no namespace of a cluster");
    }
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let label = |key: &str| {
        body.pointer("/metadata/labels")
            .and_then(|labels| labels.get(key)?.as_str())
    };
    let (kind, role) = (text("/roleRef/kind"), Name::from(text("/roleRef/name")));
    if label(terms::PERMISSION).is_none() {
        let own = kind == "Role" && *role == *token_role(&view.addon.name) && role == object.name;
        let here = view.is_clusters_own(&object.namespace);
        return (!own || !here).then_some("it gives a role that is none of the token infrastructure");
    }
    let cluster = Name::from(label(terms::CLUSTER_NAME).unwrap_or_default());
    let unbindable = view.unbindable(&cluster, &object.namespace, kind, &role);
    (!view.is_clusters_own(&cluster) || unbindable.is_some())
        .then_some("it gives a role that agents may not have")
}

/// What is changed about a binding must not make it one of a role that agents may not have. That fewer hold it is always right.
pub(super) fn changed(view: &View<'_>, object: &ObjectKey, patch: &Value) -> Option<&'static str> {
    if patch.as_object()?.keys().all(|field| field == "subjects") {
        return None;
    }
    let grant = view.grant(object)?;
    let GrantContent::Binding { kind, role, .. } = &grant.content else {
        return None;
    };
    if grant.purpose == Purpose::Token {
        return None;
    }
    match view.unbindable(&grant.cluster, &object.namespace, kind, role) {
        None | Some(Unbindable::Withheld) => None,
        Some(Unbindable::Name | Unbindable::Namespace | Unbindable::Unlabelled | Unbindable::Danger(_)) => {
            Some("it gives a role that agents may not have")
        }
    }
}

/// Only a request of the add-on, and only one that still waits for this answer.
pub(super) fn certified(
    view: &View<'_>,
    object: &ObjectKey,
    answer: &CertificateDecision,
) -> Option<&'static str> {
    let Some(request) = view.requests().find(|request| request.name == object.name) else {
        return Some("the request is not one of the add-on");
    };
    let due = match answer {
        CertificateDecision::Approve(..) => Stage::Pending,
        CertificateDecision::Sign(_) => Stage::Approved,
    };
    if request.stage != due {
        Some("the request waits for another answer")
    } else if view.instance(&request.cluster).is_none() {
        Some("there is no instance")
    } else {
        misnamed(view, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use plan::Plan;
    use serde_json::json;
    use store::{Event, Settings, Store};

    fn store() -> Store {
        let mut store = Store::new(Settings::default());
        let objects = [
            (
                Kind::Cluster,
                json!({"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
            ),
            (
                Kind::Cluster,
                json!({"metadata": {"name": "kube-system"}, "spec": {"hubAcceptsClient": true}}),
            ),
            (Kind::AddOn, json!({"metadata": {"name": "hello"}, "spec": {}})),
            (
                Kind::HubClusterRole,
                json!({"metadata": {"name": "reader", "labels": {(terms::HUB_PERMISSIONS): terms::ALLOWED}}}),
            ),
            (Kind::HubClusterRole, json!({"metadata": {"name": "unlabelled"}})),
        ];
        for (number, (kind, mut object)) in objects.into_iter().enumerate() {
            object["metadata"]["uid"] = json!(format!("uid-{number}"));
            object["metadata"]["resourceVersion"] = json!("1");
            store.apply(Event::Applied { kind, object });
        }
        assert!(store.faults().is_empty(), "{:?}", store.faults());
        store
    }

    /// Returns what is wrong with a plan that creates a binding; `permission` tells it from one of the token infrastructure.
    fn said(
        store: &Store,
        (namespace, name): (&str, &str),
        (kind, role): (&str, &str),
        permission: bool,
    ) -> String {
        let mut labels = json!({(terms::TOKEN_ADDON_NAME): "hello"});
        if permission {
            labels[terms::PERMISSION] = json!("0");
            labels[terms::CLUSTER_NAME] = json!(namespace);
        }
        let create = Action::Create {
            object: ObjectKey::new(Kind::RoleBinding, namespace, name),
            body: json!({"metadata": {"name": name, "namespace": namespace, "labels": labels},
                "roleRef": {"kind": kind, "name": role}})
            .into(),
            why: "a test",
        };
        let plan = Plan {
            actions: vec![create],
            ..Plan::default()
        };
        let view = store.view("hello").expect("the add-on");
        check(&view, &plan, jiff::Timestamp::UNIX_EPOCH).join("; ")
    }

    #[test]
    fn a_plan_that_gives_away_what_agents_may_not_have_is_caught() {
        let store = store();
        let token = "hello-token-role";
        let rows = [
            (("c1", "a"), ("ClusterRole", "reader"), true, true),
            (("c1", "a"), ("ClusterRole", "unlabelled"), true, false),
            (("c1", "a"), ("ClusterRole", "cluster-admin"), true, false),
            (("c1", "a"), ("Role", "reader"), true, false),
            (("kube-system", "a"), ("ClusterRole", "reader"), true, false),
            (("c2", "a"), ("ClusterRole", "reader"), true, false),
            (("c1", token), ("Role", token), false, true),
            (("c1", token), ("ClusterRole", token), false, false),
            (("c1", token), ("Role", "other"), false, false),
            (("kube-system", token), ("Role", token), false, false),
        ];
        for (place, role, permission, expected) in rows {
            let said = said(&store, place, role, permission);
            assert_eq!(said.is_empty(), expected, "{place:?} {role:?}: {said}");
        }
    }
}
