//! Which field managers own what a verb would write, and over which of them it may write.
//!
//! Values that users wrote with kubectl are overwritten. A program would restore the values that it applies, so these are a conflict.

use std::collections::BTreeSet;

use serde_json::Value;

use super::applied::owned;

/// Field managers of people: what they wrote by hand, they change by hand.
const OF_PEOPLE: [&str; 3] = ["kubectl", "tidegate-rollout", "tidegate-web"];

/// Returns whether a field manager is a tool by which people write.
fn is_by_hand(manager: &str) -> bool {
    OF_PEOPLE.iter().any(|tool| manager.starts_with(tool))
}

/// A field and the field manager that owns it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedField {
    /// The field manager.
    pub manager: String,
    /// The path of the field.
    pub field: String,
}

impl OwnedField {
    pub(super) fn new(manager: impl Into<String>, field: impl Into<String>) -> Self {
        Self {
            manager: manager.into(),
            field: field.into(),
        }
    }
}

/// Returns the fields that programs own.
pub fn of_programs(owned: &[OwnedField]) -> Vec<&OwnedField> {
    owned.iter().filter(|one| !is_by_hand(&one.manager)).collect()
}

/// Returns each field manager once.
pub fn managers<'o>(owned: impl IntoIterator<Item = &'o OwnedField>) -> Vec<String> {
    let all: BTreeSet<&String> = owned.into_iter().map(|one| &one.manager).collect();
    all.into_iter().cloned().collect()
}

/// Returns what an API server names in the causes (reason, message, field) of a conflict: the field manager of
/// `conflict with "kubectl-annotate" using v1` and the field; nothing if it is a conflict of revisions.
pub fn conflicting<'c>(causes: impl IntoIterator<Item = (&'c str, &'c str, &'c str)>) -> Vec<OwnedField> {
    let all: BTreeSet<OwnedField> = causes
        .into_iter()
        .filter(|(reason, _, _)| *reason == "FieldManagerConflict")
        .map(|(_, message, field)| {
            let manager = message.split('"').nth(1).unwrap_or(message);
            OwnedField::new(manager, field.trim_start_matches('.'))
        })
        .collect();
    all.into_iter().collect()
}

/// Returns the other field managers whose fields of the spec of an object are different in `wanted`.
pub fn owners_of_spec(object: &Value, wanted: &Value, own: &str) -> Vec<OwnedField> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let is_changed = |entry: &&Value| {
        let fields = entry.pointer("/fieldsV1/f:spec");
        let values = |object: &Value| owned(object.get("spec")?, fields?);
        values(object) != values(wanted)
    };
    let managers = entries.into_iter().flatten().filter(is_changed);
    let managers = managers.filter_map(|entry| entry.get("manager")?.as_str());
    managers
        .filter(|manager| *manager != own)
        .map(|manager| OwnedField::new(manager, "spec"))
        .collect()
}

/// Returns the field managers that own a field, whose path is one of `fieldsV1`: `f:spec`, `f:pause`.
pub(super) fn owners_of(object: &Value, path: &[String]) -> Vec<String> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let owns = |entry: &&Value| {
        let mut at = entry.get("fieldsV1");
        for step in path {
            at = at.and_then(|fields| fields.get(step));
        }
        at.is_some()
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
    fn the_owner_of_a_field_is_found() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "argocd-controller", "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, "f:a/b": {}}}}},
            {"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:annotations": {"f:c": {}}}}}]}});
        let of = |key: &str| {
            let path = ["f:metadata", "f:annotations", key].map(str::to_owned);
            owners_of(&object, &path)
        };
        assert_eq!(of("f:a/b"), ["argocd-controller"]);
        assert_eq!(of("f:x"), [] as [&str; 0]);
        assert!(is_by_hand("kubectl-annotate") && is_by_hand("tidegate-rollout-pause"));
        assert!(is_by_hand("tidegate-web-undo"));
        assert!(!is_by_hand("argocd-controller") && !is_by_hand("tidegate"));
    }

    #[test]
    fn only_field_managers_whose_values_change_are_overwritten() {
        let entry =
            |manager: &str, fields: Value| json!({"manager": manager, "fieldsV1": {"f:spec": fields}});
        let object = json!({"metadata": {"managedFields": [entry("argocd-controller", json!({"f:a": {}})),
                entry("kubectl-patch", json!({"f:b": {}})), entry("own", json!({"f:b": {}})), {"manager": "labels"}]},
            "spec": {"a": 1, "b": 2}});
        let of = |wanted: Value| managers(&owners_of_spec(&object, &json!({"spec": wanted}), "own"));
        assert_eq!(of(json!({"a": 1, "b": 3})), ["kubectl-patch"]);
        assert_eq!(of(json!({"b": 2})), ["argocd-controller"]);
        assert_eq!(of(json!({"a": 1, "b": 2, "c": 3})), [] as [&str; 0]);
    }

    #[test]
    fn each_field_in_conflict_is_named_once_with_its_manager() {
        let owned = "FieldManagerConflict";
        let causes = [
            (owned, "conflict with \"flux\" using v1", ".spec.suspend"),
            (owned, "conflict with \"flux\"", ".spec.suspend"),
            (owned, "conflict with \"flux\"", ".spec.a"),
            (owned, "in other words", ""),
            ("Other", "no \"manager\"", ".spec"),
        ];
        let found = conflicting(causes);
        let expected = [
            ("flux", "spec.a"),
            ("flux", "spec.suspend"),
            ("in other words", ""),
        ];
        assert_eq!(
            found,
            expected.map(|(manager, field)| OwnedField::new(manager, field))
        );
        assert_eq!(managers(&found), ["flux", "in other words"]);
    }
}
