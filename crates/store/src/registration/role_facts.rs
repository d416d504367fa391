//! Roles that agents may have: those that carry the label made for it, and what they would give away.
//!
//! Decides which rules are too much for an agent, whatever label the role has. Never decides who gets a role.

use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey};
use crate::record::Meta;
use crate::terms;
use model::Name;

/// A role that may be one for agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleRecord {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// What counts of it.
    pub(crate) says: RoleFacts,
}

/// What counts of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleFacts {
    /// Whether it is labelled as one for agents.
    pub allowed: bool,
    /// Why it is none, whatever its label says.
    pub danger: Option<Danger>,
}

/// What no agent may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    /// A star among groups, resources or verbs.
    Star,
    /// `escalate`, `bind` or `impersonate`.
    Escalates,
    /// Tokens of service accounts.
    Tokens,
    /// Secrets that it does not name.
    Secrets,
    /// Roles and role bindings.
    Roles,
    /// Programs, which run with any service account of the namespace.
    Programs,
}

impl Danger {
    /// Returns what the role does, as the end of a sentence that begins with it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Star => "allows all verbs, resources or API groups (\"*\")",
            Self::Escalates => "allows the verbs escalate, bind or impersonate",
            Self::Tokens => "allows creating tokens of service accounts",
            Self::Secrets => {
                "allows writing Secrets, or reading Secrets without naming them in resourceNames"
            }
            Self::Roles => "allows writing Roles or RoleBindings",
            Self::Programs => "allows running programs on the hub",
        }
    }
}

/// Why an agent is not given a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unbindable {
    /// Roles of this name are never given away.
    Name,
    /// Roles are not given away in this namespace.
    Namespace,
    /// The role is not labelled, or there is no such role.
    Unlabelled,
    /// The hub does not show which roles are labelled.
    Withheld,
    /// It would give too much away.
    Danger(Danger),
}

impl RoleFacts {
    /// Reads a role.
    pub fn of(object: &Value) -> Result<Self, String> {
        let label = object
            .pointer("/metadata/labels")
            .and_then(|labels| labels.get(terms::HUB_PERMISSIONS));
        let rules: Option<Vec<PolicyRule>> = parse(object.get("rules").unwrap_or(&Value::Null))?;
        Ok(Self {
            allowed: label.and_then(Value::as_str) == Some(terms::ALLOWED),
            danger: rules.iter().flatten().find_map(danger),
        })
    }
}

const WORKLOADS: [&str; 11] = [
    "cronjobs",
    "daemonsets",
    "deployments",
    "jobs",
    "pods",
    "pods/attach",
    "pods/ephemeralcontainers",
    "pods/exec",
    "replicasets",
    "replicationcontrollers",
    "statefulsets",
];
/// Ways into programs that run: an agent that has them needs no right to write.
const WEBHOOKS: [&str; 6] = [
    "nodes/proxy",
    "pods/attach",
    "pods/exec",
    "pods/portforward",
    "pods/proxy",
    "services/proxy",
];
const ROLES: [&str; 4] = ["clusterrolebindings", "clusterroles", "rolebindings", "roles"];

/// A resource in whatever group: what is called like one of Kubernetes' own is taken for it.
fn danger(rule: &PolicyRule) -> Option<Danger> {
    let lists = [&rule.api_groups, &rule.resources];
    let mut words = lists.into_iter().flatten().flatten().chain(&rule.verbs);
    if words.any(|word| word.contains('*')) {
        return Some(Danger::Star);
    }
    let verb = |wanted: &[&str]| rule.verbs.iter().any(|verb| wanted.contains(&verb.as_str()));
    let resource = |wanted: &[&str]| {
        let mut all = rule.resources.iter().flatten();
        all.any(|resource| wanted.contains(&resource.as_str()))
    };
    let writes = rule
        .verbs
        .iter()
        .any(|verb| !["get", "list", "watch"].contains(&verb.as_str()));
    // An empty name is that of requests without a name, such as a list: Kubernetes lets them pass.
    let mut named = rule.resource_names.iter().flatten().peekable();
    let names = named.peek().is_some() && named.all(|name| !name.is_empty());
    if verb(&["escalate", "bind", "impersonate"]) {
        Some(Danger::Escalates)
    } else if resource(&["serviceaccounts/token"]) {
        Some(Danger::Tokens)
    } else if resource(&["secrets"]) && (writes || verb(&["get", "list", "watch"]) && !names) {
        // A secret that is written may ask for the token of an account, and hold it a moment later.
        Some(Danger::Secrets)
    } else if resource(&ROLES) && writes {
        Some(Danger::Roles)
    } else if resource(&WORKLOADS) && writes || resource(&WEBHOOKS) {
        Some(Danger::Programs)
    } else {
        None
    }
}

/// Decodes a role.
pub(crate) fn hub_role(object: &Value) -> Result<RoleRecord, String> {
    let metadata: ObjectMeta = parse(object.get("metadata").unwrap_or(&Value::Null))?;
    Ok(RoleRecord {
        meta: meta(&metadata)?,
        says: RoleFacts::of(object)?,
    })
}

/// Returns the key of a role as `roleRef` names it; nothing for what is neither kind of role.
pub fn role_key(kind: &str, namespace: &Name, role: &Name) -> Option<ObjectKey> {
    match kind {
        "ClusterRole" => Some(ObjectKey::new(Kind::HubClusterRole, "", role.clone())),
        "Role" => Some(ObjectKey::new(Kind::HubRole, namespace.clone(), role.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn role(labels: &Value, rules: &Value) -> RoleFacts {
        let object = json!({"metadata": {"labels": labels}, "rules": rules});
        RoleFacts::of(&object).expect("a role")
    }

    #[test]
    fn only_the_label_with_its_value_allows() {
        for (labels, expected) in [
            (json!({"tidegate.io/hub-permissions": "allowed"}), true),
            (json!({"tidegate.io/hub-permissions": "true"}), false),
            (json!({"tidegate.io/hub-permissions": ""}), false),
            (json!(null), false),
        ] {
            assert_eq!(role(&labels, &json!([])).allowed, expected, "{labels}");
        }
    }

    #[test]
    fn rights_that_no_agent_may_have_are_distinguished_from_others() {
        let rule = |resource: &str, verbs: &[&str], names: &[&str]| json!({"apiGroups": [""], "resources": [resource], "verbs": verbs, "resourceNames": names});
        let rows = [
            (rule("*", &["get"], &[]), Some(Danger::Star)),
            (rule("secrets", &["list"], &[""]), Some(Danger::Secrets)),
            (
                rule("secrets", &["get", "watch"], &["one", ""]),
                Some(Danger::Secrets),
            ),
            (rule("pods/*", &["get"], &[]), Some(Danger::Star)),
            (rule("configmaps", &["*"], &["one"]), Some(Danger::Star)),
            (rule("clusterroles", &["bind"], &["x"]), Some(Danger::Escalates)),
            (rule("users", &["impersonate"], &[]), Some(Danger::Escalates)),
            (
                rule("serviceaccounts/token", &["create"], &["x"]),
                Some(Danger::Tokens),
            ),
            (rule("secrets", &["list"], &[]), Some(Danger::Secrets)),
            (rule("secrets", &["get"], &["mine"]), None),
            (rule("rolebindings", &["create"], &[]), Some(Danger::Roles)),
            (rule("rolebindings", &["get"], &[]), None),
            (rule("jobs", &["create"], &[]), Some(Danger::Programs)),
            (rule("pods/exec", &["get"], &[]), Some(Danger::Programs)),
            (rule("pods", &["get", "list"], &[]), None),
            (rule("configmaps", &["get", "update"], &[]), None),
        ];
        for (rule, expected) in rows {
            let rules = json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}, rule]);
            assert_eq!(role(&json!({}), &rules).danger, expected, "{rule}");
        }
    }
}
