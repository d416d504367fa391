//! The one `OpenAPI` v2 document, for clients that came before v3.
//!
//! Decides nothing new: everything of the v3 documents, in the older form. What that form cannot say (alternatives, nullable
//! values) is left out, as a real server leaves it out.

use serde_json::{Map, Value, json};

use super::{binary, document, index};
use crate::Resource;
use crate::discovery::hexadecimal;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
const DEFINITIONS: &str = "#/definitions/";

/// Returns the hash of the document, without making it.
pub fn swagger_fingerprint(resources: &[Resource]) -> String {
    let parts = index::document_paths(resources);
    let parts: Vec<String> = parts
        .iter()
        .map(|path| index::fingerprint(resources, path))
        .collect();
    hexadecimal(parts.join("\n").as_bytes())
}

/// Returns the document of `/openapi/v2`.
pub fn swagger(resources: &[Resource]) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for path in index::document_paths(resources) {
        let Some(mut document) = document(resources, &path) else {
            continue;
        };
        for (path, item) in members(document.get_mut("paths")) {
            paths.insert(path, older_item(item));
        }
        for (name, schema) in members(document.pointer_mut("/components/schemas")) {
            definitions.entry(name).or_insert_with(|| older_schema(schema));
        }
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "v1.36" },
        "paths": paths,
        "definitions": definitions,
    })
}

/// Returns the document of `/openapi/v2` in its binary form.
pub fn swagger_bytes(resources: &[Resource]) -> Vec<u8> {
    binary::encode(&swagger(resources))
}

fn members(value: Option<&mut Value>) -> Map<String, Value> {
    match value.map(Value::take) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn older_item(item: Value) -> Value {
    let Value::Object(mut item) = item else {
        return item;
    };
    for (name, value) in &mut item {
        let taken = value.take();
        *value = match taken {
            Value::Array(parameters) if name == "parameters" => {
                parameters.into_iter().map(older_parameter).collect()
            }
            operation if METHODS.contains(&name.as_str()) => older_operation(operation),
            other => other,
        };
    }
    Value::Object(item)
}

fn older_operation(operation: Value) -> Value {
    let Value::Object(mut operation) = operation else {
        return operation;
    };
    let mut parameters: Vec<Value> = match operation.remove("parameters") {
        Some(Value::Array(parameters)) => parameters.into_iter().map(older_parameter).collect(),
        _ => Vec::new(),
    };
    if let Some(mut body) = operation.remove("requestBody") {
        let required = body.get("required") == Some(&Value::Bool(true));
        let content = members(body.get_mut("content"));
        let mut parameter = json!({ "name": "body", "in": "body", "schema": schema_of(&content) });
        if let Some(parameter) = parameter.as_object_mut().filter(|_| required) {
            parameter.insert("required".to_owned(), json!(true));
        }
        parameters.push(parameter);
        operation.insert("consumes".to_owned(), content.keys().cloned().collect());
    }
    operation.insert("parameters".to_owned(), Value::Array(parameters));
    operation.entry("consumes").or_insert_with(|| json!(["*/*"]));
    let mut produced = vec!["application/json".to_owned()];
    if let Some(Value::Object(responses)) = operation.get_mut("responses") {
        for response in responses.values_mut().filter_map(Value::as_object_mut) {
            let content = members(response.get_mut("content"));
            if response.remove("content").is_some() {
                response.insert("schema".to_owned(), schema_of(&content));
                produced = content.keys().cloned().collect();
            }
        }
    }
    operation.insert("produces".to_owned(), json!(produced));
    operation.insert("schemes".to_owned(), json!(["https"]));
    Value::Object(operation)
}

/// All encodings of a body have the same schema.
fn schema_of(content: &Map<String, Value>) -> Value {
    let schema = content.values().next().and_then(|kind| kind.get("schema"));
    older_schema(schema.cloned().unwrap_or_default())
}

/// The type of a parameter stands in the parameter itself.
fn older_parameter(parameter: Value) -> Value {
    let Value::Object(mut parameter) = parameter else {
        return parameter;
    };
    if let Some(Value::Object(schema)) = parameter.remove("schema") {
        parameter.extend(schema);
    }
    Value::Object(parameter)
}

fn older_schema(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    if let Some(target) = referred(&schema) {
        schema.retain(|name, _| name == "description");
        schema.insert("$ref".to_owned(), Value::String(target));
        return Value::Object(schema);
    }
    for alternatives in ["allOf", "anyOf", "oneOf", "not", "writeOnly"] {
        schema.remove(alternatives);
    }
    let is = |schema: &Map<String, Value>, name: &str| schema.get(name) == Some(&Value::Bool(true));
    // Clients that read the older form take a type as a promise that null breaks, and members as all there are.
    if schema.remove("nullable") == Some(Value::Bool(true)) || is(&schema, "x-kubernetes-int-or-string") {
        for narrow in ["type", "items", "properties", "additionalProperties"] {
            schema.remove(narrow);
        }
    }
    if is(&schema, "x-kubernetes-preserve-unknown-fields") {
        for narrow in ["items", "properties"] {
            schema.remove(narrow);
        }
    }
    for (name, value) in &mut schema {
        let taken = value.take();
        *value = match (name.as_str(), taken) {
            ("properties", Value::Object(below)) => below
                .into_iter()
                .map(|(name, schema)| (name, older_schema(schema)))
                .collect(),
            ("items" | "additionalProperties", below) => older_schema(below),
            (_, other) => other,
        };
    }
    Value::Object(schema)
}

/// Returns what a schema refers to, alone or inside of a one-element `allOf`.
fn referred(schema: &Map<String, Value>) -> Option<String> {
    let inner = schema.get("allOf").and_then(Value::as_array);
    let target = match (schema.get("$ref"), inner.map(Vec::as_slice)) {
        (Some(target), _) => target,
        (None, Some([only])) => only.get("$ref")?,
        (None, _) => return None,
    };
    let name = target.as_str()?.rsplit('/').next()?;
    Some(format!("{DEFINITIONS}{name}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::builtin;

    #[test]
    fn every_reference_has_its_definition_and_no_word_of_v3_is_left() {
        let document = swagger(&builtin::resources());
        let text = document.to_string();
        let targets: BTreeSet<&str> = text
            .split("\"$ref\":\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(targets.len() > 40, "{}", targets.len());
        for target in targets {
            let name = target
                .strip_prefix(DEFINITIONS)
                .unwrap_or_else(|| panic!("{target}"));
            assert!(document["definitions"].get(name).is_some(), "{name}");
        }
        for word in [
            "\"requestBody\"",
            "\"content\":{",
            "#/components/",
            "\"allOf\":[",
            "\"nullable\":true",
        ] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn operations_take_their_body_as_a_parameter() {
        let document = swagger(&builtin::resources());
        let patch = document
            .pointer("/paths/~1api~1v1~1namespaces~1{namespace}~1configmaps~1{name}/patch")
            .expect("a patch");
        let body = patch["parameters"]
            .as_array()
            .and_then(|all| all.last())
            .expect("a body");
        assert_eq!(body["in"], "body");
        assert_eq!(
            body["schema"]["$ref"],
            "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
        );
        assert_eq!(patch["consumes"].as_array().map(Vec::len), Some(4));
        assert_eq!(patch["parameters"][0]["type"], "string");
        assert_eq!(
            patch["responses"]["200"]["schema"]["$ref"],
            "#/definitions/io.k8s.api.core.v1.ConfigMap"
        );
    }

    #[test]
    fn schemas_leave_out_what_the_older_form_cannot_say() {
        for (newer, older) in [
            (
                json!({"description": "d", "default": {}, "allOf": [{"$ref": "#/components/schemas/a.B"}]}),
                json!({"description": "d", "$ref": "#/definitions/a.B"}),
            ),
            (json!({"type": "string", "nullable": true}), json!({})),
            (
                json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
                json!({"x-kubernetes-int-or-string": true}),
            ),
            (
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {}}}),
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            ),
            (
                json!({"type": "object", "properties": {"oneOf": {"type": "array", "items": {"$ref": "#/components/schemas/a.B"}}}}),
                json!({"type": "object", "properties": {"oneOf": {"type": "array", "items": {"$ref": "#/definitions/a.B"}}}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string", "oneOf": [{}]}, "enum": [1], "not": {}}),
                json!({"type": "object", "additionalProperties": {"type": "string"}, "enum": [1]}),
            ),
        ] {
            assert_eq!(older_schema(newer), older);
        }
    }
}
