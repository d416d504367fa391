//! Shared names: one allocation for every text that thousands of records repeat.
//!
//! Decides nothing. Never leaks: texts that no record holds any more are swept when the table has doubled.

use std::collections::BTreeSet;
use std::sync::Arc;

/// A shared, immutable text: the name of something on the hub.
pub type Name = Arc<str>;

const FIRST_SWEEP: usize = 4096;

/// The table of the texts in use.
#[derive(Debug)]
pub struct Names {
    known: BTreeSet<Name>,
    sweep_at: usize,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            known: BTreeSet::new(),
            sweep_at: FIRST_SWEEP,
        }
    }
}

impl Names {
    /// Returns the shared copy of `text`.
    pub fn share(&mut self, text: &str) -> Name {
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|name| Arc::strong_count(name) > 1);
            self.sweep_at = self.known.len().saturating_mul(2).max(FIRST_SWEEP);
        }
        let name: Name = Arc::from(text);
        self.known.insert(Arc::clone(&name));
        name
    }

    /// Returns how many texts the table holds.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
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
