//! One allocation for everything that thousands of records repeat.
//!
//! Decides nothing. Never leaks: what no record holds any more is swept when the table has doubled.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) const FIRST_SWEEP: usize = 4096;

/// One table of what is shared.
#[derive(Debug)]
pub(super) struct Table<T: ?Sized> {
    known: BTreeSet<Arc<T>>,
    sweep_at: usize,
}

impl<T: ?Sized + Ord> Default for Table<T> {
    fn default() -> Self {
        Self {
            known: BTreeSet::new(),
            sweep_at: FIRST_SWEEP,
        }
    }
}

impl<T: ?Sized + Ord> Table<T> {
    /// Returns the shared copy of a value.
    pub(super) fn share<V: Borrow<T> + Into<Arc<T>>>(&mut self, value: V) -> Arc<T> {
        if let Some(known) = self.known.get(value.borrow()) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|one| Arc::strong_count(one) > 1);
            self.sweep_at = self.known.len().saturating_mul(2).max(FIRST_SWEEP);
        }
        let shared: Arc<T> = value.into();
        self.known.insert(Arc::clone(&shared));
        shared
    }

    /// Returns how many values the table holds.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}
