//! Checks what stands inside `allOf`, `anyOf`, `oneOf` and `not`.
//!
//! Decides that alternatives only check values: their shape must be declared outside of them.

use crate::error::FieldError;
use crate::fault;
use crate::node::Node;
use crate::path::Path;
use serde_json::{Map, Value};

const MUST_BE_ABSENT: [(&str, &str); 9] = [
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("nullable", "must be false to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
];

/// Reports keywords that alternatives may not have.
pub(super) fn check(words: &Map<String, Value>, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    for (keyword, detail) in MUST_BE_ABSENT {
        let given = words.get(keyword);
        if given.is_some_and(|given| given != false && given != "" && !given.is_null()) {
            faults.push(fault::forbidden(&path.child(keyword), detail));
        }
    }
    if words.contains_key("type") && !is_type_of_int_or_string(words) {
        faults.push(fault::forbidden(
            &path.child("type"),
            "must be empty to be structural",
        ));
    }
}

/// `anyOf: [{type: integer}, {type: string}]` is the one pattern in which alternatives may name a type.
fn is_type_of_int_or_string(words: &Map<String, Value>) -> bool {
    words.len() == 1
        && matches!(
            words.get("type").and_then(Value::as_str),
            Some("integer" | "string")
        )
}

/// Reports members and items that alternatives of `inner` speak of, but the schema `outer` does not declare.
pub(super) fn check_alternatives(
    outer: &Node,
    inner: &Value,
    outer_path: &Path<'_>,
    inner_path: &Path<'_>,
    faults: &mut Vec<FieldError>,
) {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let at = inner_path.child(keyword);
        let branches = inner.get(keyword).and_then(Value::as_array);
        for (index, branch) in branches.into_iter().flatten().enumerate() {
            check_completeness(outer, branch, outer_path, &at.index(index), faults);
        }
    }
    if let Some(branch) = inner.get("not") {
        check_completeness(outer, branch, outer_path, &inner_path.child("not"), faults);
    }
}

fn check_completeness(
    outer: &Node,
    inner: &Value,
    outer_path: &Path<'_>,
    inner_path: &Path<'_>,
    faults: &mut Vec<FieldError>,
) {
    check_alternatives(outer, inner, outer_path, inner_path, faults);
    if let Some(members) = inner.get("properties").and_then(Value::as_object) {
        let inner_members = inner_path.child("properties");
        let outer_members = outer_path.child("properties");
        for (name, schema) in members {
            let (inside, outside) = (inner_members.key(name), outer_members.key(name));
            match outer.properties.get(name) {
                Some(member) => check_completeness(member, schema, &outside, &inside, faults),
                None => faults.push(undeclared(&outside, &inside)),
            }
        }
    }
    if let Some(schema) = inner.get("items") {
        let (inside, outside) = (inner_path.child("items"), outer_path.child("items"));
        match outer.items.as_deref() {
            Some(items) => check_completeness(items, schema, &outside, &inside, faults),
            None => faults.push(undeclared(&outside, &inside)),
        }
    }
}

fn undeclared(outside: &Path<'_>, inside: &Path<'_>) -> FieldError {
    fault::required(outside, &format!("because it is defined in {}", inside.field()))
}
