//! Rules for definitions.
//!
//! Decides which definitions are refused, in Kubernetes' words; schemas themselves are judged by the schema crate.

use schema::{ErrorClass, FieldError};
use serde_json::{Value, json};

use super::check_conversion::{check_conversion, check_stored};
use super::check_version::check_versions;
use super::findings::{Findings, text};
use kubernetes::names::{Unit, dns1035_label_faults, dns1123_subdomain_faults};

/// Checks a new definition.
pub(crate) fn check_new(definition: &Value, errors: &mut Vec<FieldError>, warnings: &mut Vec<String>) {
    check_whole(definition, None, errors, warnings);
}

/// Checks the names that a status says are accepted.
pub(crate) fn check_status(definition: &Value, errors: &mut Vec<FieldError>) {
    let names = definition
        .pointer("/status/acceptedNames")
        .cloned()
        .unwrap_or_default();
    let mut findings = Findings::default();
    check_syntax(&names, "status.acceptedNames", &mut findings);
    errors.extend(findings.errors);
}

fn check_whole(
    definition: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
    warnings: &mut Vec<String>,
) {
    let mut findings = Findings::default();
    // Group and plural never change, so a changed definition has its name.
    if old.is_none() {
        check_name(definition, &mut findings);
    }
    check_group(definition, &mut findings);
    check_names(definition, &mut findings);
    check_scope(definition, &mut findings);
    check_storage(definition, &mut findings);
    check_conversion(definition, old, &mut findings);
    if definition.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
        let cause = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        findings.invalid("spec.preserveUnknownFields", &json!(true), cause);
    }
    check_versions(definition, &mut findings, warnings);
    errors.extend(findings.errors);
}

/// Checks a changed definition: what may never change, then everything else.
pub(crate) fn check_changed(
    definition: &Value,
    old: &Value,
    errors: &mut Vec<FieldError>,
    warnings: &mut Vec<String>,
) {
    let mut findings = Findings::default();
    let established = super::status::is_true(old, "Established");
    for pointer in [
        "/spec/group",
        "/spec/scope",
        "/spec/names/kind",
        "/spec/names/plural",
    ] {
        let part = |value: &Value| value.pointer(pointer).cloned().unwrap_or_default();
        let always = matches!(pointer, "/spec/group" | "/spec/names/plural");
        if (established || always) && part(definition) != part(old) {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            findings.invalid(&field, &part(definition), "field is immutable");
        }
    }
    errors.extend(findings.errors);
    check_whole(definition, Some(old), errors, warnings);
}

fn check_name(definition: &Value, findings: &mut Findings) {
    let name = text(definition, "/metadata/name");
    let wanted = format!(
        "{}.{}",
        text(definition, "/spec/names/plural"),
        text(definition, "/spec/group")
    );
    if name != wanted {
        findings.invalid(
            "metadata.name",
            &json!(name),
            "must be spec.names.plural+\".\"+spec.group",
        );
    }
}

fn check_group(definition: &Value, findings: &mut Findings) {
    let group = text(definition, "/spec/group");
    if group.is_empty() {
        findings.required("spec.group", "");
        return;
    }
    let faults = dns1123_subdomain_faults(group, Unit::Characters);
    for cause in &faults {
        findings.invalid("spec.group", &json!(group), cause);
    }
    if faults.is_empty() && !group.contains('.') {
        findings.invalid(
            "spec.group",
            &json!(group),
            "should be a domain with at least one dot",
        );
    }
    let is_below = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    let approval = definition
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get("api-approved.kubernetes.io"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    if (is_below("k8s.io") || is_below("kubernetes.io")) && approval.is_empty() {
        let cause = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111";
        findings.required("metadata.annotations[api-approved.kubernetes.io]", cause);
    }
}

fn check_names(definition: &Value, findings: &mut Findings) {
    for key in ["plural", "kind"] {
        // What is derived from the kind is not missed a second time.
        if text(definition, &format!("/spec/names/{key}")).is_empty() {
            findings.required(&format!("spec.names.{key}"), "");
        }
    }
    let names = definition.pointer("/spec/names").cloned().unwrap_or_default();
    check_syntax(&names, "spec.names", findings);
}

/// Checks how names are spelled.
fn check_syntax(names: &Value, at: &str, findings: &mut Findings) {
    for key in ["plural", "singular", "kind", "listKind"] {
        let name = text(names, &format!("/{key}"));
        if name.is_empty() {
            continue;
        }
        let is_kind = matches!(key, "kind" | "listKind");
        let checked = if is_kind {
            name.to_lowercase()
        } else {
            name.to_owned()
        };
        for cause in dns1035_label_faults(&checked, Unit::Bytes) {
            let prefix = if is_kind {
                "may have mixed case, but should otherwise match: "
            } else {
                ""
            };
            findings.invalid(&format!("{at}.{key}"), &json!(name), &format!("{prefix}{cause}"));
        }
    }
    let (kind, list_kind) = (text(names, "/kind"), text(names, "/listKind"));
    if !kind.is_empty() && kind == list_kind {
        findings.invalid(
            &format!("{at}.listKind"),
            &json!(list_kind),
            "kind and listKind may not be the same",
        );
    }
    for key in ["shortNames", "categories"] {
        let list = names.get(key).and_then(Value::as_array);
        for (position, item) in list.into_iter().flatten().enumerate() {
            for cause in dns1035_label_faults(item.as_str().unwrap_or_default(), Unit::Bytes) {
                findings.invalid(&format!("{at}.{key}[{position}]"), item, &cause);
            }
        }
    }
}

fn check_scope(definition: &Value, findings: &mut Findings) {
    match text(definition, "/spec/scope") {
        "Cluster" | "Namespaced" => {}
        "" => findings.required("spec.scope", ""),
        other => {
            let message =
                format!("Unsupported value: {other:?}: supported values: \"Cluster\", \"Namespaced\"");
            findings.add("spec.scope", ErrorClass::NotSupported, message);
        }
    }
}

fn check_storage(definition: &Value, findings: &mut Findings) {
    let empty = Vec::new();
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    let storage: Vec<&str> = versions
        .iter()
        .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
        .filter_map(|version| version.get("name").and_then(Value::as_str))
        .collect();
    let mut seen: Vec<&str> = Vec::new();
    for (at, version) in versions.iter().enumerate() {
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut faults = dns1035_label_faults(name, Unit::Bytes);
        faults.truncate(1);
        for cause in faults {
            findings.invalid(&format!("spec.versions[{at}].name"), &json!(name), &cause);
            if at == 0 {
                findings.invalid("spec.version", &json!(name), &cause);
            }
        }
        if seen.contains(&name) {
            findings.add(
                "spec.versions",
                ErrorClass::Invalid,
                shown(versions, "must contain unique version names"),
            );
        }
        seen.push(name);
    }
    if storage.len() != 1 {
        let cause = "must have exactly one version marked as storage version";
        findings.add("spec.versions", ErrorClass::Invalid, shown(versions, cause));
    }
    check_stored(definition, &storage, findings);
}

/// Writes versions as Kubernetes' internal type prints.
fn shown(versions: &[Value], cause: &str) -> String {
    let list: Vec<String> = versions
        .iter()
        .map(|version| {
            let flag = |name: &str| version.get(name).and_then(Value::as_bool).unwrap_or_default();
            let part = |name: &str| version.get(name).cloned().unwrap_or_default();
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
                part("name"), flag("served"), flag("storage"), flag("deprecated"), part("deprecationWarning"),
            )
        })
        .collect();
    format!("Invalid value: [{}]: {cause}", list.join(","))
}
