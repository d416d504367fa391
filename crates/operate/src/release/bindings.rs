//! Role bindings that users made for the service account of OCM's add-on manager, copied for Tidegate's.
//!
//! Decides which bindings name the one account, and what the same for the other looks like. A copy gives the role of the original and
//! nothing else, in the same namespace. Never writes.

use serde_json::{Value, json};

/// A service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Account {
    fn is_subject(&self, subject: &Value, within: &str) -> bool {
        let text = |name: &str| subject.get(name).and_then(Value::as_str);
        let user = format!("system:serviceaccount:{}:{}", self.namespace, self.name);
        match text("kind") {
            Some("ServiceAccount") => {
                text("name") == Some(&self.name) && text("namespace").unwrap_or(within) == self.namespace
            }
            Some("User") => text("name") == Some(&user),
            Some(_) | None => false,
        }
    }

    fn is_bound_by(&self, binding: &Value) -> bool {
        let within = text(binding, "/metadata/namespace");
        let subjects = binding.get("subjects").and_then(Value::as_array);
        let mut subjects = subjects.into_iter().flatten();
        subjects.any(|subject| self.is_subject(subject, within))
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a copy for `to` of every binding that names `from`, those left out by which `to` has the same role already.
pub fn copies(bindings: &[Value], from: &Account, to: &Account) -> Vec<Value> {
    let role = |binding: &Value| binding.get("roleRef").cloned().unwrap_or_default();
    let place = |binding: &Value| text(binding, "/metadata/namespace").to_owned();
    let has = |original: &Value| {
        let mut all = bindings.iter();
        all.any(|one| place(one) == place(original) && role(one) == role(original) && to.is_bound_by(one))
    };
    let originals = bindings.iter().filter(|one| from.is_bound_by(one) && !has(one));
    originals.map(|original| copy(original, to)).collect()
}

fn copy(original: &Value, to: &Account) -> Value {
    let name = format!("{}-tidegate", text(original, "/metadata/name"));
    let namespace = text(original, "/metadata/namespace");
    let metadata = if namespace.is_empty() {
        json!({"name": name})
    } else {
        json!({"name": name, "namespace": namespace})
    };
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" },
        "metadata": metadata,
        "roleRef": original.get("roleRef").cloned().unwrap_or_default(),
        "subjects": [{"kind": "ServiceAccount", "namespace": to.namespace, "name": to.name}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(namespace: &str, name: &str) -> Account {
        Account {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn binding(name: &str, namespace: Option<&str>, role: &str, subject: &Value) -> Value {
        let mut metadata = json!({"name": name});
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        json!({"metadata": metadata, "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [subject]})
    }

    #[test]
    fn what_names_the_one_account_is_copied_for_the_other_once() {
        let (from, to) = (account("hub", "manager"), account("tidegate", "controllers"));
        let manager = json!({"kind": "ServiceAccount", "namespace": "hub", "name": "manager"});
        let user = json!({"kind": "User", "name": "system:serviceaccount:hub:manager"});
        let here = json!({"kind": "ServiceAccount", "name": "manager"});
        let ours = json!({"kind": "ServiceAccount", "namespace": "tidegate", "name": "controllers"});
        let bindings = [
            binding("a", None, "reader", &manager),
            binding("b", Some("c1"), "reader", &user),
            // Without a namespace the account is of the binding's own.
            binding("c", Some("c1"), "writer", &here),
            binding("d", Some("hub"), "writer", &here),
            binding("e", Some("c2"), "reader", &manager),
            binding("f", Some("c2"), "reader", &ours),
            binding(
                "g",
                Some("c2"),
                "reader",
                &json!({"kind": "Group", "name": "manager"}),
            ),
        ];
        let made = copies(&bindings, &from, &to);
        let told: Vec<String> = made
            .iter()
            .map(|one| {
                format!(
                    "{} {}/{}",
                    text(one, "/kind"),
                    text(one, "/metadata/namespace"),
                    text(one, "/metadata/name")
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "ClusterRoleBinding /a-tidegate",
                "RoleBinding c1/b-tidegate",
                "RoleBinding hub/d-tidegate"
            ]
        );
        assert!(made.iter().all(|one| one["subjects"] == json!([ours])));
    }
}
