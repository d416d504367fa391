//! What the agent of a template add-on may do on the hub.
//!
//! Decides one role binding for each permission. Its name holds the cluster and the index of the permission, so that
//! clusters never share one and two permissions of a kind never meet. A role is bound only if it carries the label for
//! agents, and only where agents may have roles; whatever else is asked for is held, and told.

use super::entitled::Entitled;
use super::grants::{WantedGrant, binding};
use super::token;
use store::{
    AgentGroups, GrantContent, Holders, Instance, Name, ObjectKey, Permission, Purpose, Unbindable, View,
    terms, token_account,
};

/// Why permissions cannot be given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// The agent's subject is not known yet.
    SubjectNotReady,
    /// The template is wrong.
    Faulty(Name),
}

/// The role bindings of an instance.
#[derive(Debug, Default)]
pub(super) struct Bindings<'v> {
    /// Those that should exist.
    pub(super) wanted: Vec<WantedGrant<'v>>,
    /// Why others are not made, in words with the cure.
    pub(super) held: Vec<String>,
}

/// Returns the role bindings of an instance.
pub(super) fn bindings<'v>(
    view: &View<'_>,
    entitled: &Entitled<'_>,
    instance: &'v Instance,
) -> Result<Bindings<'v>, Hindrance> {
    let mut found = Bindings::default();
    for (index, permission) in entitled.permissions().enumerate() {
        let (namespace, kind, role) = match permission {
            Ok(Permission::CurrentCluster(role)) => (&instance.cluster, Name::from("ClusterRole"), role),
            Ok(Permission::SingleNamespace {
                namespace,
                kind,
                name,
            }) => (namespace, kind.clone(), name),
            Ok(Permission::Faulty(why)) => return Err(Hindrance::Faulty(Name::from(*why))),
            Err(why) => return Err(Hindrance::Faulty(why.clone())),
        };
        let key = binding(namespace, name(instance, &kind, index));
        if let Some(why) = view.unbindable(&instance.cluster, namespace, &kind, role) {
            found.held.push(words(why, namespace, &kind, role));
            // It is not known whether the role may be bound: nothing is granted, and nothing removed.
            if why != Unbindable::Withheld || !is_bound(view, &key, &kind, role) {
                continue;
            }
        }
        let holders = holders(view, entitled, instance).ok_or(Hindrance::SubjectNotReady)?;
        found.wanted.push(WantedGrant {
            key,
            instance,
            purpose: Purpose::Permission,
            index,
            content: GrantContent::Binding {
                kind,
                role: role.clone(),
                holders,
            },
        });
    }
    Ok(found)
}

fn is_bound(view: &View<'_>, key: &ObjectKey, kind: &str, role: &Name) -> bool {
    let content = view.grant(key).map(|grant| &grant.content);
    matches!(content, Some(GrantContent::Binding { kind: old, role: bound, .. }) if **old == *kind && bound == role)
}

fn words(why: Unbindable, namespace: &str, kind: &str, role: &Name) -> String {
    let label = || format!("{}: {:?}", terms::HUB_PERMISSIONS, terms::ALLOWED);
    let (why, cure) = match why {
        Unbindable::Name => (
            "roles of the hub itself are not granted to agents".to_owned(),
            "create a separate role for the add-on".to_owned(),
        ),
        Unbindable::Namespace => (
            "agents have roles only in the namespace of their cluster and in that of the add-on".to_owned(),
            "list the namespace in --hub-permission-namespaces".to_owned(),
        ),
        Unbindable::Unlabelled => (
            "the hub has no such role with the label for agents".to_owned(),
            format!("set the label {} on the role", label()),
        ),
        Unbindable::Withheld => (
            "the hub does not show which roles are labelled for agents".to_owned(),
            "allow Tidegate to list and watch roles and clusterroles".to_owned(),
        ),
        Unbindable::Danger(danger) => (
            format!("the role {}", danger.words()),
            "remove these permissions from the role".to_owned(),
        ),
    };
    format!("{kind} {role:?} in namespace {namespace:?} is not bound: {why}; hint: {cure}")
}

fn name(instance: &Instance, kind: &str, index: usize) -> String {
    let Instance { addon, cluster, .. } = instance;
    let kind = kind.to_lowercase();
    format!("open-cluster-management:{addon}:{kind}:agent:{cluster}:{index}")
}

/// Who the agent is: derived from the names of add-on and cluster, never read from a status.
///
/// An agent that shows tokens is the service account of the token infrastructure, as soon as that stands, and without groups:
/// those of a service account hold all others of its namespace.
fn holders(view: &View<'_>, entitled: &Entitled<'_>, instance: &Instance) -> Option<Holders> {
    if !entitled.is_client() {
        return None;
    }
    if token::is_used(instance) {
        let (addon, cluster) = (entitled.addon(), entitled.cluster());
        let account = format!("system:serviceaccount:{cluster}:{}", token_account(addon));
        let user = (Name::from("User"), Name::from(account));
        return token::stands(view, instance).then(|| Holders::Stated(vec![user]));
    }
    match view.settings().agent_groups {
        AgentGroups::Cluster => Some(Holders::Agent),
        AgentGroups::Stock => Some(Holders::AgentsOfAll),
    }
}
