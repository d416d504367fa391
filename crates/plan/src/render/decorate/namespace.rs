//! Moving manifests to the install namespace that a deployment configuration names.
//!
//! Decides what follows: the namespace of an object that names one, service accounts that are bound to roles, and a
//! `Namespace` itself. Users and groups live in no namespace and stay as they are.

use serde_json::Value;

use crate::render::object::text;

/// Moves a manifest to a namespace.
pub(in crate::render) fn move_to(manifest: &mut Value, namespace: &str) {
    if let Some(own) = manifest.pointer_mut("/metadata/namespace") {
        *own = Value::from(namespace);
    }
    match text(manifest, "/kind") {
        "Namespace" => {
            if let Some(name) = manifest.pointer_mut("/metadata/name") {
                *name = Value::from(namespace);
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let subjects = manifest.get_mut("subjects").and_then(Value::as_array_mut);
            let accounts = subjects.into_iter().flatten();
            for subject in accounts.filter(|subject| text(subject, "/kind") == "ServiceAccount") {
                if let Some(fields) = subject.as_object_mut() {
                    fields.insert("namespace".to_owned(), Value::from(namespace));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_that_lives_in_a_namespace_moves() {
        let account =
            |namespace: &str| json!({"kind": "ServiceAccount", "name": "s", "namespace": namespace});
        let (user, group) = (
            json!({"kind": "User", "name": "u"}),
            json!({"kind": "Group", "name": "g"}),
        );
        let rows = [
            (
                json!({"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "old"}}),
                json!({"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "new"}}),
            ),
            (
                json!({"kind": "ClusterRole", "metadata": {"name": "x"}}),
                json!({"kind": "ClusterRole", "metadata": {"name": "x"}}),
            ),
            (
                json!({"kind": "Namespace", "metadata": {"name": "old"}}),
                json!({"kind": "Namespace", "metadata": {"name": "new"}}),
            ),
            (
                json!({"kind": "ClusterRoleBinding", "metadata": {"name": "x"},
                    "subjects": [account("old"), user, group, {"kind": "ServiceAccount", "name": "s"}]}),
                json!({"kind": "ClusterRoleBinding", "metadata": {"name": "x"},
                    "subjects": [account("new"), user, group, account("new")]}),
            ),
            (
                json!({"kind": "RoleBinding", "metadata": {"name": "x", "namespace": "old"}}),
                json!({"kind": "RoleBinding", "metadata": {"name": "x", "namespace": "new"}}),
            ),
        ];
        for (mut manifest, expected) in rows {
            move_to(&mut manifest, "new");
            assert_eq!(manifest, expected);
        }
    }
}
