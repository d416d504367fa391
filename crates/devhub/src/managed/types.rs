//! From schemas to the types that ownership needs.
//!
//! Decides what is owned as a whole: what the schema calls atomic, lists that do not say how items are told apart, and
//! everything that the schema does not describe.

use std::sync::Arc;

use fields::{KeyField, List, Map, Type};
use serde_json::Value;

use crate::builtin;
use crate::resource::Resource;

/// Returns the type of the objects of a resource.
pub(crate) fn type_of_resource(resource: &Resource) -> Type {
    let schema = if resource.custom {
        resource.open_api.clone()
    } else {
        builtin::schema::structural(resource)
    };
    let schema = schema.unwrap_or_default();
    object(&schema)
}

/// An object has a head and metadata, whatever its schema says about them.
fn object(schema: &Value) -> Type {
    let mut map = members(schema);
    for name in ["apiVersion", "kind"] {
        map.fields.insert(name.to_owned(), Type::Leaf);
    }
    map.fields
        .insert("metadata".to_owned(), type_of(&builtin::schema::object_meta()));
    Type::Map(Arc::new(map))
}

fn type_of(schema: &Value) -> Type {
    let is = |name: &str| schema.get(name) == Some(&Value::Bool(true));
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    if text("x-kubernetes-map-type") == Some("atomic") || is("x-kubernetes-int-or-string") {
        return Type::Leaf;
    }
    if is("x-kubernetes-embedded-resource") {
        return object(schema);
    }
    if text("type") == Some("array") {
        return list(schema);
    }
    let map = members(schema);
    let is_object = text("type") == Some("object") || !map.fields.is_empty() || map.others.is_some();
    if is_object {
        Type::Map(Arc::new(map))
    } else {
        Type::Leaf
    }
}

fn members(schema: &Value) -> Map {
    let fields = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), type_of(schema)))
        .collect();
    let is_open = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let others = match schema.get("additionalProperties") {
        Some(schema @ Value::Object(_)) => Some(type_of(schema)),
        Some(Value::Bool(true)) => Some(Type::Deduced),
        Some(Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_))
        | None => is_open.then_some(Type::Leaf),
    };
    Map { fields, others }
}

fn list(schema: &Value) -> Type {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => Type::List(Arc::new(List::Set)),
        Some("map") => {
            let item = schema.get("items").cloned().unwrap_or_default();
            let names = schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let keys = names.map(|name| KeyField {
                name: name.to_owned(),
                default: item
                    .get("properties")
                    .and_then(|properties| properties.get(name))
                    .and_then(|field| field.get("default"))
                    .cloned(),
            });
            Type::List(Arc::new(List::Keyed {
                keys: keys.collect(),
                item: type_of(&item),
            }))
        }
        Some(_) | None => Type::Leaf,
    }
}
