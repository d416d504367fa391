//! Checks the defaults of a schema against the schema.
//!
//! Decides whether every default is a value that the server itself would accept.

use crate::check::{self, Checked};
use crate::error::FieldError;
use crate::fault;
use crate::node::Node;
use crate::path::Path;
use crate::prune;
use crate::rules::{self, Findings};
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
    let mut pruned = default.clone();
    if !prune::prune_value(node, &mut pruned).is_empty() {
        faults.push(fault::invalid(path, default, "must not have unknown fields"));
    }
    // The texts name nothing before "in body", because the default is checked as a value of its own; defaults inside of it
    // are not filled in.
    let prefix = path.field();
    let at = Path::root(&prefix);
    let mut out = Checked::default();
    check::check(node, default, None, &at, &mut out);
    let is_fit = out.faults.is_empty();
    let item = format!("{prefix}[");
    faults.extend(out.faults.into_iter().map(|mut fault| {
        // As Kubernetes joins them, which takes the item for a member.
        if let Some(rest) = fault.field.strip_prefix(&item) {
            fault.field = format!("{prefix}.[{rest}");
        }
        fault
    }));
    if is_fit {
        check_rules(node, default, &at, faults);
    }
}

/// A default may come with an update of itself, or with a new object.
fn check_rules(node: &Node, default: &Value, at: &Path<'_>, faults: &mut Vec<FieldError>) {
    for old in [Some(default), None] {
        let mut findings = Findings::default();
        rules::check_default(node, (default, old), at, &mut findings);
        let is_refused = !findings.errors.is_empty();
        faults.append(&mut findings.errors);
        if is_refused {
            return;
        }
    }
}
