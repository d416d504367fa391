//! Shared names, and shared lists and words: one allocation for everything that thousands of records repeat.
//!
//! Decides nothing.

use std::sync::Arc;

use super::interner::Table;
use super::record::{Claims, ConditionText, ConfigType, OwnerReference, Reference};
use model::Name;

/// The tables of what is in use.
#[derive(Debug, Default)]
pub struct Names {
    texts: Table<str>,
    references: Table<[Reference]>,
    types: Table<[ConfigType]>,
    owners: Table<[OwnerReference]>,
    words: Table<ConditionText>,
    claims: Table<Claims>,
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
    pub(super) fn share_words(&mut self, said: ConditionText) -> Arc<ConditionText> {
        self.words.share(said)
    }

    /// Returns the shared copy of what others own.
    pub(super) fn share_claims(&mut self, claims: Claims) -> Arc<Claims> {
        self.claims.share(claims)
    }

    /// Returns how many texts the table holds.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.texts.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interner::FIRST_SWEEP;

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
