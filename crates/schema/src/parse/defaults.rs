//! Checks the defaults of a schema against the schema.
//!
//! Decides whether every default is a value that the server itself would accept.

use crate::check::{self, Checked};
use crate::embedded;
use crate::error::FieldError;
use crate::fault;
use crate::node::{Flags, Node};
use crate::path::Path;
use crate::prune;
use crate::rules::{self, Findings};
use serde_json::Value;

/// Checks the defaults of `node` and of everything below it, but for `additionalProperties`, which Kubernetes passes by.
pub(super) fn check(node: &Node, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    check_below(node, Within::Resource, path, faults);
}

/// What a schema is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A whole resource.
    Resource,
    /// Part of what all resources have.
    Metadata,
    /// Any other field.
    Fields,
}

fn check_below(node: &Node, within: Within, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    let in_resource = within == Within::Resource || node.is(Flags::EMBEDDED);
    let in_meta = within == Within::Metadata && !in_resource;
    let part = |is_metadata: bool| {
        if is_metadata {
            Within::Metadata
        } else {
            Within::Fields
        }
    };
    if let Some(default) = &node.default {
        check_one(node, default, in_meta, &path.child("default"), faults);
    }
    if let Some(items) = node.items.as_deref() {
        check_below(items, part(in_meta), &path.child("items"), faults);
    }
    let properties = path.child("properties");
    for (name, member) in &node.properties {
        let is_metadata = in_meta || (in_resource && prune::is_resource_field(name));
        check_below(member, part(is_metadata), &properties.key(name), faults);
    }
}

/// A later check reports only if the ones before found nothing, except unknown fields.
fn check_one(node: &Node, default: &Value, in_meta: bool, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    // The texts name nothing before "in body", because the default is checked as a value of its own; defaults inside of it
    // are not filled in.
    let prefix = path.field();
    let at = Path::root(&prefix);
    if !in_meta {
        let mut pruned = default.clone();
        if !prune::prune_value(node, &mut pruned).is_empty() {
            faults.push(fault::invalid(path, default, "must not have unknown fields"));
        }
        let mut of_metadata = Vec::new();
        of_metadata.extend(embedded::type_fault(node, default, &at));
        if of_metadata.is_empty() {
            embedded::check(node, default, &at, &mut of_metadata);
        }
        if !of_metadata.is_empty() {
            faults.append(&mut of_metadata);
            return;
        }
    }
    let mut out = Checked::of_default();
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
        rules::check_default(node, default, old, at, &mut findings);
        let is_refused = !findings.errors.is_empty();
        faults.append(&mut findings.errors);
        if is_refused {
            return;
        }
    }
}
