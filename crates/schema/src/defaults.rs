//! Fills in defaults and drops nulls that the schema does not allow.
//!
//! Decides only what is absent or null; never overwrites another value.

use crate::node::{Flags, Node};
use serde_json::Value;

/// Drops disallowed nulls without a default, then applies defaults, in that order.
pub(crate) fn apply(root: &Node, value: &mut Value) {
    drop_nulls(root, value);
    fill(root, value);
}

/// Drops members that are null although the schema neither allows null nor has a default. List items stay.
fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(members) => members.retain(|name, member| match node.member(name) {
            Some(schema) if member.is_null() => schema.is(Flags::NULLABLE) || schema.default.is_some(),
            Some(schema) => {
                drop_nulls(schema, member);
                true
            }
            None => true,
        }),
        Value::Array(items) => {
            if let Some(schema) = node.items.as_deref() {
                for item in items {
                    drop_nulls(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill(node: &Node, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, schema) in &node.properties {
                let Some(default) = schema.default.as_ref() else {
                    continue;
                };
                let wanting = members
                    .get(name)
                    .is_none_or(|member| member.is_null() && schema.refuses_null());
                if wanting {
                    members.insert(name.clone(), default.clone());
                }
            }
            for (name, member) in members.iter_mut() {
                let Some(schema) = node.member(name) else { continue };
                fill_null(schema, member);
                fill(schema, member);
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items.as_deref() else {
                return;
            };
            for item in items {
                fill_null(schema, item);
                fill(schema, item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_null(schema: &Node, value: &mut Value) {
    if value.is_null()
        && schema.refuses_null()
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}
