//! Small moves on JSON objects.
//!
//! Decides nothing.

use serde_json::{Map, Value};

/// Whether everything that stood in an object can be told from what it became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fidelity {
    /// It can.
    Exact,
    /// Something was lost on the way.
    Lossy,
}

impl Fidelity {
    /// Lossy as soon as one of both is.
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Exact { other } else { self }
    }

    /// Exact if this holds.
    pub(super) const fn only_if(holds: bool) -> Self {
        if holds { Self::Exact } else { Self::Lossy }
    }
}

/// Returns a member of an object, if that is an object.
pub(super) fn object<'a>(of: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    of.get_mut(name)?.as_object_mut()
}

/// Gives a member another name. What had that name before was nothing of this version's, and is lost.
pub(super) fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) -> Fidelity {
    let stray = fields.remove(to);
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
    Fidelity::only_if(stray.is_none())
}

/// Returns a member that is a text.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// Tells whether an object has no other members than these.
pub(super) fn has_only(fields: &Map<String, Value>, names: &[&str]) -> bool {
    fields.keys().all(|key| names.contains(&key.as_str()))
}
