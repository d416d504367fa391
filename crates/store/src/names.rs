//! Shared names, lists and words, and maps of labels: one allocation for everything that thousands of records repeat.
//!
//! Decides nothing. Never leaks: what no record holds any more is swept when the table has doubled.

use super::record::{Claims, ConditionText, ConfigType, OwnerReference, Reference};
use model::Name;
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

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

/// Keys with their values, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelMap(Box<[(Name, Name)]>);

impl LabelMap {
    /// Collects pairs; of equal keys the last one counts.
    pub(super) fn share<'a>(
        pairs: impl IntoIterator<Item = (&'a String, &'a String)>,
        names: &mut Names,
    ) -> Self {
        let all: std::collections::BTreeMap<Name, Name> = pairs
            .into_iter()
            .map(|(key, value)| (names.share(key), names.share(value)))
            .collect();
        Self(all.into_iter().collect())
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Name> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Returns keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Name)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
    fn unused_texts_are_removed() {
        let mut names = Names::default();
        let kept = names.share("kept");
        for n in 0..(3 * FIRST_SWEEP) {
            drop(names.share(&format!("passing-{n}")));
        }
        assert!(names.len() <= FIRST_SWEEP + 1, "{}", names.len());
        assert!(Arc::ptr_eq(&kept, &names.share("kept")));
    }
}

#[cfg(test)]
mod label_map_tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_key() {
        let all = [("b", "2"), ("a", "1"), ("c", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let pairs = LabelMap::share(all.iter().map(|(key, value)| (key, value)), &mut Names::default());
        assert_eq!(pairs.get("a").map(|value| &**value), Some("1"));
        assert_eq!(pairs.get("c").map(|value| &**value), Some(""));
        assert_eq!(pairs.get("d"), None);
        assert_eq!(
            pairs.iter().map(|(key, _)| &**key).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert!(LabelMap::default().is_empty());
    }
}
