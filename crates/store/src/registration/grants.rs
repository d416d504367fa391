//! Grants: the service accounts, roles and role bindings that the controllers write for agents.
//!
//! Decides which of the watched objects the controllers have created (by their label, or the exact names of the token
//! infrastructure). The others are ignored, so that no object of another program is ever changed.

use k8s_openapi::api::rbac::v1 as rbac;
use serde_json::Value;

use crate::decode::read::{meta, owners, parse, shared};
use crate::kind::{Kind, ObjectKey};
use crate::meaning::{Digest, canonical};
use crate::names::Names;
use crate::record::{Meta, OwnerReference};
use crate::registration::{agent_groups, agent_user, cluster_groups};
use crate::terms;
use api::names::labels;
use model::Name;

/// What a grant is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A permission of a template.
    Permission,
    /// The token infrastructure.
    Token,
}

/// A service account, role or role binding that the controllers have created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// AgentIdentity and revision.
    pub meta: Meta,
    /// The cluster whose agent it is for.
    pub cluster: Name,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether it has all labels that the controllers set.
    pub labelled: bool,
    /// Its owners.
    pub owners: Vec<OwnerReference>,
    /// What it says.
    pub content: GrantContent,
}

/// What a grant says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantContent {
    /// A service account says nothing.
    Account,
    /// A role, by the digest of its rules.
    Role(Digest),
    /// A role binding.
    Binding {
        /// `Role` or `ClusterRole`.
        kind: Name,
        /// The role's name.
        role: Name,
        /// Who has the role.
        holders: Holders,
    },
}

/// Who has a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holders {
    /// The add-on's agent on one cluster: its user, and the add-on's group there.
    Agent,
    /// The same, and the add-on's group of all clusters.
    AgentsOfAll,
    /// The cluster's own agent.
    Cluster,
    /// Other subjects: kind and name of each, in order.
    Stated(Vec<(Name, Name)>),
}

/// Returns the name of the service account of the token infrastructure.
pub fn token_account(addon: &str) -> String {
    format!("{addon}-agent")
}

/// Returns the name of the role and the role binding of the token infrastructure.
pub fn token_role(addon: &str) -> String {
    format!("{addon}-token-role")
}

/// Decodes a grant with its add-on; `None` when the controllers have not created the object.
pub(crate) fn grant(
    key: &ObjectKey,
    object: &Value,
    names: &mut Names,
) -> Result<Option<(Name, Grant)>, String> {
    let metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta =
        parse(object.get("metadata").unwrap_or(&Value::Null))?;
    let label = |key: &str| metadata.labels.as_ref().and_then(|labels| labels.get(key));
    let addon = shared(label(labels::TOKEN_ADDON_NAME), names);
    if addon.is_empty() {
        return Ok(None);
    }
    let is_token = label(labels::TOKEN_INFRASTRUCTURE).is_some_and(|value| value == "true")
        && *key.name == *token_name(key.kind, &addon);
    let (purpose, cluster, labelled) = if is_token {
        (Purpose::Token, key.namespace.clone(), true)
    } else if key.kind == Kind::RoleBinding && label(terms::PERMISSION).is_some() {
        let labelled = label(labels::ADDON_NAME).is_some_and(|value| *value == *addon)
            && label(labels::ADDON_TEMPLATE_NAME).is_some();
        (
            Purpose::Permission,
            shared(label(terms::CLUSTER_NAME), names),
            labelled,
        )
    } else {
        return Ok(None);
    };
    let content = if key.kind == Kind::Role {
        GrantContent::Role(rules_digest(object.get("rules").unwrap_or(&Value::Null)))
    } else if key.kind == Kind::RoleBinding {
        binding(&parse(object)?, &cluster, &addon, names)
    } else {
        GrantContent::Account
    };
    let grant = Grant {
        meta: meta(&metadata)?,
        cluster,
        purpose,
        labelled,
        owners: owners(metadata.owner_references.as_ref(), names),
        content,
    };
    Ok(Some((addon, grant)))
}

fn token_name(kind: Kind, addon: &str) -> String {
    if kind == Kind::ServiceAccount {
        token_account(addon)
    } else {
        token_role(addon)
    }
}

/// Returns the digest of a role's rules.
pub fn rules_digest(rules: &Value) -> Digest {
    Digest::of_text(&canonical(rules))
}

fn binding(binding: &rbac::RoleBinding, cluster: &str, addon: &str, names: &mut Names) -> GrantContent {
    let holders: Vec<(Name, Name)> = binding
        .subjects
        .iter()
        .flatten()
        .map(|subject| {
            let name = match subject.namespace.as_deref() {
                Some(namespace) if !namespace.is_empty() => format!("{namespace}/{}", subject.name),
                Some(_) | None => subject.name.clone(),
            };
            (names.share(&subject.kind), Name::from(name))
        })
        .collect();
    GrantContent::Binding {
        kind: names.share(&binding.role_ref.kind),
        role: names.share(&binding.role_ref.name),
        holders: holders_of(holders, cluster, addon),
    }
}

fn holders_of(holders: Vec<(Name, Name)>, cluster: &str, addon: &str) -> Holders {
    let is = |expected: &[(&str, String)]| {
        holders.len() == expected.len()
            && holders
                .iter()
                .zip(expected)
                .all(|((kind, name), (expected_kind, expected_name))| {
                    **kind == **expected_kind && **name == **expected_name
                })
    };
    let (user, [own, all]) = (agent_user(cluster, addon), agent_groups(cluster, addon));
    if is(&[("User", user.clone()), ("Group", own.clone())]) {
        return Holders::Agent;
    }
    if is(&[("User", user), ("Group", own), ("Group", all)]) {
        return Holders::AgentsOfAll;
    }
    if is(&cluster_groups(cluster).map(|group| ("Group", group))) {
        return Holders::Cluster;
    }
    Holders::Stated(holders)
}
