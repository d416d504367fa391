//! What of an object the API server of a cluster refuses to change.
//!
//! Decides by kind, for an object applied over an older one of the same name. What has a variable is known only on a cluster.

use crate::field::{Class, Fault, Path, Violation};
use serde_json::Value;

use super::aspect::Effort;

/// The rule that tells it.
const RULE: &str = "manifest/immutable";

/// API version, kind, and the fields that stay as they were, as pointers.
const FIXED: &[(&str, &str, &[&str])] = &[
    ("apps/v1", "DaemonSet", &["/spec/selector"]),
    ("apps/v1", "Deployment", &["/spec/selector"]),
    ("apps/v1", "ReplicaSet", &["/spec/selector"]),
    (
        "apps/v1",
        "StatefulSet",
        &[
            "/spec/selector",
            "/spec/serviceName",
            "/spec/podManagementPolicy",
            "/spec/volumeClaimTemplates",
        ],
    ),
    (
        "batch/v1",
        "Job",
        &["/spec/selector", "/spec/template", "/spec/completionMode"],
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        &["/roleRef"],
    ),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", &["/roleRef"]),
    (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        &["/value", "/preemptionPolicy"],
    ),
    (
        "storage.k8s.io/v1",
        "StorageClass",
        &[
            "/provisioner",
            "/parameters",
            "/reclaimPolicy",
            "/volumeBindingMode",
        ],
    ),
    ("v1", "ConfigMap", &["/immutable"]),
    (
        "v1",
        "PersistentVolumeClaim",
        &[
            "/spec/accessModes",
            "/spec/selector",
            "/spec/storageClassName",
            "/spec/volumeMode",
            "/spec/volumeName",
        ],
    ),
    ("v1", "Secret", &["/type", "/immutable"]),
    ("v1", "Service", &["/spec/clusterIP"]),
];

/// Fields that stay as they were once the object says so.
const SEALED: [&str; 3] = ["/data", "/binaryData", "/stringData"];

/// Returns what would change of an object and cannot. `at` is where the new one stands.
pub fn changed(old: &Value, new: &Value, at: &Path, effort: Effort<'_>) -> Vec<Violation> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut found = Vec::new();
    let (Some(version), Some(kind)) = (text(new, "apiVersion"), text(new, "kind")) else {
        return found;
    };
    let fixed = FIXED.iter().find(|(v, k, _)| *v == version && *k == kind);
    let Some((_, _, pointers)) = fixed else {
        return found;
    };
    let is_sealed = old.get("immutable") == Some(&Value::Bool(true));
    // Of these only the seal itself is fixed, and only once it is there.
    let seals = |pointer: &str| pointer == "/immutable";
    let sealed = SEALED.iter().filter(|_| is_sealed);
    for pointer in pointers.iter().chain(sealed) {
        let (before, after) = (old.pointer(pointer), new.pointer(pointer));
        if !effort(size(before).saturating_add(size(after))) {
            return found;
        }
        if before == after || (seals(pointer) && !is_sealed) {
            continue;
        }
        // What the manifest leaves out is filled in by the cluster with what was there.
        let is_left_out = after.is_none() && !SEALED.contains(pointer) && !seals(pointer);
        if is_left_out || before.is_none() || has_variable(before) || has_variable(after) {
            continue;
        }
        let place = pointer
            .split('/')
            .skip(1)
            .fold(at.clone(), |at, step| at.key(step.to_owned()));
        let fault = Fault::bare(
            Class::Forbidden,
            format!("clusters that have this {kind} reject the change"),
        );
        found.push(
            fault
                .hint("give the object another name, so that the old one is deleted")
                .at(place, RULE),
        );
    }
    found
}

fn size(value: Option<&Value>) -> usize {
    match value {
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| size(Some(item)))
            .sum::<usize>()
            .saturating_add(1),
        Some(Value::Object(fields)) => fields
            .values()
            .map(|field| size(Some(field)))
            .sum::<usize>()
            .saturating_add(1),
        Some(Value::String(text)) => (text.len() / 64).saturating_add(1),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_)) => 1,
    }
}

fn has_variable(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => text.contains("{{"),
        Some(Value::Array(items)) => items.iter().any(|item| has_variable(Some(item))),
        Some(Value::Object(fields)) => fields.values().any(|field| has_variable(Some(field))),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(old: &Value, new: &Value) -> Vec<String> {
        let found = changed(old, new, &Path::root(), &|_| true);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_immutable_changes_are_reported() {
        let deployment = |app: &str, replicas: u8| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}}})
        };
        assert_eq!(
            told(&deployment("a", 1), &deployment("a", 2)),
            Vec::<String>::new()
        );
        assert_eq!(
            told(&deployment("a", 1), &deployment("{{A}}", 1)),
            Vec::<String>::new()
        );
        assert_eq!(
            told(&deployment("a", 1), &deployment("b", 1)),
            [
                "spec.selector: Forbidden: clusters that have this Deployment reject the change; hint: give the object another name, so that the old one is deleted [manifest/immutable]"
            ]
        );
    }

    #[test]
    fn a_sealed_map_keeps_what_it_says() {
        let map = |sealed: bool, text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "immutable": sealed, "data": {"a": text}});
        assert_eq!(told(&map(false, "x"), &map(true, "y")), Vec::<String>::new());
        assert_eq!(told(&map(true, "x"), &map(true, "y")).len(), 1);
        assert_eq!(told(&map(true, "x"), &map(false, "x")).len(), 1);
    }
}
