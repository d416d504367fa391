//! How much a rendering may write.
//!
//! Decides when it ends: while it writes, not after. A short template can ask for very much text, by a variable that it
//! names often or by what a configuration adds to every container, and no work could hold it anyway.

use std::cell::Cell;

use serde_json::Value;

/// Bytes that one work may take: 80 % of what the hub accepts.
pub(super) const WORK: usize = 409_600;
/// Bytes of manifests that a work may keep which holds them already: all that the hub accepts. OCM's manager fills works up to
/// here, and a manifest that leaves a work is deleted on its cluster before it comes back.
pub(super) const HELD: usize = 512_000;
/// Bytes that one manifest may grow to. What is somewhat too large for a work is still measured, so that its author learns by
/// how much.
pub(super) const ONE: usize = 2 * WORK;
/// Bytes that all manifests of a rendering may take together.
pub(super) const ALL: usize = 32 * WORK;

/// What is left to write.
#[derive(Debug)]
pub(super) struct SizeBudget {
    one: Cell<Option<usize>>,
    all: Cell<Option<usize>>,
}

/// What there was too little room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The manifest.
    One,
    /// All manifests together.
    All,
}

impl Default for SizeBudget {
    fn default() -> Self {
        Self {
            one: Cell::new(Some(ONE)),
            all: Cell::new(Some(ALL)),
        }
    }
}

impl SizeBudget {
    /// Begins the next manifest.
    pub(super) fn next(&self) {
        self.one.set(Some(ONE));
    }

    /// Takes bytes; tells whether there were enough. A caller that is told no writes nothing.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let taken = [&self.one, &self.all].map(|left| {
            left.set(left.get().and_then(|left| left.checked_sub(bytes)));
            left.get().is_some()
        });
        taken == [true, true]
    }

    /// Returns what there was too little room for, if anything.
    pub(super) fn full(&self) -> Option<Full> {
        match (self.one.get(), self.all.get()) {
            (None, _) => Some(Full::One),
            (Some(_), None) => Some(Full::All),
            (Some(_), Some(_)) => None,
        }
    }
}

/// Returns how many bytes a value takes at least.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).fold(items.len(), usize::saturating_add),
        Value::Object(fields) => {
            let members = fields
                .iter()
                .map(|(name, value)| name.len().saturating_add(size(value)));
            members.fold(0, usize::saturating_add)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_ends_at_the_size_of_a_work_and_all_at_theirs() {
        let room = SizeBudget::default();
        assert!(room.take(ONE) && room.full().is_none());
        assert!(!room.take(1) && !room.take(0));
        assert_eq!(room.full(), Some(Full::One));
        let room = SizeBudget::default();
        for _ in 0..ALL / ONE {
            room.next();
            assert!(room.take(ONE));
        }
        room.next();
        assert!(!room.take(1));
        assert_eq!(room.full(), Some(Full::All));
    }
}
