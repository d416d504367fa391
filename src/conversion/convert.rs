//! One object from one version to the other.
//!
//! Decides the order: what cannot be held is taken out, fields move, and what was kept before comes back. Total: whatever has a
//! version of the group is converted, and what is no object of a kind with both stays as it is.

use serde_json::Value;

use super::fields::Fidelity;
use super::kept::{Kept, parts};
use super::places::OLD_NAMES;
use super::version::Version;
use super::{addon, cluster_addon};

/// Converts an object. Without loss: converted back it is what it was, and what was changed in between keeps what the change did not
/// touch.
#[must_use]
pub fn convert(object: Value, to: Version) -> Value {
    match Version::of(&object) {
        Some(from) if from != to => converted(object, to, Reading::Stored),
        Some(_) | None => object,
    }
}

/// Reads an object as `v1alpha1`, values that no conversion would store included: for those who judge what somebody wrote.
#[must_use]
pub fn read_as_written(object: Value) -> Value {
    match Version::of(&object) {
        Some(Version::V1beta1) => converted(object, Version::V1alpha1, Reading::Written),
        Some(Version::V1alpha1) | None => object,
    }
}

/// Tells whether an object has a field in the place and by the name of `v1alpha1` alone: where a hub's definition converts nothing, it
/// is stored so, whatever version was written.
#[must_use]
pub fn speaks_v1alpha1(object: &Value) -> bool {
    let Some(kind) = kind_of(object) else { return false };
    let old_names = OLD_NAMES.iter().map(|(_, [part, name], _)| [*part, *name]);
    let mut old_names = old_names.filter(|[_, name]| kind.known.contains(name));
    old_names.any(|[part, name]| object.get(part).is_some_and(|part| part.get(name).is_some()))
        || kind.only.iter().any(|path| is_there(object, path))
}

fn is_there(object: &Value, path: &str) -> bool {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let name = step.strip_suffix("[]").unwrap_or(step);
    let Some(next) = object.get(name) else {
        return false;
    };
    match next {
        _ if rest.is_empty() => true,
        Value::Array(items) => items.iter().any(|item| is_there(item, rest)),
        Value::Object(_) => is_there(next, rest),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn kind_of(object: &Value) -> Option<Kind> {
    match object.get("kind").and_then(Value::as_str) {
        Some("ClusterManagementAddOn") => Some(ADDON),
        Some("ManagedClusterAddOn") => Some(CLUSTER_ADDON),
        Some(_) | None => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Stored,
    Written,
}

/// What differs between the two kinds.
struct Kind {
    only: &'static [&'static str],
    known: &'static [&'static str],
    map: fn(&mut Value, Version, Reading) -> Fidelity,
}

const ADDON: Kind = Kind {
    only: addon::V1ALPHA1_ONLY,
    known: addon::KNOWN,
    map: |object, to, _| addon::map(object, to),
};

const CLUSTER_ADDON: Kind = Kind {
    only: cluster_addon::V1ALPHA1_ONLY,
    known: cluster_addon::KNOWN,
    map: |object, to, reading| cluster_addon::map(object, to, reading == Reading::Written),
};

fn converted(mut object: Value, to: Version, reading: Reading) -> Value {
    let kind = kind_of(&object);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::from(to.api_version()));
    }
    let Some(kind) = kind else { return object };
    let mut back = Kept::read(&mut object, to);
    if back.restore(&mut object) {
        return object;
    }
    let was = parts(&object);
    let from = match to {
        Version::V1alpha1 => Version::V1beta1,
        Version::V1beta1 => Version::V1alpha1,
    };
    // Such a field of a `v1beta1` object is none of its own, and means nothing.
    let mut kept = Kept::take(&mut object, kind.only);
    kept.note_unknown(&object, kind.known, &back);
    let fidelity = (kind.map)(&mut object, to, reading);
    back.put_back(&mut object);
    if fidelity == Fidelity::Lossy {
        kept.note_exact(was, &object);
    }
    if reading == Reading::Stored {
        kept.write(&mut object, from);
    }
    object
}
