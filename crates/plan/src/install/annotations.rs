//! Annotations that are copied from a cluster to its add-ons, at their creation and later.
//!
//! Decides with a record on the instance, a digest of every value that was copied, what is ours to change: an annotation that
//! another client put on the instance directly, or changed there, or that another field manager owns by the hub's own records, is
//! never overwritten and never removed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use store::{Cluster, Instance, copied_digest, copied_record, terms};

/// Returns the annotations that a new instance takes from its cluster, the record included.
pub(super) fn copied(cluster: &Cluster) -> Map<String, Value> {
    let pairs = cluster.annotations.iter();
    let mut all: Map<String, Value> = pairs
        .map(|(key, value)| (key.to_string(), Value::from(&**value)))
        .collect();
    if !cluster.copied.is_empty() {
        all.insert(
            terms::COPIED_ANNOTATIONS.to_owned(),
            Value::from(&*cluster.copied),
        );
    }
    all
}

/// Returns the changes that bring an instance's annotations up to those of its cluster.
pub(super) fn changes(cluster: &Cluster, instance: &Instance) -> Map<String, Value> {
    let is_theirs = |key: &str| instance.claims.has(key);
    if is_settled(cluster, instance) || is_theirs(terms::COPIED_ANNOTATIONS) {
        return Map::new();
    }
    let record: BTreeMap<String, String> = serde_json::from_str(&instance.copied).unwrap_or_default();
    let is_ours = |key: &str, value: &str| {
        let noted = record.get(key);
        noted.is_some_and(|noted| *noted == copied_digest(value))
    };
    let mut changes = Map::new();
    let mut next = BTreeMap::new();
    let mine = |key: &str| !is_theirs(key);
    for (key, value) in cluster.annotations.iter().filter(|(key, _)| mine(key)) {
        match instance.annotations.get(key) {
            Some(there) if there == value => {}
            Some(there) if !is_ours(key, there) => continue,
            Some(_) | None => {
                changes.insert(key.to_string(), Value::from(&**value));
            }
        }
        next.insert(key.to_string(), copied_digest(value));
    }
    let gone = |key: &&String| cluster.annotations.get(key).is_none();
    for key in record.keys().filter(gone).filter(|key| mine(key)) {
        if instance
            .annotations
            .get(key)
            .is_some_and(|there| is_ours(key, there))
        {
            changes.insert(key.clone(), Value::Null);
        }
    }
    let text = copied_record(&next);
    if *text != *instance.copied {
        let noted = if text.is_empty() {
            Value::Null
        } else {
            Value::from(text)
        };
        changes.insert(terms::COPIED_ANNOTATIONS.to_owned(), noted);
    }
    changes
}

/// The usual case, told without digests: everything is there, and everything was copied.
fn is_settled(cluster: &Cluster, instance: &Instance) -> bool {
    let mut pairs = cluster.annotations.iter();
    instance.claims.annotations.is_empty()
        && cluster.copied == instance.copied
        && pairs.all(|(key, value)| instance.annotations.get(key) == Some(value))
}
