//! Rules for what a definition may set per version.
//!
//! Decides about schemas, columns, subresources and selectable fields. Values that all versions share are named at the top, as
//! Kubernetes' internal type holds them there.

use schema::{ErrorClass, Schema};
use serde_json::{Value, json};

use super::findings::{Findings, text};

/// Checks every version.
pub(super) fn check_versions(definition: &Value, findings: &mut Findings, warnings: &mut Vec<String>) {
    let empty = Vec::new();
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    let shared = |name: &str| {
        versions
            .iter()
            .all(|version| version.get(name) == versions.first().and_then(|v| v.get(name)))
    };
    for (at, version) in versions.iter().enumerate() {
        let field = |name: &str, top: &str| {
            if shared(name) {
                top.to_owned()
            } else {
                format!("spec.versions[{at}].{name}")
            }
        };
        let first = |name: &str| at == 0 || !shared(name);
        match version.pointer("/schema/openAPIV3Schema") {
            None => findings.required(&format!("spec.versions[{at}].schema.openAPIV3Schema"), ""),
            Some(open_api) if first("schema") => {
                let path = format!("{}.openAPIV3Schema", field("schema", "spec.validation"));
                check_schema(open_api, &path, findings, warnings);
            }
            Some(_) => {}
        }
        if first("subresources") {
            check_scale(version, &field("subresources", "spec.subresources"), findings);
        }
        if first("additionalPrinterColumns") {
            check_columns(
                version,
                &field("additionalPrinterColumns", "spec.additionalPrinterColumns"),
                findings,
            );
        }
        if first("selectableFields") {
            check_selectable(
                version,
                &field("selectableFields", "spec.selectableFields"),
                findings,
            );
        }
    }
}

fn check_schema(open_api: &Value, path: &str, findings: &mut Findings, warnings: &mut Vec<String>) {
    match Schema::parse_at(path, open_api) {
        Ok(schema) => warnings.extend(schema.warnings().iter().cloned()),
        Err(errors) => findings.errors.extend(errors),
    }
}

fn is_simple_path(path: &str) -> bool {
    path.starts_with('.') && !path.contains("..") && !path.contains('[') && path.len() > 1
}

fn check_scale(version: &Value, field: &str, findings: &mut Findings) {
    let Some(scale) = version
        .pointer("/subresources/scale")
        .filter(|scale| scale.is_object())
    else {
        return;
    };
    for (name, parent, optional) in [
        ("specReplicasPath", ".spec", false),
        ("statusReplicasPath", ".status", false),
        ("labelSelectorPath", "", true),
    ] {
        let path = text(scale, &format!("/{name}"));
        let field = format!("{field}.scale.{name}");
        if path.is_empty() {
            if !optional {
                findings.required(&field, "");
            }
        } else if !is_simple_path(path) {
            findings.invalid(&field, &json!(path), "must be a simple json path starting with .");
        } else if optional && !path.starts_with(".spec.") && !path.starts_with(".status.") {
            findings.invalid(
                &field,
                &json!(path),
                "should be a json path under either .spec or .status",
            );
        } else if !optional && !path.starts_with(&format!("{parent}.")) {
            findings.invalid(
                &field,
                &json!(path),
                &format!("should be a json path under {parent}"),
            );
        }
    }
}

fn check_columns(version: &Value, field: &str, findings: &mut Findings) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
    for (at, column) in columns.into_iter().flatten().enumerate() {
        let field = format!("{field}[{at}]");
        if text(column, "/name").is_empty() {
            findings.required(&format!("{field}.name"), "");
        }
        match text(column, "/type") {
            "" => findings.required(
                &format!("{field}.type"),
                &format!("must be one of {}", TYPES.join(",")),
            ),
            kind if TYPES.contains(&kind) => {}
            kind => {
                let cause = format!("must be one of {}", TYPES.join(","));
                findings.invalid(&format!("{field}.type"), &json!(kind), &cause);
            }
        }
        let format = text(column, "/format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let cause = format!("must be one of {}", FORMATS.join(","));
            findings.invalid(&format!("{field}.format"), &json!(format), &cause);
        }
        match text(column, "/jsonPath") {
            "" => findings.required(&format!("{field}.JSONPath"), ""),
            path => check_json_path(path, &format!("{field}.JSONPath"), findings),
        }
    }
}

fn check_json_path(path: &str, field: &str, findings: &mut Findings) {
    if !path.starts_with('.') {
        findings.invalid(field, &json!(path), "must be a simple json path starting with .");
    } else if path.matches('[').count() != path.matches(']').count() {
        findings.invalid(field, &json!(path), "unterminated array");
    }
}

fn check_selectable(version: &Value, field: &str, findings: &mut Findings) {
    let list = version.get("selectableFields").and_then(Value::as_array);
    let Some(root) = version.pointer("/schema/openAPIV3Schema") else {
        return;
    };
    let mut seen: Vec<&str> = Vec::new();
    for (at, item) in list.into_iter().flatten().enumerate() {
        let path = text(item, "/jsonPath");
        let field = format!("{field}[{at}].jsonPath");
        if path.is_empty() {
            findings.required(&field, "");
            continue;
        }
        let target = path
            .split('.')
            .skip(1)
            .try_fold(root, |node, name| node.get("properties")?.get(name));
        match target.and_then(|node| node.get("type")).and_then(Value::as_str) {
            Some("string" | "boolean" | "integer") if !path.starts_with(".metadata") => {}
            Some(_) if !path.starts_with(".metadata") => {
                let cause = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
                findings.invalid(&field, &json!(path), cause);
            }
            Some(_) | None => findings.invalid(
                &field,
                &json!(path),
                "is an invalid path: does not refer to a valid field",
            ),
        }
        if seen.contains(&path) {
            findings.add(
                &field,
                ErrorClass::Duplicate,
                format!("Duplicate value: {path:?}"),
            );
        }
        seen.push(path);
    }
}
