//! Shared names, and shared lists and words: one allocation for everything that thousands of records repeat.
//!
//! Decides nothing. Never leaks: what no record holds any more is swept when its table has doubled.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::record::{ConfigType, OwnerReference, Reference, Said};

/// A shared, immutable text: the name of something on the hub.
pub type Name = Arc<str>;

/// Returns the order of two names. Most are shared, so that most equal ones are told without being read.
pub fn order(one: &Name, other: &Name) -> Ordering {
    if Arc::ptr_eq(one, other) {
        return Ordering::Equal;
    }
    one.cmp(other)
}

const FIRST_SWEEP: usize = 4096;

/// One table of what is shared.
#[derive(Debug)]
struct Table<T: ?Sized> {
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
    fn share<V: Borrow<T> + Into<Arc<T>>>(&mut self, value: V) -> Arc<T> {
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
}

/// The tables of what is in use.
#[derive(Debug, Default)]
pub struct Names {
    texts: Table<str>,
    references: Table<[Reference]>,
    types: Table<[ConfigType]>,
    owners: Table<[OwnerReference]>,
    words: Table<Said>,
}

impl Names {
    /// Returns the shared copy of `text`.
    pub fn share(&mut self, text: &str) -> Name {
        self.texts.share(text)
    }

    /// Returns the shared copy of a list of references.
    pub(super) fn share_references(&mut self, list: Vec<Reference>) -> Arc<[Reference]> {
        self.references.share(list)
    }

    /// Returns the shared copy of a list of types.
    pub(super) fn share_types(&mut self, list: Vec<ConfigType>) -> Arc<[ConfigType]> {
        self.types.share(list)
    }

    /// Returns the shared copy of a list of owners.
    pub(super) fn share_owners(&mut self, list: Vec<OwnerReference>) -> Arc<[OwnerReference]> {
        self.owners.share(list)
    }

    /// Returns the shared copy of what a condition says.
    pub(super) fn share_words(&mut self, said: Said) -> Arc<Said> {
        self.words.share(said)
    }

    /// Returns how many texts the table holds.
    pub fn len(&self) -> usize {
        self.texts.known.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.texts.known.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_one_allocation() {
        let mut names = Names::default();
        assert!(Arc::ptr_eq(&names.share("cluster1"), &names.share("cluster1")));
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn equal_lists_share_one_allocation() {
        let mut names = Names::default();
        let list = |resource: &str| {
            vec![ConfigType {
                group: "g".into(),
                resource: resource.into(),
            }]
        };
        let first = names.share_types(list("a"));
        assert!(Arc::ptr_eq(&first, &names.share_types(list("a"))));
        assert!(!Arc::ptr_eq(&first, &names.share_types(list("b"))));
    }

    #[test]
    fn texts_that_nobody_holds_are_swept() {
        let mut names = Names::default();
        let kept = names.share("kept");
        for n in 0..(3 * FIRST_SWEEP) {
            drop(names.share(&format!("passing-{n}")));
        }
        assert!(names.len() <= FIRST_SWEEP + 1, "{}", names.len());
        assert!(Arc::ptr_eq(&kept, &names.share("kept")));
    }
}
