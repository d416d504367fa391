//! Users give no more rights than they have.
//!
//! Decides whether a user may write a role or a binding: the user has all its rules, or the verb `escalate` or `bind`.

use serde_json::Value;

use super::GROUP;
use super::authority::{Rights, is_master};
use super::question::{About, Question, ResourceAttributes};
use super::rule::{Rule, joined, quoted_list};
use super::rule_index::RoleRef;
use crate::admission::UserInfo;
use crate::error::ApiError;
use crate::resource::Resource;
use kubernetes::print::quote;

const AGGREGATION: &str = "must have cluster-admin privileges to use the aggregationRule";

/// A write of a role or a binding.
#[derive(Debug)]
struct Write<'a> {
    rights: &'a Rights,
    user: &'a UserInfo,
    resource: &'a Resource,
    namespace: &'a str,
    name: &'a str,
}

/// Refuses a role or a binding that gives more than its writer has. Other kinds pass.
pub(crate) fn check_write(
    rights: &Rights,
    user: &UserInfo,
    (resource, namespace): (&Resource, &str),
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let lenient = rights.mode() == super::Authz::Allow || is_master(user);
    if resource.group != GROUP || lenient || old.is_some_and(|old| same_rights(old, object)) {
        return Ok(());
    }
    let write = Write {
        rights,
        user,
        resource,
        namespace,
        name: object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default(),
    };
    if resource.plural.ends_with("bindings") {
        write.check_binding(object)
    } else {
        write.check_role(object, old)
    }
}

/// Finalizers, owner references, managed fields and the resource version give no rights.
fn same_rights(old: &Value, new: &Value) -> bool {
    let relevant = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            let ignored = [
                "finalizers",
                "ownerReferences",
                "managedFields",
                "resourceVersion",
            ];
            metadata.retain(|member, _| !ignored.contains(&member.as_str()));
        }
        object
    };
    relevant(old) == relevant(new)
}

impl Write<'_> {
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let question = Question {
            verb: verb.to_owned(),
            about: About::Resource(ResourceAttributes {
                group: GROUP.to_owned(),
                resource: resource.to_owned(),
                subresource: String::new(),
                namespace: self.namespace.to_owned(),
                name: name.to_owned(),
            }),
        };
        self.rights.decide(self.user, &question).allowed
    }

    fn check_role(&self, role: &Value, old: Option<&Value>) -> Result<(), ApiError> {
        if self.may("escalate", &self.resource.plural, self.name) {
            return Ok(());
        }
        let rules: Vec<Rule> = role
            .get("rules")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(Rule::read)
            .collect();
        self.has_all(&rules).map_err(|missing| self.refusal(&missing))?;
        let aggregates = |role: &Value| {
            role.get("aggregationRule")
                .is_some_and(|aggregation| !aggregation.is_null())
        };
        if (aggregates(role) || old.is_some_and(aggregates)) && self.has_all(&Rule::everything()).is_err() {
            return Err(self.refusal(AGGREGATION));
        }
        Ok(())
    }

    fn check_binding(&self, binding: &Value) -> Result<(), ApiError> {
        let role = RoleRef::read(binding);
        let plural = if role.cluster { "clusterroles" } else { "roles" };
        if self.may("bind", plural, &role.name) {
            return Ok(());
        }
        let rule_index = self.rights.rule_index();
        let rules = rule_index.rules(&role, self.namespace).map_err(|missing| {
            let kind = if role.cluster { "clusterrole" } else { "role" };
            let details = serde_json::json!({ "name": role.name, "group": GROUP, "kind": kind });
            ApiError::new(404, "NotFound", missing).with_details(details)
        })?;
        self.has_all(rules).map_err(|missing| self.refusal(&missing))
    }

    /// Tells what a user lacks of the given rules.
    fn has_all(&self, rules: &[Rule]) -> Result<(), String> {
        let (own, fault) = self.rights.rules(self.user, self.namespace);
        let missing: Vec<Rule> = rules
            .iter()
            .flat_map(Rule::pieces)
            .filter(|piece| !own.iter().any(|rule| rule.covers(piece)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut lines: Vec<String> = joined(missing).iter().map(Rule::quoted).collect();
        lines.sort();
        lines.dedup();
        let unread = fault
            .map(|fault| format!("; resolution errors: [{fault}]"))
            .unwrap_or_default();
        Err(format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}{unread}",
            quote(&self.user.name),
            quoted_list(&self.user.groups),
            lines.join("\n"),
        ))
    }

    fn refusal(&self, cause: &str) -> ApiError {
        let message = format!(
            "{} {} is forbidden: {cause}",
            self.resource.group_resource(),
            quote(self.name)
        );
        let details = serde_json::json!({ "name": self.name, "group": GROUP, "kind": self.resource.plural });
        ApiError::new(403, "Forbidden", message).with_details(details)
    }
}
