//! Checks that sets and keyed lists hold no item twice.
//!
//! Decides by value (sets) or by key (lists of type map); never looks at other limits.

use crate::correlate::key_of;
use crate::error::FieldError;
use crate::fault;
use crate::node::{Flags, ListType, Node};
use crate::path::Path;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reports duplicates in all lists below `value`.
pub(crate) fn check(node: &Node, value: &Value, path: &Path<'_>, out: &mut Vec<FieldError>) {
    if !node.is(Flags::LISTS_WITHIN) {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(schema) = node.properties.get(name) {
                    check(schema, member, &path.child(name), out);
                } else if let Some(schema) = node.additional_schema() {
                    check(schema, member, &path.key(name), out);
                }
            }
        }
        Value::Array(items) => {
            match &node.list {
                ListType::Atomic => {}
                ListType::Set => check_set(items, path, out),
                ListType::Map(keys) => check_keys(keys, items, path, out),
            }
            if let Some(schema) = node.items.as_deref() {
                for (at, item) in items.iter().enumerate() {
                    check(schema, item, &path.index(at), out);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_set(items: &[Value], path: &Path<'_>, out: &mut Vec<FieldError>) {
    for at in second_ones(items.iter().map(kubernetes::print::json)) {
        if let Some(item) = items.get(at) {
            out.push(fault::duplicate(&path.index(at), item));
        }
    }
}

/// Returns the positions of what stands there for the second time; Kubernetes does not tell of further times.
fn second_ones(spelled: impl Iterator<Item = String>) -> Vec<usize> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut positions = Vec::new();
    for (at, text) in spelled.enumerate() {
        let count = times.entry(text).or_default();
        *count += 1;
        if *count == 2 {
            positions.push(at);
        }
    }
    positions
}

fn check_keys(keys: &[String], items: &[Value], path: &Path<'_>, out: &mut Vec<FieldError>) {
    let before = out.len();
    for (at, item) in items
        .iter()
        .enumerate()
        .filter(|(_, item)| !item.is_object() && !item.is_null())
    {
        out.push(fault::invalid(
            &path.index(at),
            item,
            "must be an object for an array of list-type map",
        ));
    }
    if out.len() > before {
        return;
    }
    // An item that is null has no key, like one without the members.
    let nothing = Value::Object(Map::new());
    let keyed = |item| key_of(keys, item).or_else(|| key_of(keys, &nothing));
    let spelled = items.iter().map(|item| keyed(item).unwrap_or_default());
    for at in second_ones(spelled) {
        let Some(item) = items.get(at) else { continue };
        let key: Map<String, Value> = keys
            .iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())))
            .collect();
        out.push(fault::duplicate(&path.index(at), &Value::Object(key)));
    }
}
