//! Checks that sets and keyed lists hold no item twice.
//!
//! Decides by value (sets) or by key (lists of type map); never looks at other limits.

use crate::correlate::key_of;
use crate::error::FieldError;
use crate::fault;
use crate::node::{Flags, ListType, Node};
use crate::path::Path;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

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
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        if !seen.insert(golang::json(item)) {
            out.push(fault::duplicate(&path.index(at), item));
        }
    }
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
    let mut seen = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        if seen.insert(key_of(keys, item)) {
            continue;
        }
        let key: Map<String, Value> = keys
            .iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())))
            .collect();
        let shown = if item.is_null() {
            Value::Null
        } else {
            Value::Object(key)
        };
        out.push(fault::duplicate(&path.index(at), &shown));
    }
}
