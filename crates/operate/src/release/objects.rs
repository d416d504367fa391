//! Which objects of a hub are of an add-on that is released, and how they are reported.

use std::collections::BTreeSet;

use serde_json::Value;

use super::steps::RemovableObjects;
use api::names::annotations::{LIFECYCLE, LIFECYCLE_TIDEGATE};
use store::terms;

impl RemovableObjects {
    /// Returns the objects of an add-on, without the bindings of OCM's manager; nothing where there are none.
    pub fn of(name: &str, addons: &[Value], instances: &[Value], bindings: &[Value]) -> Option<Self> {
        let named = |all: &[Value]| -> Vec<Value> {
            let of = all.iter().filter(|one| path(one, "/metadata/name") == name);
            of.cloned().collect()
        };
        let is_bound = |binding: &&Value| {
            let labels = binding.pointer("/metadata/labels");
            labels.is_some_and(|labels| is_of(labels, name))
        };
        let held = Self {
            addon: named(addons).into_iter().next(),
            instances: named(instances),
            bindings: bindings.iter().filter(is_bound).cloned().collect(),
            twins: BTreeSet::new(),
        };
        let is_empty = held.addon.is_none() && held.instances.is_empty() && held.bindings.is_empty();
        (!is_empty).then_some(held)
    }

    /// Returns whether the add-on is marked as Tidegate's.
    pub fn is_marked(&self) -> bool {
        let addon = self.addon.as_ref();
        let annotations = addon.and_then(|addon| addon.pointer("/metadata/annotations"));
        annotations
            .and_then(|all| all.get(LIFECYCLE))
            .is_some_and(|value| value == LIFECYCLE_TIDEGATE)
    }
}

fn is_of(labels: &Value, addon: &str) -> bool {
    [terms::ADDON_NAME, terms::TOKEN_ADDON_NAME]
        .into_iter()
        .any(|label| labels.get(label).is_some_and(|name| name == addon))
}

/// Returns the text at a JSON pointer; empty where there is none.
pub fn path<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the line of a report about an object.
pub fn report_line(addon: &str, object: &Value, says: &str) -> String {
    let (kind, name) = (path(object, "/kind"), path(object, "/metadata/name"));
    let place = match path(object, "/metadata/namespace") {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    };
    format!("{addon}: {kind} {place}: {says}\n")
}
