//! Parts of a status that the hub does not keep: its definitions are older than ours, so the API server prunes them.
//!
//! Decides from the hub's own answers, not from its definitions: a client that may write a status may not be allowed to read
//! those. A part is tried once and left out from then on, until the program starts again. Never leaves out what was kept once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tracing::warn;

use kubernetes::bounds::members;
use plan::{Action, Payload, Plan};
use store::Kind;

/// What the hub is known not to keep: kinds with fields of their status.
#[derive(Debug, Clone, Default)]
pub(super) struct PrunedFields {
    known: Arc<Mutex<BTreeSet<(Kind, String)>>>,
}

impl PrunedFields {
    /// Compares the text of a status patch with the text of the object that the hub answered; returns whether all that was written
    /// is lost.
    pub(super) fn learn(&self, kind: Kind, patch: &str, answer: &str) -> bool {
        let Some(written) = fields_of_status(patch) else {
            return false;
        };
        let stored = fields_of_status(answer).unwrap_or_default();
        let lost = written
            .iter()
            .filter(|(field, says_something)| **says_something && !stored.contains_key(*field));
        for (field, _) in lost {
            if self.lock().insert((kind, field.clone())) {
                warn!(
                    ?kind,
                    field,
                    "the CRD drops this status field; Tidegate no longer writes it; no other function is affected"
                );
            }
        }
        let known = self.lock();
        written.keys().all(|field| known.contains(&(kind, field.clone())))
    }

    /// Takes out of a status patch what the hub does not keep; nothing if nothing is left to write.
    pub(super) fn strip(&self, kind: Kind, patch: Payload) -> Option<Payload> {
        let known = self.lock();
        if known.is_empty() {
            return Some(patch);
        }
        let mut left = patch.value();
        let Some(status) = left.get_mut("status").and_then(Value::as_object_mut) else {
            return Some(patch);
        };
        status.retain(|field, _| !known.contains(&(kind, field.clone())));
        (!status.is_empty()).then(|| left.into())
    }

    /// Takes out of a plan what the hub does not keep, so that it is not planned indefinitely.
    pub(super) fn strip_plan(&self, plan: &mut Plan) {
        if self.lock().is_empty() {
            return;
        }
        plan.actions.retain_mut(|action| match action {
            Action::Status { object, patch, .. } => match self.strip(object.kind, patch.clone()) {
                Some(left) => {
                    *patch = left;
                    true
                }
                None => false,
            },
            Action::Create { .. }
            | Action::Replace { .. }
            | Action::Delete { .. }
            | Action::Certify { .. } => true,
        });
    }

    // The set is whole after every insertion, so that it stays usable when another thread has panicked.
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<(Kind, String)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the fields of the status of an object, and whether each says something: an API server may leave out an empty list when
/// it stores an object. Nothing without a status.
fn fields_of_status(text: &str) -> Option<BTreeMap<String, bool>> {
    let mut status = None;
    members(text, |name, member| {
        if name == "status" {
            status = Some(member);
        }
    })
    .ok()?;
    let mut fields = BTreeMap::new();
    members(status?.get(), |name, member| {
        fields.insert(name.into_owned(), !["null", "[]", "{}"].contains(&member.get()));
    })
    .ok()?;
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_hub_has_dropped_is_not_written_again() {
        for (written, answered, again, left) in [
            // Everything was kept.
            (
                json!({"a": 1, "b": "x"}),
                json!({"a": 1, "b": "x"}),
                json!({"a": 2}),
                Some(json!({"a": 2})),
            ),
            // A part was dropped, whatever its type; the rest goes on.
            (
                json!({"a": 1, "b": [1]}),
                json!({"a": 1}),
                json!({"a": 2, "b": [2]}),
                Some(json!({"a": 2})),
            ),
            // Nothing is left to write.
            (json!({"b": {"c": 1}}), json!({}), json!({"b": {"c": 2}}), None),
            // A field that was taken away, or is empty, says nothing about what is kept.
            (
                json!({"a": null, "b": []}),
                json!({}),
                json!({"a": 1, "b": [1]}),
                Some(json!({"a": 1, "b": [1]})),
            ),
        ] {
            let pruned = PrunedFields::default();
            let of = |status: &Value| json!({"status": status});
            pruned.learn(Kind::AddOn, &of(&written).to_string(), &of(&answered).to_string());
            let stripped = pruned.strip(Kind::AddOn, of(&again).into());
            assert_eq!(
                stripped.map(|patch| patch.value()),
                left.map(|left| of(&left)),
                "{written} {answered}"
            );
            let other = pruned.strip(Kind::Instance, of(&again).into());
            assert_eq!(
                other.map(|patch| patch.value()),
                Some(of(&again)),
                "another kind is not concerned"
            );
        }
    }

    #[test]
    fn a_hub_without_any_status_keeps_nothing_of_it() {
        let pruned = PrunedFields::default();
        pruned.learn(Kind::AddOn, r#"{"status":{"a":1}}"#, r#"{"metadata":{}}"#);
        let strip = |patch: Value| pruned.strip(Kind::AddOn, patch.into());
        assert_eq!(strip(json!({"status": {"a": 2}})), None);
        let labels = json!({"metadata": {"labels": {}}});
        assert!(strip(labels).is_some(), "no status, no opinion");
    }
}
