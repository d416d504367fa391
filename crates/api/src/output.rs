//! The documents that commands print for programs, and their JSON Schema.
//!
//! A document is a type with a `kind`. The schema is made from the types: whatever a command prints, it describes.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::names::OUTPUT_VERSION;

/// A document of the group `output.tidegate.io`.
pub trait OutputDocument: Serialize + JsonSchema {
    /// Its `kind`.
    const KIND: &'static str;
}

/// Returns a document with its `apiVersion` and `kind`.
///
/// # Errors
///
/// Fails if it cannot be written as JSON.
pub fn document<D: OutputDocument>(body: &D) -> Result<Value, serde_json::Error> {
    let mut document = serde_json::to_value(body)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("apiVersion".to_owned(), OUTPUT_VERSION.into());
        fields.insert("kind".to_owned(), D::KIND.into());
    }
    Ok(document)
}

/// One JSON Schema for documents of several kinds.
#[derive(Debug)]
pub struct OutputSchema {
    generator: SchemaGenerator,
    /// The kinds, each with the reference to its schema.
    kinds: Vec<(&'static str, Schema)>,
}

impl Default for OutputSchema {
    fn default() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        Self {
            generator: settings.into_generator(),
            kinds: Vec::new(),
        }
    }
}

impl OutputSchema {
    /// Adds a kind.
    #[must_use]
    pub fn with<D: OutputDocument>(mut self) -> Self {
        let reference = self.generator.subschema_for::<D>();
        self.kinds.push((D::KIND, reference));
        self
    }

    /// Returns the schema. Its `$defs` have a schema for each kind, which the `kind` of a document selects.
    pub fn schema(mut self) -> Value {
        let mut definitions = self.generator.take_definitions(true);
        let mut branches = Vec::new();
        for (kind, reference) in &self.kinds {
            let fits = json!({"properties": {"kind": {"const": kind}}, "required": ["kind"]});
            branches.push(json!({"if": fits, "then": reference}));
            let pointer = reference.get("$ref").and_then(Value::as_str).unwrap_or_default();
            let name = pointer.rsplit('/').next().unwrap_or_default();
            if let Some(definition) = definitions.get_mut(name) {
                stamp(definition, kind);
            }
        }
        let kinds: Vec<&str> = self.kinds.iter().map(|(kind, _)| *kind).collect();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": format!("https://tidegate.io/schemas/{}.json", OUTPUT_VERSION.replace('/', "-")),
            "title": OUTPUT_VERSION,
            "type": "object",
            "properties": {"apiVersion": {"const": OUTPUT_VERSION}, "kind": {"enum": kinds}},
            "required": ["apiVersion", "kind"],
            "allOf": branches,
            "$defs": definitions,
        })
    }
}

/// Adds `apiVersion` and `kind` to the schema of a kind.
fn stamp(definition: &mut Value, kind: &str) {
    let Some(fields) = definition.as_object_mut() else {
        return;
    };
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("apiVersion".to_owned(), json!({"const": OUTPUT_VERSION}));
        properties.insert("kind".to_owned(), json!({"const": kind}));
    }
    let required = fields.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        required.retain(|name| name != "apiVersion" && name != "kind");
        required.extend([json!("apiVersion"), json!("kind")]);
    }
}

/// Schema of a list of documents of several kinds.
pub fn items_of(schemas: &[Schema]) -> Schema {
    json_schema!({"type": "array", "items": {"anyOf": schemas}})
}

/// Schema of objects of another API, as the hub has them.
pub fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "object"}})
}
