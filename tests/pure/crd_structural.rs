//! Checks that our CRDs have structural schemas, which an API server requires.

use serde_json::{Value, json};

#[test]
fn every_schema_is_structural() {
    let mut faults = Vec::new();
    for crd in api::crds() {
        let kind = crd.spec.names.kind.clone();
        for version in &crd.spec.versions {
            let validation = version.schema.as_ref().expect("every version has a schema");
            let schema = serde_json::to_value(&validation.open_api_v3_schema).expect("plain data");
            check(&mut faults, &kind, &schema);
            if let Some(said) = said_of_metadata(&schema) {
                faults.push(format!(
                    "{kind}: of metadata only the type may be told, not {said}"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn metadata_that_is_described_is_found() {
    let schema = |metadata: Value| json!({"type": "object", "properties": {"metadata": metadata, "spec": {"type": "object"}}});
    assert_eq!(said_of_metadata(&schema(json!({"type": "object"}))), None);
    let described = json!({"type": "object", "description": "What every object has."});
    assert_eq!(
        said_of_metadata(&schema(described)).as_deref(),
        Some("description")
    );
}

/// Returns what the schema of an object has for its metadata, which a real API server rejects even if it is a description.
fn said_of_metadata(schema: &Value) -> Option<String> {
    let metadata = schema["properties"]["metadata"].as_object()?;
    metadata.keys().find(|key| *key != "type").cloned()
}

#[test]
fn every_property_of_ours_is_described() {
    let mut faults = Vec::new();
    for crd in api::crds() {
        let validation = crd.spec.versions[0]
            .schema
            .as_ref()
            .expect("every version has a schema");
        let schema = serde_json::to_value(&validation.open_api_v3_schema).expect("plain data");
        undescribed(&mut faults, &crd.spec.names.kind, &schema);
        let metadata = format!("{}.metadata", crd.spec.names.kind);
        faults.retain(|path| *path != metadata);
    }
    assert!(faults.is_empty(), "no description:\n{}", faults.join("\n"));
}

#[test]
fn unstructural_schemas_are_found() {
    let rows = [
        (json!({}), "type is missing"),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            "both",
        ),
        (json!({"type": "array"}), "items is missing"),
        (json!({"type": "string", "$ref": "#/x"}), "$ref"),
        (json!({"type": "object", "oneOf": [{"required": ["a"]}]}), "oneOf"),
        (json!({"type": ["string", "null"]}), "type is not one word"),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            "no keys",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
                   "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
            "key a is neither required nor defaulted",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "default": 1}}}),
            "default has another type",
        ),
    ];
    for (schema, expected) in rows {
        let mut faults = Vec::new();
        check(&mut faults, "X", &schema);
        assert!(
            faults.iter().any(|fault| fault.contains(expected)),
            "{schema}: {faults:?}"
        );
    }
}

fn check(faults: &mut Vec<String>, path: &str, schema: &Value) {
    let mut fault = |text: String| faults.push(format!("{path}: {text}"));
    let loose = schema["x-kubernetes-int-or-string"] == true
        || schema["x-kubernetes-preserve-unknown-fields"] == true;
    match schema.get("type") {
        Some(Value::String(_)) => {}
        Some(_) => fault("type is not one word".to_owned()),
        None if loose => {}
        None => fault("type is missing".to_owned()),
    }
    for key in [
        "$ref",
        "definitions",
        "dependencies",
        "patternProperties",
        "uniqueItems",
        "oneOf",
        "allOf",
        "not",
    ] {
        if schema.get(key).is_some() {
            fault(format!("{key} is used"));
        }
    }
    if schema
        .get("anyOf")
        .is_some_and(|any| *any != json!([{"type": "integer"}, {"type": "string"}]))
    {
        fault("anyOf is used".to_owned());
    }
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_some() {
        fault("has both properties and additionalProperties".to_owned());
    }
    if schema["type"] == "array" && schema.get("items").is_none() {
        fault("items is missing".to_owned());
    }
    if schema
        .get("default")
        .is_some_and(|default| !has_type(default, schema))
    {
        fault("default has another type".to_owned());
    }
    if schema["x-kubernetes-list-type"] == "map" {
        list_map_faults(schema).into_iter().for_each(fault);
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        check(faults, &format!("{path}.{name}"), inner);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key) {
            check(faults, &format!("{path}[]"), inner);
        }
    }
}

fn list_map_faults(schema: &Value) -> Vec<String> {
    let keys = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if keys.is_empty() {
        return vec!["a list map has no keys".to_owned()];
    }
    let items = &schema["items"];
    let usable = |key: &&Value| {
        let name = key.as_str().unwrap_or("?");
        let required = items["required"]
            .as_array()
            .is_some_and(|required| required.contains(key));
        let property = &items["properties"][name];
        property.is_object() && (required || property.get("default").is_some())
    };
    keys.iter()
        .filter(|key| !usable(key))
        .map(|key| {
            format!(
                "key {} is neither required nor defaulted",
                key.as_str().unwrap_or("?")
            )
        })
        .collect()
}

fn has_type(value: &Value, schema: &Value) -> bool {
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        Some(_) => false,
        None => value.is_i64() || value.is_string(),
    }
}

fn undescribed(faults: &mut Vec<String>, path: &str, schema: &Value) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if inner["description"].as_str().is_none_or(str::is_empty) {
            faults.push(path.clone());
        }
        undescribed(faults, &path, inner);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key) {
            undescribed(faults, path, inner);
        }
    }
}
