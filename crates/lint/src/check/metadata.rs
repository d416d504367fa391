//! `metadata` of the objects in files, and objects that several files define.
//!
//! Checks what an API server checks before it calls any webhook: the name, the namespace, labels, annotations, finalizers and owners
//! of each object. An API server refuses what is an error here. The place of each finding is the field in the file.

use std::collections::BTreeMap;

use insight::offline::Identity;
use kubernetes::field::{Class, Fault, Path, Violation};
use kubernetes::object_meta::{self, MetaFault, NameRule, Namespacing};
use serde_json::Value;

use super::kinds::KnownKind;
use super::works::work_of;
use crate::report::Severity;
use admission::{METADATA_VALUE, is_policy, metadata_violation};

/// An object of a kind with namespaces names none.
const NO_NAMESPACE: &str = "metadata/no-namespace";
/// Two documents define one object differently.
const DEFINED_TWICE: &str = "metadata/defined-twice";
/// Kind of our own policies: two of one name are a fault.
const POLICY: &str = "AddOnPolicy";

/// Returns what is wrong with the metadata of an object whose scope is known: by its kind, where the kind is judged.
pub(super) fn faults(object: &Value, kind: Option<&KnownKind>) -> Vec<(Severity, Violation)> {
    let Some(namespacing) = namespacing(object, kind) else {
        return Vec::new();
    };
    let nothing = Value::Null;
    let metadata = object.get("metadata").unwrap_or(&nothing);
    let types = wrong_types(metadata);
    if !types.is_empty() {
        return types.into_iter().map(|fault| (Severity::Error, fault)).collect();
    }
    let found = object_meta::faults(metadata, NameRule::Subdomain, namespacing);
    // An API server makes a name before it checks the metadata.
    let prefix = metadata.get("generateName").and_then(Value::as_str);
    let is_named = prefix.is_some_and(|prefix| !prefix.is_empty());
    let is_open = |fault: &&MetaFault| is_named && (fault.field, fault.class) == ("name", Class::Required);
    // The rest of the metadata of kinds that the webhook judges is in its verdict.
    let is_ours =
        |fault: &&MetaFault| kind.is_none() || ["name", "namespace", "generation"].contains(&fault.field);
    found
        .iter()
        .filter(|fault| !is_open(fault) && is_ours(fault))
        .map(violation)
        .collect()
}

/// Returns whether an object has a namespace, where its kind is known.
fn namespacing(object: &Value, kind: Option<&KnownKind>) -> Option<Namespacing> {
    let is_in_a_namespace = match kind {
        Some(kind) => kind.is_namespaced,
        None if work_of(object).is_some() => true,
        None if is_policy(object) => false,
        None => return None,
    };
    Some(if is_in_a_namespace {
        Namespacing::Required
    } else {
        Namespacing::Forbidden
    })
}

fn root() -> Path {
    Path::root().key("metadata")
}

fn violation(found: &MetaFault) -> (Severity, Violation) {
    if (found.field, found.class) == ("namespace", Class::Required) {
        let detail = "the object is created in the namespace that the client selects";
        let fault = Fault::bare(Class::Required, detail);
        return (Severity::Warning, fault.at(root().key("namespace"), NO_NAMESPACE));
    }
    (Severity::Error, metadata_violation(found))
}

/// Returns the parts that are no texts: YAML reads `true` and `1` as something else.
fn wrong_types(metadata: &Value) -> Vec<Violation> {
    let is_text = |value: &Value| matches!(value, Value::String(_) | Value::Null);
    let wrong = |path: Path, value: &Value, wanted: &str| {
        let fault = Fault::of(Class::Invalid, value, format!("must be {wanted}"));
        let fault = match value {
            Value::Bool(_) | Value::Number(_) => fault.hint("write it in quotes"),
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => fault,
        };
        fault.at(path, METADATA_VALUE)
    };
    let mut found = Vec::new();
    if !matches!(metadata, Value::Object(_) | Value::Null) {
        found.push(wrong(root(), metadata, "a map"));
    }
    for field in ["name", "generateName", "namespace"] {
        let value = metadata.get(field).filter(|value| !is_text(value));
        found.extend(value.map(|value| wrong(root().key(field), value, "a string")));
    }
    for field in ["labels", "annotations"] {
        let Some(value) = metadata.get(field).filter(|value| !value.is_null()) else {
            continue;
        };
        let Some(entries) = value.as_object() else {
            found.push(wrong(root().key(field), value, "a map"));
            continue;
        };
        let entries = entries.iter().filter(|(_, value)| !is_text(value));
        found.extend(entries.map(|(key, value)| wrong(root().key(field).entry(key), value, "a string")));
    }
    for field in ["finalizers", "ownerReferences"] {
        let value = metadata
            .get(field)
            .filter(|value| !value.is_null() && !value.is_array());
        found.extend(value.map(|value| wrong(root().key(field), value, "a list")));
    }
    found
}

/// Returns the documents that define an object which an earlier document defines differently, by their position. `place` tells where
/// a document is, `of_policies` is the rule of two policies with one name.
pub(super) fn defined_twice(
    documents: &[&Value],
    place: &dyn Fn(usize) -> String,
    of_policies: &'static str,
) -> BTreeMap<usize, (Severity, Violation)> {
    let mut first: BTreeMap<Identity, usize> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (position, document) in documents.iter().enumerate() {
        let identity = Identity::of(document);
        if identity.name.is_empty() {
            continue;
        }
        let Some(before) = first.get(&identity) else {
            first.insert(identity, position);
            continue;
        };
        if documents.get(*before) == Some(document) {
            continue;
        }
        let place = place(*before);
        let path = root().key("name");
        let (severity, detail, rule) = if identity.kind == POLICY && is_policy(document) {
            let detail = format!("{place} already has a policy of this name");
            (Severity::Error, detail, of_policies)
        } else {
            let detail =
                format!("{place} defines this object differently; the one that is applied last is stored");
            (Severity::Warning, detail, DEFINED_TWICE)
        };
        let fault = Fault::of_text(Class::Duplicate, &identity.name, detail);
        found.insert(position, (severity, fault.at(path, rule)));
    }
    found
}
