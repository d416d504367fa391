//! Converts schemas to the types of field ownership.
//!
//! Owned as a whole are atomic values, lists without a list type, and values without a schema that are not maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use managed_fields::{KeyField, List, Map, Relation, Scalar, Type};
use serde_json::{Value, json};

use crate::builtin;
use crate::resource::Resource;

/// What ownership needs to know of a resource.
#[derive(Debug)]
pub(crate) struct Ownable {
    /// The type of its objects.
    pub(crate) of: Type,
    /// An object of which nothing is said: what a new object is compared with.
    pub(crate) zero: Value,
}

impl Ownable {
    /// Returns what ownership needs to know of a resource.
    pub(crate) fn new(resource: &Resource) -> Self {
        if resource.custom {
            let schema = resource.open_api.clone().unwrap_or_default();
            let of = object(&schema, CUSTOM);
            return Self { of, zero: json!({}) };
        }
        let schema = builtin::schema::structural(resource).unwrap_or_default();
        // The one kind whose written form does not begin with all of its empty parts.
        let is_definition = resource.kind == "CustomResourceDefinition";
        let mut zero = if is_definition {
            json!({ "spec": { "names": {} } })
        } else {
            json!({})
        };
        // Nothing is wrong with an object that says nothing.
        drop(builtin::decode::object(
            resource,
            &mut zero,
            builtin::Dialect::Json,
        ));
        Self {
            of: object(&schema, BUILT_IN),
            zero,
        }
    }
}

/// How a schema is read.
#[derive(Clone, Copy)]
struct Reading {
    /// Whether it is a definition's: then whatever it does not say is left to the values.
    custom: bool,
    /// Whether maps may have members that are not declared. A definition that says so means everything below as well.
    open: bool,
}

/// An object has a head and metadata, whatever its schema says about them.
fn object(schema: &Value, reading: Reading) -> Type {
    let mut named = schema.clone();
    if let Some(schema) = named.as_object_mut() {
        let fields = schema.entry("properties").or_insert_with(|| json!({}));
        for name in ["apiVersion", "kind"] {
            fields[name] = json!({ "type": "string" });
        }
        fields["metadata"] = json!({ "type": "object" });
    }
    let mut map = members(&named, reading.into(schema));
    let metadata = type_of(&builtin::schema::object_meta(), BUILT_IN);
    map.fields.insert("metadata".to_owned(), metadata);
    Type::Map(Arc::new(map))
}

const BUILT_IN: Reading = Reading {
    custom: false,
    open: false,
};
const CUSTOM: Reading = Reading {
    custom: true,
    open: false,
};

impl Reading {
    /// Returns how what a schema is made of is read.
    fn into(self, schema: &Value) -> Self {
        let is_open = says(schema, "x-kubernetes-preserve-unknown-fields");
        Self {
            open: is_open || (self.custom && self.open),
            ..self
        }
    }
}

fn says(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

fn type_of(schema: &Value, reading: Reading) -> Type {
    let inside = reading.into(schema);
    if !reading.custom && says(schema, "x-kubernetes-int-or-string") {
        return Type::Scalar(Scalar::Any);
    }
    if says(schema, "x-kubernetes-embedded-resource") {
        return object(schema, reading);
    }
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => return Type::List(Arc::new(list(schema, inside))),
        Some("string") if !matches!(format, "" | "byte") => return Type::Scalar(Scalar::Any),
        Some("string") => return Type::Scalar(Scalar::Text),
        Some("integer" | "number") => return Type::Scalar(Scalar::Number),
        Some("boolean") => return Type::Scalar(Scalar::Boolean),
        Some("object") => return Type::Map(Arc::new(members(schema, inside))),
        Some(_) | None => {}
    }
    let map = members(schema, inside);
    match (map.fields.is_empty(), &map.others) {
        (true, None) => Type::Opaque,
        (true, Some(Type::Deduced)) => Type::Deduced,
        (true, Some(_)) | (false, _) if reading.custom => Type::Free(Arc::new(map)),
        (true, Some(_)) | (false, _) => Type::Map(Arc::new(map)),
    }
}

fn members(schema: &Value, reading: Reading) -> Map {
    let fields: BTreeMap<String, Type> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), type_of(schema, reading)))
        .collect();
    let is_open = reading.open || (reading.custom && fields.is_empty());
    let others = match schema.get("additionalProperties") {
        Some(schema @ Value::Object(_)) => Some(type_of(schema, reading)),
        Some(Value::Bool(true)) => Some(Type::Deduced),
        Some(Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_))
        | None => is_open.then_some(Type::Deduced),
    };
    let atomic = schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    Map {
        fields,
        others,
        atomic,
    }
}

fn list(schema: &Value, reading: Reading) -> List {
    let item = schema.get("items").cloned().unwrap_or_default();
    let relation = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => Relation::Set,
        Some("map") => Relation::Keyed(keys(schema, &item)),
        Some(_) | None => Relation::Atomic,
    };
    List {
        relation,
        item: type_of(&item, reading),
    }
}

fn keys(schema: &Value, item: &Value) -> Vec<KeyField> {
    let names = schema
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let default = |name: &str| item.get("properties")?.get(name)?.get("default").cloned();
    names
        .map(|name| KeyField {
            name: name.to_owned(),
            default: default(name),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_says_what_is_owned_as_a_whole() {
        let of = object(
            &json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
            "plain": { "type": "array", "items": { "type": "string" } },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "ports": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                "items": { "type": "object", "properties": { "port": { "type": "integer" } } } },
            "atomic": { "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" } },
            "open": { "x-kubernetes-preserve-unknown-fields": true },
            "embedded": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        } } } }),
            CUSTOM,
        );
        let value = json!({ "metadata": { "finalizers": ["a/b"], "ownerReferences": [{ "uid": "u", "name": "n" }] }, "spec": {
            "plain": ["a"], "set": ["a"], "ports": [{ "port": 1 }], "atomic": { "a": "b" }, "open": { "a": { "b": [1] } },
            "embedded": { "metadata": { "labels": { "l": "m" } }, "spec": { "x": 1 } } } });
        assert_eq!(
            managed_fields::field_set(&value, &of).to_wire(),
            json!({
                "f:metadata": { "f:finalizers": { "v:\"a/b\"": {} }, "f:ownerReferences": { "k:{\"uid\":\"u\"}": {} } },
                "f:spec": { "f:plain": {}, "f:set": { "v:\"a\"": {} }, "f:ports": { "k:{\"port\":1}": { ".": {}, "f:port": {} } },
                    "f:atomic": {}, "f:open": { "f:a": { ".": {}, "f:b": {} } },
                    "f:embedded": { "f:metadata": { "f:labels": { "f:l": {} } }, "f:spec": { ".": {}, "f:x": {} } } }
            })
        );
    }
}
