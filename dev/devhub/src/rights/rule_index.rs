//! All roles and bindings at one moment.
//!
//! Decides which rules a user has in a namespace. Aggregated roles are followed by their selectors, so they count at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::rule::Rule;
use super::subject::Subject;
use crate::admission::UserInfo;
use kubernetes::labels::Selector;
use kubernetes::print::quote;

/// Roles and bindings, ready to be asked.
#[derive(Debug, Default)]
pub(super) struct RuleIndex {
    cluster_roles: BTreeMap<String, Vec<Rule>>,
    roles: BTreeMap<(String, String), Vec<Rule>>,
    cluster_bindings: Vec<Binding>,
    bindings: BTreeMap<String, Vec<Binding>>,
}

/// What a binding refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoleRef {
    /// Whether it is a cluster role.
    pub(super) cluster: bool,
    /// Its name.
    pub(super) name: String,
}

#[derive(Debug)]
struct Binding {
    name: String,
    namespace: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// One rule that a user has, and from where.
#[derive(Debug)]
pub(super) struct Grant<'a> {
    pub(super) rule: &'a Rule,
    binding: &'a Binding,
    subject: &'a Subject,
}

impl Grant<'_> {
    /// Says by which binding a user has the rule.
    pub(super) fn reason(&self) -> String {
        let binding = self.binding;
        let (kind, name) = if binding.namespace.is_empty() {
            ("ClusterRoleBinding", binding.name.clone())
        } else {
            ("RoleBinding", format!("{}/{}", binding.name, binding.namespace))
        };
        let role = if binding.role.cluster {
            "ClusterRole"
        } else {
            "Role"
        };
        format!(
            "RBAC: allowed by {kind} {} of {role} {} to {}",
            quote(&name),
            quote(&binding.role.name),
            self.subject.quoted()
        )
    }
}

/// What a user has.
#[derive(Debug, Default)]
pub(super) struct Grants<'a> {
    /// The rules, those of the whole cluster first.
    pub(super) list: Vec<Grant<'a>>,
    /// Roles that bindings name and that are not there.
    pub(super) faults: Vec<String>,
}

/// Stored objects of the four kinds, in order of their names.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) cluster_roles: Vec<Value>,
    pub(super) roles: Vec<Value>,
    pub(super) cluster_bindings: Vec<Value>,
    pub(super) bindings: Vec<Value>,
}

impl RuleIndex {
    /// Reads the stored objects.
    pub(super) fn read(pages: &Pages) -> Self {
        let by_name: BTreeMap<String, &Value> = pages
            .cluster_roles
            .iter()
            .map(|role| (part(role, "/metadata/name"), role))
            .collect();
        let cluster_roles = by_name
            .keys()
            .map(|name| (name.clone(), rules_of(name, &by_name, &mut BTreeSet::new())))
            .collect();
        let roles = pages.roles.iter().map(|role| {
            let key = (part(role, "/metadata/namespace"), part(role, "/metadata/name"));
            (key, own_rules(role))
        });
        let mut bindings: BTreeMap<String, Vec<Binding>> = BTreeMap::new();
        for binding in pages.bindings.iter().map(read_binding) {
            bindings
                .entry(binding.namespace.clone())
                .or_default()
                .push(binding);
        }
        Self {
            cluster_roles,
            roles: roles.collect(),
            cluster_bindings: pages.cluster_bindings.iter().map(read_binding).collect(),
            bindings,
        }
    }

    /// Returns the rules of a role, or that it is not there.
    pub(super) fn rules(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (found, kind) = if role.cluster {
            (self.cluster_roles.get(&role.name), "clusterrole")
        } else {
            let key = (namespace.to_owned(), role.name.clone());
            (self.roles.get(&key), "role")
        };
        let missing = || format!("{kind}.{} {} not found", super::GROUP, quote(&role.name));
        found.map(Vec::as_slice).ok_or_else(missing)
    }

    /// Returns what a user has in a namespace; only what holds everywhere if there is none.
    pub(super) fn grants(&self, user: &UserInfo, namespace: &str) -> Grants<'_> {
        let local = self.bindings.get(namespace).into_iter().flatten();
        let mut grants = Grants::default();
        for binding in self.cluster_bindings.iter().chain(local) {
            let Some(subject) = binding.subjects.iter().find(|subject| subject.is(user)) else {
                continue;
            };
            match self.rules(&binding.role, &binding.namespace) {
                Ok(rules) => grants.list.extend(rules.iter().map(|rule| Grant {
                    rule,
                    binding,
                    subject,
                })),
                Err(fault) => grants.faults.push(fault),
            }
        }
        grants
    }
}

fn part(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn own_rules(role: &Value) -> Vec<Rule> {
    let rules = role.get("rules").and_then(Value::as_array).into_iter().flatten();
    rules.map(Rule::read).collect()
}

/// Returns the rules of a cluster role: its own, or those of the roles that it selects.
fn rules_of(name: &str, all: &BTreeMap<String, &Value>, seen: &mut BTreeSet<String>) -> Vec<Rule> {
    let Some(role) = all.get(name).filter(|_| seen.insert(name.to_owned())) else {
        return Vec::new();
    };
    let Some(selectors) = role
        .pointer("/aggregationRule/clusterRoleSelectors")
        .and_then(Value::as_array)
    else {
        return own_rules(role);
    };
    let mut rules: Vec<Rule> = Vec::new();
    for selector in selectors {
        let Ok(selector) = Selector::from_json(Some(selector)) else {
            continue;
        };
        let meant = all.iter().filter(|(_, other)| selector.matches_object(other));
        for rule in meant.flat_map(|(other, _)| rules_of(other, all, seen)) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    rules
}

fn read_binding(binding: &Value) -> Binding {
    let namespace = part(binding, "/metadata/namespace");
    let subjects = binding
        .get("subjects")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Binding {
        name: part(binding, "/metadata/name"),
        role: RoleRef::read(binding),
        subjects: subjects
            .filter_map(|subject| Subject::read(subject, &namespace))
            .collect(),
        namespace,
    }
}

impl RoleRef {
    /// Reads what a binding refers to.
    pub(super) fn read(binding: &Value) -> Self {
        Self {
            cluster: part(binding, "/roleRef/kind") == "ClusterRole",
            name: part(binding, "/roleRef/name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(name: &str, groups: &[&str]) -> UserInfo {
        UserInfo {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..UserInfo::default()
        }
    }

    fn cluster_role(name: &str, labels: &Value, rest: &Value) -> Value {
        let mut role = rest.clone();
        role["metadata"] = json!({"name": name, "labels": labels});
        role
    }

    fn rule(verb: &str) -> Value {
        json!({"verbs": [verb], "apiGroups": [""], "resources": ["things"]})
    }

    fn verbs(rule_index: &RuleIndex, user: &UserInfo, namespace: &str) -> Vec<String> {
        let grants = rule_index.grants(user, namespace);
        grants
            .list
            .iter()
            .flat_map(|grant| grant.rule.verbs.clone())
            .collect()
    }

    #[test]
    fn aggregated_roles_have_what_they_select_over_any_number_of_steps_and_in_circles() {
        let selects = |label: &str| json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}, "rules": [rule("stale")]});
        let rule_index = RuleIndex::read(&Pages {
            cluster_roles: vec![
                cluster_role("admin", &json!({"to-admin": "true"}), &selects("to-admin")),
                cluster_role("edit", &json!({"to-admin": "true"}), &selects("to-edit")),
                cluster_role(
                    "leaf",
                    &json!({"to-edit": "true"}),
                    &json!({"rules": [rule("get")]}),
                ),
                cluster_role("other", &json!({}), &json!({"rules": [rule("watch")]})),
            ],
            cluster_bindings: vec![json!({
                "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "admin"},
                "subjects": [{"kind": "Group", "name": "ops"}],
            })],
            ..Pages::default()
        });
        assert_eq!(verbs(&rule_index, &user("jane", &["ops"]), ""), ["get"]);
        assert_eq!(verbs(&rule_index, &user("jane", &[]), ""), [""; 0]);
    }

    #[test]
    fn local_bindings_count_in_their_namespace_and_missing_roles_are_reported() {
        let binding = |name: &str, kind: &str, role: &str| {
            json!({"metadata": {"name": name, "namespace": "team"}, "roleRef": {"kind": kind, "name": role},
                   "subjects": [{"kind": "ServiceAccount", "name": "robot"}]})
        };
        let rule_index = RuleIndex::read(&Pages {
            cluster_roles: vec![cluster_role(
                "wide",
                &json!({}),
                &json!({"rules": [rule("list")]}),
            )],
            roles: vec![json!({"metadata": {"name": "own", "namespace": "team"}, "rules": [rule("get")]})],
            bindings: vec![
                binding("a", "Role", "own"),
                binding("b", "ClusterRole", "wide"),
                binding("c", "Role", "gone"),
            ],
            ..Pages::default()
        });
        let robot = user("system:serviceaccount:team:robot", &[]);
        assert_eq!(verbs(&rule_index, &robot, "team"), ["get", "list"]);
        assert_eq!(verbs(&rule_index, &robot, "other"), [""; 0]);
        assert_eq!(
            verbs(
                &rule_index,
                &user("system:serviceaccount:other:robot", &[]),
                "team"
            ),
            [""; 0]
        );
        let grants = rule_index.grants(&robot, "team");
        assert_eq!(
            grants.faults,
            ["role.rbac.authorization.k8s.io \"gone\" not found"]
        );
        assert_eq!(
            grants.list.first().map(Grant::reason).as_deref(),
            Some("RBAC: allowed by RoleBinding \"a/team\" of Role \"own\" to ServiceAccount \"robot/team\"")
        );
    }
}
