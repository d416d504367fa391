//! Reads `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type`.
//!
//! Decides whether items can be told apart the way a schema says.

use super::level::texts;
use crate::error::FieldError;
use crate::fault;
use crate::node::{Flags, Kind, ListType, Node};
use crate::path::Path;
use serde_json::{Map, Value};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// Reads list and map types into `node`, whose items are read already.
pub(super) fn read(
    node: &mut Node,
    words: &Map<String, Value>,
    path: &Path<'_>,
    faults: &mut Vec<FieldError>,
) {
    check_map_type(node, words, path, faults);
    let keys = texts(words, MAP_KEYS);
    let given = words.get(LIST_TYPE);
    let at = path.child(LIST_TYPE);
    if given.is_some_and(|given| given != "map") && !keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        faults.push(fault::invalid(&at, given.unwrap_or(&Value::Null), detail));
    }
    let Some(given) = given else {
        if !keys.is_empty() {
            faults.push(fault::required(
                &at,
                "must be map if x-kubernetes-list-map-keys is non-empty",
            ));
        }
        return;
    };
    faults.extend(wrong_kind(
        node.kind,
        Kind::Array,
        words.get("type"),
        "must be array if x-kubernetes-list-type is specified",
        path,
    ));
    match given.as_str() {
        Some("atomic") => {}
        Some("set") => {
            check_set_items(node, words, path, faults);
            node.list = ListType::Set;
        }
        Some("map") => {
            check_keys(node, words, &keys, path, faults);
            node.list = ListType::Map(keys);
        }
        Some(_) | None => faults.push(fault::not_supported(&at, given, ["atomic", "set", "map"])),
    }
}

fn check_map_type(node: &Node, words: &Map<String, Value>, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    let Some(given) = words.get(MAP_TYPE) else { return };
    if !matches!(given.as_str(), Some("atomic" | "granular")) {
        faults.push(fault::not_supported(
            &path.child(MAP_TYPE),
            given,
            ["atomic", "granular"],
        ));
    }
    faults.extend(wrong_kind(
        node.kind,
        Kind::Object,
        words.get("type"),
        "must be object if x-kubernetes-map-type is specified",
        path,
    ));
}

/// Returns the fault of a schema that is not of the kind that a keyword needs; `given` is its type as written.
fn wrong_kind(
    kind: Kind,
    wanted: Kind,
    given: Option<&Value>,
    detail: &str,
    path: &Path<'_>,
) -> Option<FieldError> {
    if kind == wanted {
        return None;
    }
    let at = path.child("type");
    Some(match given {
        Some(given) => fault::invalid(&at, given, detail),
        None => fault::required(&at, detail),
    })
}

fn item_words(words: &Map<String, Value>) -> Option<&Map<String, Value>> {
    words.get("items").and_then(Value::as_object)
}

fn check_set_items(node: &Node, words: &Map<String, Value>, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    let (Some(items), Some(item)) = (node.items.as_deref(), item_words(words)) else {
        return;
    };
    let at = path.child("items");
    if items.is(Flags::NULLABLE) {
        faults.push(fault::forbidden(
            &at.child("nullable"),
            "cannot be nullable when x-kubernetes-list-type is set",
        ));
    }
    let keyword = match items.kind {
        Kind::Object => MAP_TYPE,
        Kind::Array => LIST_TYPE,
        Kind::Any | Kind::String | Kind::Integer | Kind::Number | Kind::Boolean | Kind::IntOrString => return,
    };
    let given = item.get(keyword).unwrap_or(&Value::Null);
    // A list without a type is atomic; an object without one is not.
    if given == "atomic" || (keyword == LIST_TYPE && given.is_null()) {
        return;
    }
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    faults.push(fault::invalid(&at.child(keyword), given, detail));
}

fn check_keys(
    node: &Node,
    words: &Map<String, Value>,
    keys: &[String],
    path: &Path<'_>,
    faults: &mut Vec<FieldError>,
) {
    let keys_at = path.child(MAP_KEYS);
    if keys.is_empty() {
        faults.push(fault::required(
            &keys_at,
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let at = path.child("items");
    let (Some(items), Some(item)) = (node.items.as_deref(), item_words(words)) else {
        faults.push(fault::required(
            &at,
            "must have a schema if x-kubernetes-list-type is map",
        ));
        return;
    };
    if items.is(Flags::NULLABLE) {
        faults.push(fault::forbidden(
            &at.child("nullable"),
            "cannot be nullable when x-kubernetes-list-type is map",
        ));
    }
    faults.extend(wrong_kind(
        items.kind,
        Kind::Object,
        item.get("type"),
        "must be object if parent array's x-kubernetes-list-type is map",
        &at,
    ));
    let required = texts(item, "required");
    let properties_at = at.child("properties");
    for (index, key) in keys.iter().enumerate() {
        let shown = Value::String(key.clone());
        if keys.iter().take(index).any(|earlier| earlier == key) {
            faults.push(fault::duplicate(&keys_at.index(index), &shown));
        }
        let Some(property) = items.properties.get(key) else {
            faults.push(fault::invalid(
                &keys_at.index(index),
                &shown,
                "entries must all be names of item properties",
            ));
            continue;
        };
        let property_at = properties_at.key(key);
        if matches!(property.kind, Kind::Object | Kind::Array) {
            let given = Value::String(property.kind.name().to_owned());
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            faults.push(fault::invalid(&property_at.child("type"), &given, detail));
        }
        if property.default.is_none() && !required.contains(key) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            faults.push(fault::required(&property_at.child("default"), detail));
        }
    }
}
