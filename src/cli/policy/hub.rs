//! A hub made of objects in files: where the facts of a test come from.
//!
//! Decides nothing: the objects go through the same store as those of a real hub.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::snapshot::{Completeness, Event, Facts, Kind, Settings, Store};

/// Whether the objects are the whole hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// What is not among them does not exist.
    Whole,
    /// Nobody knows whether what is not among them exists.
    Part,
}

/// Returns the facts of a hub that holds these objects.
pub(super) fn facts(objects: &[Value], extent: Extent) -> Facts {
    let mut kinds: BTreeMap<Kind, Vec<Value>> =
        Kind::ALL.into_iter().map(|kind| (kind, Vec::new())).collect();
    for object in objects {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let known = Kind::ALL.into_iter().find(|kind| {
            let address = kind.address();
            let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
            address.group == group && address.kind == text("kind")
        });
        if let Some(list) = known.and_then(|kind| kinds.get_mut(&kind)) {
            list.push(served(object));
        }
    }
    let mut store = Store::new(Settings::default());
    for (kind, objects) in kinds {
        store.apply(Event::Listed { kind, objects });
    }
    let known = match extent {
        Extent::Whole => Completeness::all(),
        Extent::Part => Completeness::NONE,
    };
    store.publish(known).unwrap_or_default()
}

/// A manifest has not been stored, and lacks what a server adds.
fn served(object: &Value) -> Value {
    let mut object = object.clone();
    let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("uid").or_insert(name);
        metadata.entry("resourceVersion").or_insert_with(|| "1".into());
        metadata.entry("generation").or_insert_with(|| 1.into());
    }
    object
}
