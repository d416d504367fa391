//! `metadata` of every object, built-in or custom.
//!
//! Decides what is wrong with it on create and on update.

use ::schema::FieldError;
use kubernetes::object_meta::{self, MetaFault, Namespacing};
use serde_json::Value;

use super::faults::{forbidden, invalid_value, list};
use super::managers;
use super::names::NameRule;
use crate::Scope;

const STANDARD_FINALIZERS: &[&str] = &["orphan", "foregroundDeletion", "kubernetes"];

/// Returns the faults of `metadata`, as far as they do not depend on an older version.
pub fn validate(metadata: &Value, scope: Scope, names: NameRule) -> Vec<FieldError> {
    let namespacing = match scope {
        Scope::Namespaced => Namespacing::Required,
        Scope::Cluster => Namespacing::Forbidden,
    };
    let faults = object_meta::faults(metadata, names, namespacing);
    let mut errors = errors("metadata.", faults);
    errors.extend(managers::validate(metadata));
    errors
}

fn validate_content(metadata: &Value) -> Vec<FieldError> {
    let mut errors = errors("metadata.", object_meta::content_faults(metadata));
    errors.extend(managers::validate(metadata));
    errors
}

fn errors(prefix: &str, faults: Vec<MetaFault>) -> Vec<FieldError> {
    let error = |fault: MetaFault| FieldError {
        message: fault.message(),
        class: fault.class,
        field: format!("{prefix}{}", fault.field),
    };
    faults.into_iter().map(error).collect()
}

/// Returns the faults of a map of labels that stands at `field`.
pub fn validate_labels(field: &str, labels: Option<&Value>) -> Vec<FieldError> {
    at(field, object_meta::label_faults(labels))
}

/// Returns the faults of a map of annotations that stands at `field`.
pub fn validate_annotations_at(field: &str, annotations: Option<&Value>) -> Vec<FieldError> {
    at(field, object_meta::annotation_faults(annotations))
}

fn at(field: &str, faults: Vec<MetaFault>) -> Vec<FieldError> {
    let mut errors = errors("", faults);
    for error in &mut errors {
        field.clone_into(&mut error.field);
    }
    errors
}

/// Returns the faults of a change of `metadata`.
///
/// The caller has already carried over what a client may leave out (uid, creation and deletion time). Kubernetes checks fixed
/// fields twice, so the same cause stands twice; in the message it stands once.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.get("deletionTimestamp").is_some_and(Value::is_string) {
        let added: Vec<String> = list(new, "/finalizers")
            .iter()
            .filter(|finalizer| !list(old, "/finalizers").contains(finalizer))
            .filter_map(Value::as_str)
            .map(kubernetes::print::quote)
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            let fault = forbidden("metadata.finalizers", &detail);
            errors.extend([fault.clone(), fault]);
        }
    }
    for member in [
        "uid",
        "name",
        "namespace",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let at = |metadata: &Value| metadata.get(member).cloned().unwrap_or_default();
        let (before, after) = (at(old), at(new));
        if before != after {
            let fault = invalid_value(&format!("metadata.{member}"), &after, "field is immutable");
            errors.extend([fault.clone(), fault]);
        }
    }
    for fault in validate_content(new) {
        errors.extend([fault.clone(), fault]);
    }
    errors.extend(managers::validate(new));
    errors
}

/// Returns the warnings for finalizers of a custom resource that are new and have no domain.
pub fn finalizer_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map_or(&[][..], |old| list(old, "/finalizers"));
    let added = list(new, "/finalizers")
        .iter()
        .filter(|finalizer| !before.contains(finalizer))
        .filter_map(Value::as_str);
    added
        .filter(|finalizer| !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(finalizer))
        .map(|finalizer| {
            format!(
                "metadata.finalizers: \"{finalizer}\": prefer a domain-qualified finalizer name to avoid accidental conflicts with \
                 other finalizer writers"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NAME_PART: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

    fn faults(metadata: &Value) -> Vec<String> {
        let mut metadata = metadata.clone();
        if metadata.get("name").is_none() {
            metadata["name"] = json!("l1");
        }
        metadata["namespace"] = json!("n");
        validate(&metadata, Scope::Namespaced, NameRule::Subdomain)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn faults_read_as_recorded() {
        let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        for (metadata, expected) in [
            (json!({"name": "Upper"}), vec![format!("metadata.name: Invalid value: \"Upper\": {subdomain}")]),
            (json!({"name": "", "generateName": "a-"}), vec!["metadata.name: Required value: name or generateName is required".to_owned()]),
            (json!({"labels": {"bad key!": "x"}}), vec![format!("metadata.labels: Invalid value: \"bad key!\": name part {NAME_PART}")]),
            (
                json!({"labels": {"k": "bad value!"}}),
                vec!["metadata.labels: Invalid value: \"bad value!\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')".to_owned()],
            ),
            (
                json!({"labels": {"UPPER.example.com/k": "v", "/k": "v", "a/b/c": "v"}}),
                vec![
                    "metadata.labels: Invalid value: \"/k\": prefix part must be non-empty".to_owned(),
                    format!("metadata.labels: Invalid value: \"UPPER.example.com/k\": prefix part {subdomain}"),
                    format!("metadata.labels: Invalid value: \"a/b/c\": a valid label key {NAME_PART} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"),
                ],
            ),
            (json!({"annotations": {"bad key!": "x"}}), vec![format!("metadata.annotations: Invalid value: \"bad key!\": name part {NAME_PART}")]),
            (json!({"annotations": {"big": "x".repeat(262_144)}}), vec!["metadata.annotations: Too long: may not be more than 262144 bytes".to_owned()]),
            (json!({"annotations": {"k": "v", "example.com/Long-name_x.y": ""}}), vec![]),
            (json!({"finalizers": ["a b"]}), vec![format!("metadata.finalizers: Invalid value: \"a b\": name part {NAME_PART}")]),
            (json!({"finalizers": ["plain", "kubernetes.io/x"]}), vec![]),
        ] {
            assert_eq!(faults(&metadata), expected);
        }
        let long = "x".repeat(64);
        assert_eq!(
            faults(&json!({"labels": {"k": long}})),
            [format!(
                "metadata.labels: Invalid value: \"{long}\": must be no more than 63 bytes"
            )]
        );
    }

    #[test]
    fn fixed_fields_are_refused_twice() {
        let old = json!({"uid": "1", "name": "a"});
        let new = json!({"uid": "2", "name": "a"});
        let texts: Vec<String> = validate_update(&new, &old)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            ["metadata.uid: Invalid value: \"2\": field is immutable"; 2]
        );
        let graceful = json!({"uid": "1", "name": "a", "deletionGracePeriodSeconds": 9});
        assert_eq!(
            validate_update(&graceful, &old)[0].to_string(),
            "metadata.deletionGracePeriodSeconds: Invalid value: 9: field is immutable"
        );
    }

    #[test]
    fn deleted_objects_take_no_new_finalizers() {
        let old = json!({"deletionTimestamp": "2025-01-01T00:00:00Z", "finalizers": ["a.io/x"]});
        let new = json!({"deletionTimestamp": "2025-01-01T00:00:00Z", "finalizers": ["a.io/x", "b.io/y"]});
        assert_eq!(
            validate_update(&new, &old)[0].to_string(),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"b.io/y\"}"
        );
        assert_eq!(validate_update(&old, &new), []);
    }

    #[test]
    fn only_new_plain_finalizers_are_warned_about() {
        let new = json!({"finalizers": ["plain", "example.com/y", "orphan"]});
        assert_eq!(
            finalizer_warnings(&new, None),
            [
                "metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            ]
        );
        assert_eq!(finalizer_warnings(&new, Some(&new)), [""; 0]);
    }
}
