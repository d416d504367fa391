//! Which checks belong to which kind.
//!
//! Decides the order of checks; the checks themselves are in the neighbouring files.

use ::schema::FieldError;
use serde_json::Value;

use super::{config, event, lease, policy, policy_binding, rbac, secret, webhook};
use crate::Resource;
use crate::builtin::faults::invalid_value;
use crate::builtin::{metadata, requests, traits};

/// What validation found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Faults; any of them refuses the request with 422.
    pub errors: Vec<FieldError>,
    /// Texts of `Warning` headers.
    pub warnings: Vec<String>,
}

/// Validates a new built-in object, `metadata` included.
pub fn validate_create(resource: &Resource, object: &Value) -> Outcome {
    let mut outcome = Outcome {
        errors: validate_metadata(resource, object),
        warnings: Vec::new(),
    };
    outcome.errors.extend(validate_content(resource, object));
    if resource.kind == "Secret" && resource.group.is_empty() {
        outcome.warnings.extend(secret::warnings(object));
    }
    outcome
}

/// Validates a changed built-in object, `metadata` included.
pub fn validate_update(resource: &Resource, new: &Value, old: &Value) -> Outcome {
    let empty = Value::Null;
    let meta = |object: &Value| object.get("metadata").cloned().unwrap_or_else(|| empty.clone());
    let mut errors = validate_metadata(resource, new);
    errors.extend(metadata::validate_update(&meta(new), &meta(old)));
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "ConfigMap") => errors.extend(config::validate_update(new, old)),
        ("", "Secret") => errors.extend(secret::validate_update(new, old)),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            errors.extend(rbac::validate_binding_update(new, old));
        }
        ("apps", "ControllerRevision") if new.get("data") != old.get("data") => {
            let data = new.get("data").unwrap_or(&empty);
            errors.push(invalid_value("data", data, "field is immutable"));
        }
        _ => {}
    }
    errors.extend(validate_content(resource, new));
    let warnings = if resource.kind == "Secret" && resource.group.is_empty() {
        secret::warnings(new)
    } else {
        Vec::new()
    };
    Outcome { errors, warnings }
}

fn validate_metadata(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let empty = Value::Null;
    metadata::validate(
        object.get("metadata").unwrap_or(&empty),
        resource.scope,
        traits(resource).names,
    )
}

fn validate_content(resource: &Resource, object: &Value) -> Vec<FieldError> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "ConfigMap") => config::validate(object),
        ("", "Secret") => secret::validate(object),
        ("", "Event") => event::validate_core(object),
        ("events.k8s.io", "Event") => event::validate(object),
        ("coordination.k8s.io", "Lease") => lease::validate(object),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => policy::validate(object),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            policy_binding::validate(object)
        }
        ("admissionregistration.k8s.io", _) => webhook::validate(object),
        (requests::GROUP, _) => requests::validate(object),
        ("rbac.authorization.k8s.io", "Role") => rbac::validate_role(object),
        ("rbac.authorization.k8s.io", "ClusterRole") => rbac::validate_cluster_role(object),
        ("rbac.authorization.k8s.io", "RoleBinding") => rbac::validate_role_binding(object),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => rbac::validate_cluster_role_binding(object),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    fn kind(name: &str) -> Resource {
        crate::builtin::resources()
            .into_iter()
            .find(|resource| resource.kind == name)
            .expect("a kind")
    }

    fn created(name: &str, mut object: Value) -> Outcome {
        object["metadata"] = json!({"name": "x", "namespace": "n"});
        validate_create(&kind(name), &object)
    }

    #[test]
    fn config_maps_and_secrets_refuse_as_recorded() {
        for (name, object, expected) in [
            (
                "ConfigMap",
                json!({"data": {"z": "1"}, "binaryData": {"z": "AAEC"}}),
                vec!["data[z]: Invalid value: \"z\": duplicate of key present in binaryData"],
            ),
            (
                "ConfigMap",
                json!({"data": {"..": "y", "bad key": "x"}}),
                vec![
                    "data[..]: Invalid value: \"..\": must not be '..'",
                    "data[bad key]: Invalid value: \"bad key\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
                ],
            ),
            (
                "ConfigMap",
                json!({"data": {"x": "x".repeat(1_048_577)}}),
                vec!["[]: Too long: may not be more than 1048576 bytes"],
            ),
            (
                "Secret",
                json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}),
                vec!["data[tls.key]: Required value"],
            ),
            (
                "Secret",
                json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "bm90anNvbg=="}}),
                vec![
                    "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'o' in literal null (expecting 'u')",
                ],
            ),
            (
                "Secret",
                json!({"type": "kubernetes.io/basic-auth"}),
                vec!["data[username]: Required value", "data[password]: Required value"],
            ),
            (
                "Secret",
                json!({"type": "kubernetes.io/service-account-token"}),
                vec!["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            ),
        ] {
            assert_eq!(texts(&created(name, object).errors), expected, "{name}");
        }
        let tls = json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}});
        let outcome = created("Secret", tls);
        assert_eq!(
            (outcome.errors.len(), outcome.warnings),
            (
                0,
                vec!["tls: failed to find any PEM data in certificate input".to_owned()]
            )
        );
    }

    #[test]
    fn immutable_objects_refuse_changes_as_recorded() {
        let meta = json!({"name": "x", "namespace": "n"});
        let old = json!({"metadata": meta, "data": {"a": "MQ=="}, "immutable": true, "type": "Opaque"});
        let immutable = "Forbidden: field is immutable when `immutable` is set";
        for (name, change, expected) in [
            (
                "ConfigMap",
                json!({"data": {"a": "Mg=="}}),
                vec![format!("data: {immutable}")],
            ),
            (
                "ConfigMap",
                json!({"immutable": false}),
                vec![format!("immutable: {immutable}")],
            ),
            (
                "ConfigMap",
                json!({"immutable": null}),
                vec![format!("immutable: {immutable}")],
            ),
            (
                "Secret",
                json!({"data": {"a": "Mg=="}}),
                vec![format!("data: {immutable}")],
            ),
            (
                "Secret",
                json!({"type": "other"}),
                vec!["type: Invalid value: \"other\": field is immutable".to_owned()],
            ),
            (
                "ConfigMap",
                json!({"metadata": {"name": "x", "namespace": "n", "labels": {"x": "y"}}}),
                vec![],
            ),
        ] {
            let mut new = old.clone();
            crate::patch::merge::apply(&mut new, &change);
            assert_eq!(
                texts(&validate_update(&kind(name), &new, &old).errors),
                expected,
                "{change}"
            );
        }
    }

    #[test]
    fn events_and_leases_refuse_as_recorded() {
        let name_part = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        let mut event = json!({"regarding": {"namespace": "n"}, "reason": "r", "type": "Normal", "reportingInstance": "i-1", "eventTime": "2020-01-01T00:00:00.000000Z"});
        event["metadata"] = json!({"name": "e", "namespace": "n"});
        let view = crate::builtin::resources()
            .into_iter()
            .find(|resource| resource.group == "events.k8s.io")
            .expect("events");
        assert_eq!(
            texts(&validate_create(&view, &event).errors),
            [
                "reportingController: Required value".to_owned(),
                "reportingController: Invalid value: \"\": name part must be non-empty".to_owned(),
                format!("reportingController: Invalid value: \"\": {name_part}"),
                "action: Required value".to_owned(),
            ]
        );
        let elsewhere = created(
            "Event",
            json!({"involvedObject": {"namespace": "elsewhere"}, "eventTime": null}),
        );
        assert_eq!(
            texts(&elsewhere.errors),
            ["involvedObject.namespace: Invalid value: \"elsewhere\": does not match event.namespace"]
        );
        let lease = created("Lease", json!({"spec": {"leaseDurationSeconds": 0}}));
        assert_eq!(
            texts(&lease.errors),
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]
        );
    }
}
