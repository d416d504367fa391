//! Checks the defaults of a schema against the schema.
//!
//! Decides whether every default is a value that the server itself would accept.

use crate::check::{self, Checked};
use crate::error::FieldError;
use crate::fault;
use crate::node::Node;
use crate::path::Path;
use crate::{defaults, lists, prune};
use serde_json::Value;

/// Checks the defaults of `node` and of everything below it; `schema` is its source text.
pub(super) fn check(node: &Node, schema: &Value, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    if let Some(default) = &node.default {
        check_one(node, default, &path.child("default"), faults);
    }
    let properties = path.child("properties");
    for (name, member) in &node.properties {
        let Some(text) = schema
            .pointer("/properties")
            .and_then(|members| members.get(name))
        else {
            continue;
        };
        check(member, text, &properties.key(name), faults);
    }
    if let (Some(member), Some(text)) = (node.additional_schema(), schema.get("additionalProperties")) {
        check(member, text, &path.child("additionalProperties"), faults);
    }
    if let (Some(items), Some(text)) = (node.items.as_deref(), schema.get("items")) {
        check(items, text, &path.child("items"), faults);
    }
}

fn check_one(node: &Node, default: &Value, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    let mut value = default.clone();
    if !prune::prune_value(node, &mut value).is_empty() {
        faults.push(fault::invalid(path, default, "must not have unknown fields"));
        return;
    }
    defaults::apply(node, &mut value);
    // The texts name nothing before "in body", because the default is checked as a value of its own.
    let prefix = path.field();
    let at = Path::root(&prefix);
    let mut out = Checked::default();
    check::check(node, &value, None, &at, &mut out);
    faults.append(&mut out.faults);
    lists::check(node, &value, &at, faults);
}
