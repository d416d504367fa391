//! The definitions as JSON Schemas, for editors and for programs that know nothing of definitions.
//!
//! Decides how the words of a definition become those of JSON Schema (draft 7, which editors read). What a definition drops in silence,
//! a field that it does not know, is a fault here: an editor is asked before anything is dropped.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use serde_json::{Map, Value, json};

use super::crds::crds;
use super::v1beta1::{Converter, serve_v1beta1};

/// The dialect.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
/// Name of the schema that fits every document of a file.
pub const EVERYTHING: &str = "all";

/// Returns a schema for every kind in every version, each with the name of its file without the ending: `placement_v1beta1`; at last
/// [`EVERYTHING`], which judges a document by its `apiVersion` and `kind` and lets other kinds pass.
pub fn json_schemas() -> Vec<(String, Value)> {
    let mut definitions = crds();
    // Who converts is no part of a schema.
    let no_converter = Converter { url: "", ca_pem: "" };
    for crd in &mut definitions {
        serve_v1beta1(crd, &no_converter);
    }
    let each = definitions
        .iter()
        .flat_map(|crd| crd.spec.versions.iter().map(move |version| (crd, version)));
    let mut all: Vec<(String, Value)> = each
        .map(|(crd, version)| (name(crd, version), of_kind(crd, version)))
        .collect();
    let everything = everything(&all);
    for (_, schema) in &mut all {
        stamp(schema);
    }
    all.push((EVERYTHING.to_owned(), everything));
    all
}

fn name(crd: &CustomResourceDefinition, version: &CustomResourceDefinitionVersion) -> String {
    format!("{}_{}", crd.spec.names.kind.to_lowercase(), version.name)
}

fn stamp(schema: &mut Value) {
    if let Some(root) = schema.as_object_mut() {
        root.insert("$schema".to_owned(), json!(DRAFT));
    }
}

fn of_kind(crd: &CustomResourceDefinition, version: &CustomResourceDefinitionVersion) -> Value {
    let validation = version.schema.as_ref();
    let schema = validation.and_then(|validation| validation.open_api_v3_schema.as_ref());
    let mut root = serde_json::to_value(schema).expect("a schema is plain data");
    translate(&mut root);
    let properties = root.as_object_mut().map(|root| {
        root.insert("required".to_owned(), required(root.get("required")));
        root.entry("properties").or_insert_with(|| json!({}))
    });
    if let Some(properties) = properties.and_then(Value::as_object_mut) {
        let of = format!("{}/{}", crd.spec.group, version.name);
        properties.insert("apiVersion".to_owned(), json!({"const": of}));
        properties.insert("kind".to_owned(), json!({"const": crd.spec.names.kind}));
        // The server checks it, and knows more about it than a definition.
        properties.insert("metadata".to_owned(), json!({"type": "object"}));
    }
    root
}

/// What a definition requires, and what makes an object one of the kind.
fn required(listed: Option<&Value>) -> Value {
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(Value::as_str);
    let mut all: Vec<&str> = listed.chain(["apiVersion", "kind"]).collect();
    all.sort_unstable();
    all.dedup();
    json!(all)
}

fn everything(all: &[(String, Value)]) -> Value {
    let mut known = Map::new();
    let mut rules = Vec::new();
    for (name, schema) in all {
        let of = |field: &str| schema.pointer(&format!("/properties/{field}")).cloned();
        rules.push(json!({
            "if": {"properties": {"apiVersion": of("apiVersion"), "kind": of("kind")}, "required": ["apiVersion", "kind"]},
            "then": {"$ref": format!("#/definitions/{name}")},
        }));
        known.insert(name.clone(), schema.clone());
    }
    json!({"$schema": DRAFT, "type": "object", "allOf": rules, "definitions": known})
}

/// Puts the words of JSON Schema in the place of those of a definition, from the leaves up.
fn translate(schema: &mut Value) {
    let Some(node) = schema.as_object_mut() else {
        return;
    };
    for (word, below) in node.iter_mut() {
        match word.as_str() {
            "properties" => below
                .as_object_mut()
                .into_iter()
                .flat_map(Map::values_mut)
                .for_each(translate),
            "items" | "additionalProperties" | "not" => translate(below),
            "allOf" | "anyOf" | "oneOf" => {
                below
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                    .for_each(translate_junctor);
            }
            _ => {}
        }
    }
    let is_set = |node: &Map<String, Value>, word: &str| node.get(word) == Some(&Value::Bool(true));
    if is_set(node, "x-kubernetes-int-or-string") {
        node.remove("anyOf");
        node.insert("type".to_owned(), json!(["integer", "string"]));
    }
    if node.contains_key("properties")
        && !node.contains_key("additionalProperties")
        && !is_set(node, "x-kubernetes-preserve-unknown-fields")
    {
        node.insert("additionalProperties".to_owned(), json!(false));
    }
    if is_set(node, "nullable") {
        let kinds = match node.get("type") {
            Some(Value::String(kind)) => json!([kind, "null"]),
            Some(Value::Array(kinds)) => kinds.iter().cloned().chain([json!("null")]).collect(),
            _ => Value::Null,
        };
        if !kinds.is_null() {
            node.insert("type".to_owned(), kinds);
        }
    }
    bound(node, "minimum", "exclusiveMinimum");
    bound(node, "maximum", "exclusiveMaximum");
    node.retain(|word, _| !word.starts_with("x-kubernetes-") && word != "nullable");
}

/// A schema below `allOf` and its like adds conditions to fields that stand elsewhere: it closes nothing.
fn translate_junctor(schema: &mut Value) {
    translate(schema);
    if let Some(node) = schema.as_object_mut()
        && node.get("additionalProperties") == Some(&json!(false))
    {
        node.remove("additionalProperties");
    }
}

/// A definition says of a bound that it is excluded, JSON Schema gives the excluded bound.
fn bound(node: &mut Map<String, Value>, bound: &str, excluded: &str) {
    match node.remove(excluded) {
        Some(Value::Bool(true)) => {
            if let Some(limit) = node.remove(bound) {
                node.insert(excluded.to_owned(), limit);
            }
        }
        Some(Value::Bool(false)) | None => {}
        Some(other) => {
            node.insert(excluded.to_owned(), other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(mut schema: Value) -> Value {
        translate(&mut schema);
        schema
    }

    #[test]
    fn words_of_definitions_become_those_of_json_schema() {
        let rows = [
            (
                json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
                json!({"type": ["integer", "string"]}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}}),
                json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": ["string", "null"]}}}),
            ),
            (
                json!({"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": true}),
                json!({"type": "object", "properties": {}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "exclusiveMinimum": true}}),
                json!({"type": "object", "additionalProperties": {"type": "integer", "exclusiveMinimum": 1}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"properties": {"a": {"minLength": 1}}, "required": ["a"]}]}),
                json!({"type": "object", "additionalProperties": false, "properties": {"a": {}},
                    "anyOf": [{"properties": {"a": {"minLength": 1}}, "required": ["a"]}]}),
            ),
            // A field may have the name of a word.
            (
                json!({"type": "object", "properties": {"nullable": {"type": "boolean"}, "items": {"type": "array", "items": {"type": "string"}}}}),
                json!({"type": "object", "additionalProperties": false,
                    "properties": {"nullable": {"type": "boolean"}, "items": {"type": "array", "items": {"type": "string"}}}}),
            ),
        ];
        for (definition, schema) in rows {
            assert_eq!(translated(definition), schema);
        }
    }

    #[test]
    fn every_kind_has_a_schema_for_each_of_its_versions() {
        let all = json_schemas();
        // Four kinds have another version, and one schema is for everything.
        assert_eq!(all.len(), crds().len() + 4 + 1);
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert!(
            names.contains(&"clustermanagementaddon_v1alpha1")
                && names.contains(&"clustermanagementaddon_v1beta1")
        );
        for (name, schema) in &all {
            assert_eq!(schema["$schema"], DRAFT, "{name}");
        }
    }
}
