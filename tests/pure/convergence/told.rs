//! The reasons in the status of instances at the end of a scenario. `ended` checks whether they are true.

use serde_json::Value;

use super::hub::text;

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    let listed = object.pointer(pointer).and_then(Value::as_array);
    listed.into_iter().flatten()
}

pub(super) fn condition<'a>(object: &'a Value, pointer: &str, kind: &str) -> Option<&'a Value> {
    list(object, pointer).find(|one| one["type"] == kind)
}

/// The reason, in OCM's vocabulary, for a cluster that keeps content which can no longer be rendered.
pub(super) const SUPERSEDED: &str = "ContentSuperseded";

/// Why an instance keeps its content. OCM's reasons only say that it does; then the roll-up has the reason, unless it is intended.
pub(super) fn held(object: &Value) -> &str {
    let said = reason(object, "Configured");
    if said != "ConfigurationsNotConfigured" {
        return said;
    }
    let is_true = |kind: &str| {
        let found = condition(object, "/status/conditions", kind)?;
        (found["status"] == "True").then(|| text(found, "/reason"))
    };
    let why = is_true("Stalled").or_else(|| is_true("Reconciling"));
    why.unwrap_or("OutsideRollout")
}

/// The reason of a condition that is False, "" when it is not.
pub(super) fn reason<'a>(object: &'a Value, kind: &str) -> &'a str {
    let said = condition(object, "/status/conditions", kind).filter(|said| said["status"] == "False");
    said.map(|said| text(said, "/reason")).unwrap_or_default()
}
