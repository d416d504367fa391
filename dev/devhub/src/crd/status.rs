//! Conditions of definitions.
//!
//! Decides what a definition tells of itself: accepted names, established, terminating.

use serde_json::{Value, json};

use crate::hub::timestamp;

/// Sets a condition; the time moves only when the status does.
pub(super) fn set_condition(definition: &mut Value, kind: &str, status: &str, reason: &str, message: &str) {
    let mut condition = json!({ "type": kind, "status": status, "lastTransitionTime": timestamp(), "reason": reason, "message": message });
    let Some(members) = definition.as_object_mut() else {
        return;
    };
    let parent = members.entry("status").or_insert_with(|| json!({}));
    let Some(parent) = parent.as_object_mut() else {
        return;
    };
    let conditions = parent.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    match conditions
        .iter_mut()
        .find(|known| known.get("type").and_then(Value::as_str) == Some(kind))
    {
        Some(known) => {
            if known.get("status") == condition.get("status")
                && let (Some(new), Some(time)) = (condition.as_object_mut(), known.get("lastTransitionTime"))
            {
                new.insert("lastTransitionTime".to_owned(), time.clone());
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}

/// Returns whether a condition is true.
pub(super) fn is_true(definition: &Value, kind: &str) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let part = |name: &str| condition.get(name).and_then(Value::as_str);
        part("type") == Some(kind) && part("status") == Some("True")
    })
}

/// Notes that a definition is about to go.
pub(crate) fn mark_terminating(definition: &mut Value) {
    let text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, "Terminating", "True", "InstanceDeletionPending", text);
}
