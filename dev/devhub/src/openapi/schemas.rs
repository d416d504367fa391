//! Schemas of a document: the kinds, their lists and whatever they refer to.
//!
//! Decides names and contents of `components.schemas`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::Resource;
use crate::builtin::Subresource;
use crate::builtin::schema::{OBJECT_META, REFERENCE, definition, definition_name, reference};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// Name of the schema of patch bodies.
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/// Returns the name of the schema of a kind; groups of custom resources are reversed.
pub(super) fn name(resource: &Resource) -> String {
    definition_name(resource).unwrap_or_else(|| {
        let reversed: Vec<&str> = resource.group.rsplit('.').collect();
        format!("{}.{}.{}", reversed.join("."), resource.version, resource.kind)
    })
}

/// Returns the name of the schema of the lists of a kind.
pub(super) fn list_name(resource: &Resource) -> String {
    let name = name(resource);
    let package = name.rsplit_once('.').map_or("", |(package, _)| package);
    format!("{package}.{}", resource.list_kind)
}

/// Returns a reference to a schema.
pub(super) fn refer(name: &str) -> Value {
    json!({ "$ref": format!("{REFERENCE}{name}") })
}

/// Returns all schemas that the documents of `resources` need.
pub(super) fn of(resources: &[&Resource]) -> Map<String, Value> {
    let mut schemas = Map::new();
    for part in ["ObjectMeta", "ListMeta", "DeleteOptions", "Status"] {
        collect(&format!("{META}.{part}"), &mut schemas);
    }
    schemas.insert(
        PATCH.to_owned(),
        json!({ "description": "A patch of any of the accepted types.", "type": "object" }),
    );
    for resource in resources {
        let name = name(resource);
        if resource.custom {
            schemas.insert(name.clone(), custom(resource));
        } else {
            collect(&name, &mut schemas);
            let below = crate::builtin::subresources(resource);
            let names = below.iter().filter_map(foreign);
            names.for_each(|name| collect(&name, &mut schemas));
        }
        if let Some(Value::Object(schema)) = schemas.get_mut(&name) {
            schema.insert(
                "x-kubernetes-group-version-kind".to_owned(),
                json!([kind(resource, &resource.kind)]),
            );
        }
        if resource.verbs.iter().any(|verb| verb == "list") {
            schemas.insert(list_name(resource), list(resource));
        }
    }
    schemas
}

/// Returns the name of the schema of a subresource whose kind is not that of its resource.
pub(super) fn foreign(below: &Subresource) -> Option<String> {
    match below.kind {
        "TokenRequest" => Some(format!("io.k8s.api.authentication.v1.{}", below.kind)),
        _ => None,
    }
}

fn kind(resource: &Resource, kind: &str) -> Value {
    json!({ "group": resource.group, "version": resource.version, "kind": kind })
}

/// Adds a built-in definition and everything that it refers to.
fn collect(name: &str, schemas: &mut Map<String, Value>) {
    if schemas.contains_key(name) {
        return;
    }
    let Some((_, definition)) = definition(name) else {
        return;
    };
    let mut definition = definition.clone();
    let mut below = Vec::new();
    wrap_references(&mut definition, &mut below);
    schemas.insert(name.to_owned(), definition);
    for name in below {
        collect(&name, schemas);
    }
}

/// Puts references that have neighbours (`description` and the like) into an `allOf`, because siblings of `$ref` are ignored.
fn wrap_references(schema: &mut Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str).map(str::to_owned);
            if let Some(target) = target {
                found.extend(target.strip_prefix(REFERENCE).map(str::to_owned));
                if map.len() > 1 {
                    map.remove("$ref");
                    map.insert("allOf".to_owned(), json!([{ "$ref": target }]));
                }
                return;
            }
            map.values_mut().for_each(|value| wrap_references(value, found));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| wrap_references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn custom(resource: &Resource) -> Value {
    let free_form = || Arc::new(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }));
    let mut schema = resource
        .open_api
        .clone()
        .unwrap_or_else(free_form)
        .as_ref()
        .clone();
    if let Value::Object(map) = &mut schema {
        map.entry("type").or_insert_with(|| json!("object"));
        let properties = map.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            for member in ["apiVersion", "kind"] {
                properties.insert(member.to_owned(), standard(member));
            }
            let metadata =
                json!({ "description": "Standard object metadata.", "allOf": [refer(OBJECT_META)] });
            properties.insert("metadata".to_owned(), metadata);
        }
    }
    schema
}

fn list(resource: &Resource) -> Value {
    json!({
        "description": format!("A list of objects of kind {}.", resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": standard("apiVersion"),
            "kind": standard("kind"),
            "metadata": { "description": "Standard list metadata.", "allOf": [refer(&format!("{META}.ListMeta"))] },
            "items": { "description": "The objects.", "type": "array", "items": refer(&name(resource)) },
        },
        "x-kubernetes-group-version-kind": [kind(resource, &resource.list_kind)],
    })
}

/// Returns the schema of `apiVersion` or `kind`, as the built-in kinds have it.
fn standard(member: &str) -> Value {
    let namespace = definition("io.k8s.api.core.v1.Namespace");
    let found = namespace
        .and_then(|(_, schema)| schema.get("properties")?.get(member))
        .cloned();
    found
        .filter(|schema| reference(schema).is_none())
        .unwrap_or_else(|| json!({ "type": "string" }))
}
