//! One object from one version to the other.
//!
//! Decides the order: what cannot be held is taken out, fields move, and what was kept before comes back. Total: whatever has a
//! version of the group is converted, and what is no object of a kind with both stays as it is.

use serde_json::Value;

use super::kept::{KeptFields, parts};
use super::places::Fidelity;
use super::places::OLD_NAMES;
use super::trust::Trust;
use super::version::{Extensions, Version};
use super::{addon, cluster_addon};
use crate::hash::Keys;

/// Converts an object. Without loss: converted back it is what it was, and what was changed in between keeps what the change did
/// not touch.
#[must_use]
pub fn convert(object: Value, to: Version, extensions: Extensions) -> Value {
    convert_trusting(object, to, extensions, Trust::Everything)
}

/// The same for a hub, whose authors may write annotations: only those that its conversion has signed are put back.
#[must_use]
pub fn convert_trusting(object: Value, to: Version, extensions: Extensions, trust: Trust<'_>) -> Value {
    match Version::of(&object) {
        Some(from) if from != to => converted(object, to, extensions, trust, Reading::Stored),
        Some(_) | None => object,
    }
}

/// Reads an object as `v1alpha1`, values that no conversion would store included: for the gate, which judges what a client wrote.
/// Fields of Tidegate's own count: a hub whose definition has not got them has dropped them before it asks.
#[must_use]
pub fn read_as_written(object: Value) -> Value {
    match Version::of(&object) {
        Some(Version::V1beta1) => converted(
            object,
            Version::V1alpha1,
            Extensions::Served,
            Trust::Everything,
            Reading::Written,
        ),
        Some(Version::V1alpha1) | None => object,
    }
}

/// How else a hub may read an object than this program does: everything that any hub may make of it has to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherReading {
    /// As it stands, where the definition converts nothing.
    Unconverted,
    /// Without what is kept in it: Open Cluster Management's conversion knows nothing of that.
    WithoutKept,
    /// As `v1beta1` will show it.
    Shown,
}

impl OtherReading {
    /// Returns the other readings of an object that may mean anything else.
    #[must_use]
    pub fn of(object: &Value) -> Vec<Self> {
        let Some(version) = Version::of(object) else {
            return Vec::new();
        };
        let is_beta = version == Version::V1beta1;
        let all = [
            (Self::Unconverted, is_beta && speaks_v1alpha1(object)),
            (
                Self::WithoutKept,
                is_beta && KeptFields::is_in(object, Version::V1alpha1),
            ),
            (Self::Shown, KeptFields::is_in(object, Version::V1beta1)),
        ];
        all.into_iter()
            .filter(|(_, differs)| *differs)
            .map(|(one, _)| one)
            .collect()
    }

    /// Reads an object as `v1alpha1` in this way.
    #[must_use]
    pub fn read(self, mut object: Value) -> Value {
        match self {
            Self::Unconverted => {
                if let Some(fields) = object.as_object_mut() {
                    fields.insert(
                        "apiVersion".to_owned(),
                        Value::from(Version::V1alpha1.api_version()),
                    );
                }
                object
            }
            Self::WithoutKept => {
                KeptFields::forget(&mut object, Version::V1alpha1);
                read_as_written(object)
            }
            Self::Shown => {
                let kept = KeptFields::text(&object, Version::V1beta1);
                let mut stored = read_as_written(object);
                KeptFields::set(&mut stored, Version::V1beta1, kept);
                read_as_written(convert(stored, Version::V1beta1, Extensions::Kept))
            }
        }
    }
}

/// Tells whether an object has a field in the place and by the name of `v1alpha1` alone: where a hub's definition converts
/// nothing, it is stored so, whatever version was written.
fn speaks_v1alpha1(object: &Value) -> bool {
    let Some(kind) = kind_of(object) else { return false };
    let old_names = OLD_NAMES.iter().map(|(_, [part, name], _)| [*part, *name]);
    let mut old_names = old_names.filter(|[_, name]| kind.known.contains(name));
    old_names.any(|[part, name]| object.get(part).is_some_and(|part| part.get(name).is_some()))
        || kind.given_up.iter().any(|path| is_there(object, path))
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

/// Returns Tidegate's own fields of a kind in `v1alpha1`: paths, with `[]` for every item of a list. None for other kinds.
pub fn own_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "ClusterManagementAddOn" => ADDON.extensions,
        "ManagedClusterAddOn" => CLUSTER_ADDON.extensions,
        _ => &[],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Stored,
    Written,
}

/// What differs between the two kinds.
struct Kind {
    given_up: &'static [&'static str],
    extensions: &'static [&'static str],
    known: &'static [&'static str],
    map: fn(&mut Value, Version, Reading) -> Fidelity,
}

const ADDON: Kind = Kind {
    given_up: addon::GIVEN_UP,
    extensions: addon::EXTENSIONS,
    known: addon::KNOWN,
    map: |object, to, _| addon::map(object, to),
};

const CLUSTER_ADDON: Kind = Kind {
    given_up: cluster_addon::GIVEN_UP,
    extensions: cluster_addon::EXTENSIONS,
    known: cluster_addon::KNOWN,
    map: |object, to, reading| cluster_addon::map(object, to, reading == Reading::Written),
};

impl Kind {
    /// The fields that only `v1alpha1` has.
    fn only(&self, extensions: Extensions) -> impl Iterator<Item = &'static &'static str> + use<> {
        let ours = match extensions {
            Extensions::Kept => self.extensions,
            Extensions::Served => &[],
        };
        self.given_up.iter().chain(ours)
    }

    /// Tells whether a first field of spec or status is one of both versions.
    fn knows(&self, part: &str, name: &str, extensions: Extensions) -> bool {
        let is_ours = |path: &&str| {
            let mut steps = path.split('.');
            (steps.next(), steps.next()) == (Some(part), Some(name))
        };
        self.known.contains(&name) || extensions == Extensions::Served && self.extensions.iter().any(is_ours)
    }
}

/// Returns whether an annotation of an object for what only the other version can hold counts on a hub with these keys; nothing where
/// there is none.
#[must_use]
pub fn is_signed(object: &Value, keys: &Keys) -> Option<bool> {
    let of = Version::of(object)?.other();
    let text = KeptFields::text(object, of)?;
    Some(Trust::Keys(keys).open(object, of, &text).is_some())
}

fn converted(
    mut object: Value,
    to: Version,
    extensions: Extensions,
    trust: Trust<'_>,
    reading: Reading,
) -> Value {
    let kind = kind_of(&object);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::from(to.api_version()));
    }
    let Some(kind) = kind else { return object };
    let mut back = KeptFields::read(&mut object, to, trust);
    if back.restore(&mut object) {
        KeptFields::forget_counted(&mut object, to.other(), trust);
        return object;
    }
    let from = to.other();
    // Written by hand: a version keeps nothing for itself. Left there, it would take effect when it is converted back.
    KeptFields::forget_counted(&mut object, from, trust);
    let was = parts(&object);
    // Such a field of a `v1beta1` object is none of its own, and means nothing.
    let mut kept = KeptFields::take(&mut object, kind.only(extensions));
    kept.note_unknown(&object, |part, name| kind.knows(part, name, extensions), &back);
    let fidelity = (kind.map)(&mut object, to, reading);
    back.put_back(&mut object);
    if fidelity == Fidelity::Lossy {
        kept.note_exact(was, &mut object);
    }
    if reading == Reading::Stored {
        kept.write(&mut object, from, trust);
    }
    object
}
