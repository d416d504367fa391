//! Volumes of a cluster, claims to them, and the limits of a namespace.
//!
//! Decides what is filled in, what is refused and what cannot be changed; nothing is ever bound and nothing is counted.

use schema::FieldError;
use serde_json::{Map, Value, json};

use super::checks::choice;
use super::quantity::size;
use crate::builtin::faults::{forbidden, invalid_value, list, required, text, unsupported};
use crate::builtin::members::{at, fill, items};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// Fills in a volume or a claim.
pub(super) fn fill_in(kind: &str, object: &mut Value) {
    if let Some(spec) = at(object, "/spec") {
        fill(spec, "volumeMode", json!("Filesystem"));
        if kind == "PersistentVolume" {
            fill(spec, "persistentVolumeReclaimPolicy", json!("Retain"));
            if let Some(Value::Object(path)) = spec.get_mut("hostPath") {
                fill(path, "type", json!(""));
            }
        }
    }
    if let Some(status) = at(object, "/status") {
        fill(status, "phase", json!("Pending"));
    }
}

/// Fills in the limits of a namespace.
pub(super) fn fill_limits(range: &mut Value) {
    let Some(spec) = at(range, "/spec") else { return };
    for limit in items(spec, "limits").filter(|limit| limit.get("type") == Some(&json!("Container"))) {
        let amounts = |limit: &Map<String, Value>, member: &str| limit.get(member).cloned();
        for (member, from) in [
            ("default", "max"),
            ("defaultRequest", "default"),
            ("defaultRequest", "min"),
        ] {
            let Some(Value::Object(known)) = amounts(limit, from) else {
                continue;
            };
            if let Value::Object(own) = limit.entry(member).or_insert_with(|| json!({})) {
                for (name, amount) in known {
                    own.entry(name).or_insert(amount);
                }
            }
        }
    }
}

/// Returns the faults of a claim.
pub(super) fn validate_claim(claim: &Value) -> Vec<FieldError> {
    let spec = claim.get("spec").unwrap_or(&Value::Null);
    let mut errors = validate_modes(spec, "at least 1 access mode is required");
    match spec.pointer("/resources/requests/storage") {
        None => errors.push(required("spec.resources[storage]", "")),
        Some(amount) if size(amount) <= 0 => errors.push(invalid_value(
            "spec.resources[storage]",
            amount,
            "must be greater than zero",
        )),
        Some(_) => {}
    }
    errors.extend(choice(spec, "spec", "volumeMode", &["Block", "Filesystem"]));
    errors
}

fn validate_modes(spec: &Value, none: &str) -> Vec<FieldError> {
    let modes = list(spec, "/accessModes");
    let mut errors = Vec::new();
    if modes.is_empty() {
        errors.push(required("spec.accessModes", none));
    }
    let modes = modes.iter().filter_map(Value::as_str);
    for mode in modes.filter(|mode| !MODES.contains(mode)) {
        errors.push(unsupported("spec.accessModes", mode, &MODES));
    }
    errors
}

/// Returns the faults of a volume.
pub(super) fn validate_volume(volume: &Value) -> Vec<FieldError> {
    const PLAIN: [&str; 9] = [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ];
    let spec = volume.get("spec").unwrap_or(&Value::Null);
    let mut errors = validate_modes(spec, "");
    let capacity = spec.get("capacity").and_then(Value::as_object);
    match capacity.filter(|capacity| !capacity.is_empty()) {
        None => errors.push(required("spec.capacity", "")),
        Some(capacity) if capacity.len() != 1 || !capacity.contains_key("storage") => {
            let given: Vec<&str> = capacity.keys().map(String::as_str).collect();
            errors.push(unsupported("spec.capacity", &given.join(","), &["storage"]));
        }
        Some(_) => {}
    }
    errors.extend(choice(
        spec,
        "spec",
        "persistentVolumeReclaimPolicy",
        &["Delete", "Recycle", "Retain"],
    ));
    let sources = spec.as_object().into_iter().flatten();
    let sources: Vec<&String> = sources
        .filter(|(member, value)| !PLAIN.contains(&member.as_str()) && value.is_object())
        .map(|(member, _)| member)
        .collect();
    if sources.is_empty() {
        errors.push(required("spec", "must specify a volume type"));
    }
    for source in sources.iter().skip(1) {
        errors.push(forbidden(
            &format!("spec.{source}"),
            "may not specify more than 1 volume type",
        ));
    }
    errors
}

/// Returns the faults of a change of a claim.
pub(super) fn validate_claim_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let fixed = |claim: &Value| {
        let mut spec = claim.get("spec").cloned().unwrap_or_default();
        let unbound = text(old, "/spec/volumeName").is_empty();
        if let Value::Object(spec) = &mut spec {
            spec.remove("volumeAttributesClassName");
            if unbound {
                spec.remove("volumeName");
            }
            if let Some(Value::Object(requests)) =
                spec.get_mut("resources").and_then(|all| all.get_mut("requests"))
            {
                requests.remove("storage");
            }
        }
        spec
    };
    let mut errors = Vec::new();
    if fixed(new) != fixed(old) {
        errors.push(forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ));
    }
    let storage = |claim: &Value| claim.pointer("/spec/resources/requests/storage").map_or(0, size);
    if storage(new) < storage(old) {
        errors.push(forbidden(
            "spec.resources.requests.storage",
            "field can not be less than status.capacity",
        ));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn faults_read_as_the_server_writes_them() {
        assert_eq!(
            texts(&validate_claim(&json!({"spec": {}}))),
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ]
        );
        assert_eq!(
            texts(&validate_volume(
                &json!({"spec": {"accessModes": ["Sometimes"], "capacity": {"storage": "1Gi"}}})
            )),
            [
                "spec.accessModes: Unsupported value: \"Sometimes\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"",
                "spec: Required value: must specify a volume type",
            ]
        );
    }

    #[test]
    fn a_claim_grows_and_nothing_else() {
        let claim = |storage: &str, class: &str| json!({"spec": {"storageClassName": class, "resources": {"requests": {"storage": storage}}}});
        let old = claim("1Gi", "fast");
        assert_eq!(validate_claim_change(&claim("2Gi", "fast"), &old), []);
        assert_eq!(validate_claim_change(&claim("1Gi", "slow"), &old).len(), 1);
        assert_eq!(validate_claim_change(&claim("500Mi", "fast"), &old).len(), 1);
    }

    #[test]
    fn limits_follow_from_each_other() {
        let mut range = json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}});
        fill_limits(&mut range);
        assert_eq!(
            range["spec"]["limits"][0],
            json!({"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}})
        );
    }
}
