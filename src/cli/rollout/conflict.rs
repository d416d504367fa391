//! Whose fields a verb would write.
//!
//! Decides whose values are written over without being asked: those of people's own tools. What a program applies it would put back.

use kube::core::response::StatusCause;
use serde_json::Value;

/// Field managers of people: what they wrote by hand, they change by hand.
const OF_PEOPLE: [&str; 2] = ["kubectl", "tidegate-rollout"];

/// Returns whether a field manager is a tool by which people write.
pub(super) fn is_by_hand(manager: &str) -> bool {
    OF_PEOPLE.iter().any(|tool| manager.starts_with(tool))
}

/// Returns the field managers that an API server names in a conflict: `conflict with "kubectl-annotate" using v1`; none if it is one of
/// revisions.
pub(super) fn managers(causes: &[StatusCause]) -> Vec<String> {
    let mut all: Vec<String> = causes
        .iter()
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| {
            cause
                .message
                .split('"')
                .nth(1)
                .unwrap_or(&cause.message)
                .to_owned()
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the other field managers that own anything of the spec of an object.
pub(super) fn owners_of_spec(object: &Value, own: &str) -> Vec<String> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let has_spec = |entry: &&Value| entry.pointer("/fieldsV1/f:spec").is_some();
    let managers = entries.into_iter().flatten().filter(has_spec);
    let managers = managers.filter_map(|entry| entry.get("manager")?.as_str());
    managers
        .filter(|manager| *manager != own)
        .map(str::to_owned)
        .collect()
}

/// Returns the field managers that own an annotation.
pub(super) fn owners(object: &Value, annotation: &str) -> Vec<String> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let owns = |entry: &&Value| {
        let fields = entry.get("fieldsV1");
        let annotations = fields.and_then(|fields| fields.get("f:metadata")?.get("f:annotations"));
        annotations.is_some_and(|all| all.get(format!("f:{annotation}")).is_some())
    };
    let owners = entries.into_iter().flatten().filter(owns);
    owners
        .filter_map(|entry| entry.get("manager")?.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whoever_owns_an_annotation_is_found() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "argocd-controller", "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, "f:a/b": {}}}}},
            {"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:annotations": {"f:c": {}}}}}]}});
        assert_eq!(owners(&object, "a/b"), ["argocd-controller"]);
        assert_eq!(owners(&object, "x"), [] as [&str; 0]);
        assert!(is_by_hand("kubectl-annotate") && is_by_hand("tidegate-rollout-pause"));
        assert!(!is_by_hand("argocd-controller") && !is_by_hand("tidegate"));
    }

    #[test]
    fn whoever_is_in_conflict_is_named_once() {
        let cause = |reason: &str, message: &str| StatusCause {
            reason: reason.to_owned(),
            message: message.to_owned(),
            field: String::new(),
        };
        let owned = "FieldManagerConflict";
        let causes = [
            cause(owned, "conflict with \"flux\" using v1"),
            cause(owned, "conflict with \"flux\""),
            cause(owned, "told in other words"),
            cause("Other", "no \"manager\""),
        ];
        assert_eq!(managers(&causes), ["flux", "told in other words"]);
    }
}
