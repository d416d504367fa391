//! Owner references.
//!
//! Decides what is wrong with them and which are duplicates; never follows them.

use std::collections::BTreeSet;

use ::schema::FieldError;
use serde_json::Value;

use super::faults::{invalid, invalid_value, text};

const FIELD: &str = "metadata.ownerReferences";

/// Returns the faults of `metadata.ownerReferences`.
pub fn validate(references: Option<&Value>) -> Vec<FieldError> {
    let references = references
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut errors = Vec::new();
    let mut controller: Option<&Value> = None;
    for reference in references {
        errors.extend(validate_reference(reference));
        if reference.get("controller") != Some(&Value::Bool(true)) {
            continue;
        }
        let Some(first) = controller.replace(reference) else {
            continue;
        };
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
            text(first, "/kind"),
            text(first, "/name"),
            text(reference, "/kind"),
            text(reference, "/name"),
        );
        let all: Vec<String> = references.iter().map(printed).collect();
        let mut error = invalid(FIELD, "", &detail);
        error.message = format!("Invalid value: [{}]: {detail}", all.join(","));
        errors.push(error);
    }
    errors
}

fn validate_reference(reference: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let version = text(reference, "/apiVersion");
    let parts: Vec<&str> = version.split('/').collect();
    let (group, name) = match parts.as_slice() {
        [name] => ("", *name),
        [group, name] => (*group, *name),
        _ => ("", ""),
    };
    if name.is_empty() {
        errors.push(invalid(
            &format!("{FIELD}.apiVersion"),
            version,
            "version must not be empty",
        ));
    }
    for member in ["kind", "name", "uid"] {
        if text(reference, &format!("/{member}")).is_empty() {
            errors.push(invalid(&format!("{FIELD}.{member}"), "", "must not be empty"));
        }
    }
    if (group, name, text(reference, "/kind")) == ("", "v1", "Event") {
        let mut error = invalid_value(FIELD, &Value::Null, "");
        error.message = format!(
            "Invalid value: {}: /v1, Kind=Event is disallowed from being an owner",
            printed(reference)
        );
        errors.push(error);
    }
    errors
}

/// Prints a reference with its members in the order of the Go type.
fn printed(reference: &Value) -> String {
    let mut out = String::from("{");
    for member in [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ] {
        let plain = matches!(member, "controller" | "blockOwnerDeletion");
        let value = match reference.get(member) {
            Some(value) => value.clone(),
            None if plain => continue,
            None => Value::String(String::new()),
        };
        let comma = if out.len() > 1 { "," } else { "" };
        out.extend([comma, "\"", member, "\":", &value.to_string()]);
    }
    out.push('}');
    out
}

/// Drops references that stand twice and returns the warning that Kubernetes then gives.
pub fn drop_duplicates(metadata: &mut Value) -> Option<String> {
    let Some(Value::Array(references)) = metadata.get_mut("ownerReferences") else {
        return None;
    };
    let mut kept: Vec<Value> = Vec::with_capacity(references.len());
    let mut repeated = BTreeSet::new();
    for reference in std::mem::take(references) {
        if kept.contains(&reference) {
            repeated.insert(text(&reference, "/uid").to_owned());
        } else {
            kept.push(reference);
        }
    }
    *references = kept;
    let uids: Vec<String> = repeated.into_iter().collect();
    (!uids.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such \
             requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            uids.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(name: &str, more: &Value) -> Value {
        let mut reference = json!({"apiVersion": "dev.example.io/v1", "kind": "Widget", "name": name, "uid": format!("uid-{name}")});
        for (member, value) in more.as_object().into_iter().flatten() {
            reference[member] = value.clone();
        }
        reference
    }

    #[test]
    fn faults_read_as_recorded() {
        for (references, expected) in [
            (
                json!([
                    owner("o", &json!({"controller": true, "blockOwnerDeletion": true})),
                    owner("p", &json!({}))
                ]),
                vec![],
            ),
            (
                json!([
                    owner("o", &json!({"controller": true})),
                    owner("p", &json!({"controller": true}))
                ]),
                vec![
                    "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"dev.example.io/v1\",\"kind\":\"Widget\",\"name\":\"o\",\"uid\":\"uid-o\",\"controller\":true},{\"apiVersion\":\"dev.example.io/v1\",\"kind\":\"Widget\",\"name\":\"p\",\"uid\":\"uid-p\",\"controller\":true}]: Only one reference can have Controller set to true. Found \"true\" in references for Widget/o and Widget/p",
                ],
            ),
            (
                json!([owner("o", &json!({"kind": "", "name": ""}))]),
                vec![
                    "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
                    "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
                ],
            ),
            (
                json!([owner("o", &json!({"apiVersion": "a/b/c"}))]),
                vec![
                    "metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty",
                ],
            ),
            (
                json!([owner("o", &json!({"apiVersion": "v1", "kind": "Event"}))]),
                vec![
                    "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"o\",\"uid\":\"uid-o\"}: /v1, Kind=Event is disallowed from being an owner",
                ],
            ),
        ] {
            let texts: Vec<String> = validate(Some(&references))
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(texts, expected);
        }
    }

    #[test]
    fn duplicates_are_dropped_with_a_warning() {
        let mut metadata = json!({"ownerReferences": [owner("o", &json!({})), owner("o", &json!({}))]});
        let warning = drop_duplicates(&mut metadata).expect("a warning");
        assert!(warning.ends_with("duplicate UID(s) observed: uid-o"), "{warning}");
        assert_eq!(metadata["ownerReferences"], json!([owner("o", &json!({}))]));
        assert_eq!(drop_duplicates(&mut metadata), None);
    }
}
