//! Parts of a status that the hub does not keep: its definitions are older than ours, so the API server prunes them.
//!
//! Decides from the hub's own answers, not from its definitions: a client that may write a status may not be allowed to read
//! those. A part is tried once and left out from then on, until the program starts again. Never leaves out what was kept once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tracing::warn;

use plan::{Action, Plan};
use store::Kind;

/// What the hub is known not to keep: kinds with fields of their status.
#[derive(Debug, Clone, Default)]
pub(super) struct PrunedFields {
    known: Arc<Mutex<BTreeSet<(Kind, String)>>>,
}

impl PrunedFields {
    /// Compares what was written to a status with the status that the hub answered; returns whether all that was written is lost.
    pub(super) fn learn(&self, kind: Kind, patch: &Value, status: &Value) -> bool {
        let Some(written) = patch.get("status").and_then(Value::as_object) else {
            return false;
        };
        let stored = status.as_object();
        let lost = written
            .iter()
            .filter(|(field, value)| says_something(value) && !holds(stored, field));
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

    /// Takes out of a status patch what the hub does not keep; returns whether anything is left to write.
    pub(super) fn strip(&self, kind: Kind, patch: &mut Value) -> bool {
        let Some(status) = patch.get_mut("status").and_then(Value::as_object_mut) else {
            return true;
        };
        let known = self.lock();
        status.retain(|field, _| !known.contains(&(kind, field.clone())));
        !status.is_empty()
    }

    /// Takes out of a plan what the hub does not keep, so that it is not planned indefinitely.
    pub(super) fn strip_plan(&self, plan: &mut Plan) {
        if self.lock().is_empty() {
            return;
        }
        plan.actions.retain_mut(|action| match action {
            Action::Status { object, patch, .. } => {
                let mut left = patch.value();
                let is_left = self.strip(object.kind, &mut left);
                *patch = left.into();
                is_left
            }
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

/// An API server may leave out an empty list when it stores an object.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn holds(stored: Option<&Map<String, Value>>, field: &str) -> bool {
    stored.is_some_and(|stored| stored.contains_key(field))
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
            pruned.learn(Kind::AddOn, &json!({"status": written}), &answered);
            let mut patch = json!({"status": again});
            let anything = pruned.strip(Kind::AddOn, &mut patch);
            assert_eq!(
                anything.then(|| patch["status"].clone()),
                left,
                "{written} {answered}"
            );
            let mut other = json!({"status": again});
            assert!(
                pruned.strip(Kind::Instance, &mut other),
                "another kind is not concerned"
            );
            assert_eq!(other, json!({"status": again}));
        }
    }

    #[test]
    fn a_hub_without_any_status_keeps_nothing_of_it() {
        let pruned = PrunedFields::default();
        pruned.learn(Kind::AddOn, &json!({"status": {"a": 1}}), &Value::Null);
        assert!(!pruned.strip(Kind::AddOn, &mut json!({"status": {"a": 2}})));
        assert!(
            pruned.strip(Kind::AddOn, &mut json!({"metadata": {"labels": {}}})),
            "no status, no opinion"
        );
    }
}
