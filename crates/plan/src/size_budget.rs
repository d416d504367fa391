//! The size limit of a rendering.
//!
//! A rendering ends when it exceeds the limit, not afterwards. A short template can produce a very large text, with a variable that it
//! names often or with what a configuration adds to every container, and no work could hold it anyway.

use std::cell::Cell;

use serde_json::Value;

/// Bytes that one work may take: 80 % of what the hub accepts.
pub(super) const WORK: usize = 409_600;
/// Bytes of manifests that a work may keep which holds them already: all that the hub accepts. OCM's manager fills works up to
/// here, and a manifest that leaves a work is deleted on its cluster before it comes back.
pub(super) const HELD: usize = 512_000;
/// Maximum size of one manifest, in bytes. A manifest that is somewhat too large for a work is still measured, so that the fault
/// contains its size.
pub(super) const ONE: usize = 2 * WORK;
/// Bytes that all manifests of a rendering may take together.
pub(super) const ALL: usize = 32 * WORK;

/// What is left to write.
#[derive(Debug)]
pub(super) struct SizeBudget {
    one: Cell<Option<usize>>,
    all: Cell<Option<usize>>,
}

/// Which limit was exceeded.
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

    /// Takes bytes; returns whether the budget was large enough. If it was not, the caller writes nothing.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let taken = [&self.one, &self.all].map(|left| {
            left.set(left.get().and_then(|left| left.checked_sub(bytes)));
            left.get().is_some()
        });
        taken == [true, true]
    }

    /// Returns which limit was exceeded, if any.
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
        let budget = SizeBudget::default();
        assert!(budget.take(ONE) && budget.full().is_none());
        assert!(!budget.take(1) && !budget.take(0));
        assert_eq!(budget.full(), Some(Full::One));
        let budget = SizeBudget::default();
        for _ in 0..ALL / ONE {
            budget.next();
            assert!(budget.take(ONE));
        }
        budget.next();
        assert!(!budget.take(1));
        assert_eq!(budget.full(), Some(Full::All));
    }
}
