//! Which field managers own what a verb would write, and over which of them it may write.
//!
//! Values that users wrote with kubectl are overwritten. A program would restore the values that it applies, so these are a conflict.

use serde_json::Value;

/// Field managers of people: what they wrote by hand, they change by hand.
const OF_PEOPLE: [&str; 3] = ["kubectl", "tidegate-rollout", "tidegate-web"];

/// Returns whether a field manager is a tool by which people write.
fn is_by_hand(manager: &str) -> bool {
    OF_PEOPLE.iter().any(|tool| manager.starts_with(tool))
}

/// Returns the owners that are programs.
pub fn programs(owners: &[String]) -> Vec<String> {
    let programs = owners.iter().filter(|owner| !is_by_hand(owner));
    programs.cloned().collect()
}

/// Returns the field managers that an API server names in the causes (reason, message) of a conflict:
/// `conflict with "kubectl-annotate" using v1`; none if it is one of revisions.
pub fn conflicting<'c>(causes: impl IntoIterator<Item = (&'c str, &'c str)>) -> Vec<String> {
    let mut all: Vec<String> = causes
        .into_iter()
        .filter(|(reason, _)| *reason == "FieldManagerConflict")
        .map(|(_, message)| message.split('"').nth(1).unwrap_or(message).to_owned())
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the other field managers that own anything of the spec of an object.
pub fn owners_of_spec(object: &Value, own: &str) -> Vec<String> {
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
    fn each_manager_in_conflict_is_named_once() {
        let owned = "FieldManagerConflict";
        let causes = [
            (owned, "conflict with \"flux\" using v1"),
            (owned, "conflict with \"flux\""),
            (owned, "told in other words"),
            ("Other", "no \"manager\""),
        ];
        assert_eq!(conflicting(causes), ["flux", "told in other words"]);
    }
}
