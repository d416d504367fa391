//! Whether fields that a hub has are erased by its conversion, told from what can be read.
//!
//! Decides what is evidence: an object that has something to lose, as its other version shows it. Asks no hub, and writes
//! nothing.

use super::hazard::{Conversion, HubContext, Operator, Proof};
use super::live::annotations;
use super::patch::{Presence, plan};
use crate::conversion::{Extensions, Version, convert};
use serde_json::Value;

/// What a definition says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erasure {
    /// The hub has none of the fields; whether its conversion would erase them is what `tidegate definitions plan` shows.
    NoFields,
    /// There is nothing to lose, or no other version.
    Impossible,
    /// No program converts: whatever the other version does not know is dropped.
    Certain,
    /// A program converts, and its objects have to be looked at.
    ByConverter,
}

/// Returns our definitions of the kinds that are extended, by name.
pub fn extended() -> Vec<(String, Value)> {
    let ours = crate::crds()
        .into_iter()
        .filter(|crd| !crate::is_ours(crd) && crd.spec.group == crate::v1alpha1::GROUP);
    let named = ours.filter_map(|crd| Some((crd.metadata.name.clone()?, serde_json::to_value(crd).ok()?)));
    named.collect()
}

/// Tells whether a definition may erase what was added to it.
pub fn erasure(live: &Value, ours: &Value) -> Erasure {
    let around = HubContext {
        operator: Operator::Absent,
        proof: Proof::NotAsked,
    };
    let plan = plan(live, ours, &around);
    let has_fields = plan
        .additions
        .iter()
        .any(|one| !one.is_column && one.standing != Presence::New);
    match plan.conversion {
        Conversion::Erases { .. } if has_fields => Erasure::Certain,
        Conversion::Unproven { .. } if has_fields => Erasure::ByConverter,
        Conversion::Erases { .. } | Conversion::Unproven { .. } => Erasure::NoFields,
        Conversion::NoOther | Conversion::NothingToLose { .. } | Conversion::Lossless { .. } => {
            Erasure::Impossible
        }
    }
}

/// Tells whether an object of `v1alpha1` says something that `v1beta1` cannot hold.
pub fn has_something_to_lose(stored: &Value) -> bool {
    is_kept(&convert(stored.clone(), Version::V1beta1, Extensions::Kept))
}

/// Tells whether the same object, as the hub shows it in `v1beta1`, carries what `v1beta1` cannot hold.
pub fn is_kept(shown: &Value) -> bool {
    annotations(shown).is_some_and(|all| all.contains_key(Version::V1alpha1.kept_in()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_that_has_something_to_lose_is_evidence() {
        let addon = |spec: Value| {
            json!({"apiVersion": Version::V1alpha1.api_version(), "kind": "ClusterManagementAddOn",
                "metadata": {"name": "a"}, "spec": spec})
        };
        let plain = addon(json!({"installStrategy": {"type": "Manual"}}));
        assert!(!has_something_to_lose(&plain));
        assert!(!has_something_to_lose(&json!({"kind": "Other"})));
        let more = addon(json!({"installStrategy": {"type": "Manual"}, "configuration": {"configs": []}}));
        assert!(has_something_to_lose(&more));
        assert!(is_kept(&convert(more, Version::V1beta1, Extensions::Kept)));
        // As a conversion shows it that does not know the field.
        assert!(!is_kept(&convert(plain, Version::V1beta1, Extensions::Kept)));
    }
}
