//! Status writes that change nothing: each would be an event, and the next plan would write it again.
//!
//! Decides by comparing what is written with what is recorded. What it cannot compare counts as a change.

use serde_json::Value;

use store::{Applied, Condition, Instance, Kind, ObjectKey, Reference, View};

/// Returns whether a status write leaves the object as it is.
pub(super) fn is_unchanged(view: &View<'_>, object: &ObjectKey, patch: &Value) -> bool {
    let Some(fields) = patch.get("status").and_then(Value::as_object) else {
        return false;
    };
    if fields.is_empty() {
        return true;
    }
    let Some(instance) = view
        .instance(&object.namespace)
        .filter(|_| object.kind == Kind::Instance)
    else {
        return false;
    };
    fields.iter().all(|(field, value)| match field.as_str() {
        "observedGeneration" => value.as_i64() == instance.observed,
        "conditions" => same(value, &instance.conditions, is_condition),
        "configReferences" => same(value, &instance.references, is_reference),
        "supportedConfigs" => same(value, &instance.supported, |value, of| {
            text(value, "/group") == &*of.group && text(value, "/resource") == &*of.resource
        }),
        _ => false,
    }) && is_addressed(instance, object)
}

fn is_addressed(instance: &Instance, object: &ObjectKey) -> bool {
    instance.cluster == object.namespace && instance.addon == object.name
}

fn same<T>(value: &Value, known: &[T], is_same: impl Fn(&Value, &T) -> bool) -> bool {
    value.as_array().is_some_and(|listed| {
        listed.len() == known.len()
            && listed
                .iter()
                .zip(known)
                .all(|(value, known)| is_same(value, known))
    })
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn is_condition(value: &Value, known: &Condition) -> bool {
    let since = known.since().map(|since| since.to_string()).unwrap_or_default();
    text(value, "/type") == &*known.kind
        && text(value, "/status") == known.status.as_str()
        && text(value, "/reason") == &*known.reason
        && text(value, "/message") == &*known.message
        && text(value, "/lastTransitionTime") == since
        && value.get("observedGeneration").and_then(Value::as_i64) == known.generation()
}

fn is_reference(value: &Value, known: &Reference) -> bool {
    let config = &known.config;
    let generation = value.get("lastObservedGeneration").and_then(Value::as_i64);
    let applied = value.get("lastAppliedConfig");
    known.exact
        && text(value, "/group") == &*config.of.group
        && text(value, "/resource") == &*config.of.resource
        && text(value, "/desiredConfig/namespace") == &*config.namespace
        && text(value, "/desiredConfig/name") == &*config.name
        && text(value, "/desiredConfig/specHash") == &*known.desired
        && generation == Some(known.generation)
        && match (applied, &known.applied) {
            (None, None) => true,
            (Some(value), Some(known)) => is_applied(value, known),
            (None, Some(_)) | (Some(_), None) => false,
        }
}

fn is_applied(value: &Value, known: &Applied) -> bool {
    text(value, "/namespace") == &*known.namespace
        && text(value, "/name") == &*known.name
        && text(value, "/specHash") == &*known.hash
}
