//! The record of annotations that were copied from a cluster to its add-ons.
//!
//! Decides its form: a JSON object, sorted, from key to a digest of the value. Values themselves may be long and are not
//! repeated. Never decides what is copied.

use std::collections::BTreeMap;

use super::meaning::Digest;
use super::names::LabelMap;

const LENGTH: usize = 16;

/// Returns the digest of a copied value.
pub fn copied_digest(value: &str) -> String {
    let mut digest = format!("{:?}", Digest::of_text(value));
    digest.truncate(LENGTH);
    digest
}

/// Returns the record of copied annotations, "" when there are none.
pub fn copied_record(digests: &BTreeMap<String, String>) -> String {
    if digests.is_empty() {
        return String::new();
    }
    let digests = digests
        .iter()
        .map(|(key, digest)| (key.clone(), digest.clone().into()));
    serde_json::Value::Object(digests.collect()).to_string()
}

/// Returns the record of an instance to which all of these annotations were copied.
pub(super) fn record_of(annotations: &LabelMap) -> String {
    let digests: BTreeMap<String, String> = annotations
        .iter()
        .map(|(key, value)| (key.to_string(), copied_digest(value)))
        .collect();
    copied_record(&digests)
}
