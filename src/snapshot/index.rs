//! A counted many-to-many index: who mentions what, and how often.
//!
//! Decides nothing. Never leaves an empty entry behind.

use std::collections::BTreeMap;

/// From a key to everything that mentions it.
#[derive(Debug)]
pub(super) struct Mentions<K, V> {
    by_key: BTreeMap<K, BTreeMap<V, usize>>,
}

impl<K, V> Default for Mentions<K, V> {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, V: Ord + Clone> Mentions<K, V> {
    /// Counts one more mention of `key` by `value`.
    pub(super) fn add(&mut self, key: &K, value: &V) {
        let count = self
            .by_key
            .entry(key.clone())
            .or_default()
            .entry(value.clone())
            .or_insert(0);
        *count = count.saturating_add(1);
    }

    /// Takes one mention back.
    pub(super) fn remove(&mut self, key: &K, value: &V) {
        let Some(values) = self.by_key.get_mut(key) else {
            return;
        };
        if let Some(count) = values.get_mut(value) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                values.remove(value);
            }
        }
        if values.is_empty() {
            self.by_key.remove(key);
        }
    }

    /// Returns whether `value` mentions `key`.
    pub(super) fn mentions(&self, key: &K, value: &V) -> bool {
        self.by_key
            .get(key)
            .is_some_and(|values| values.contains_key(value))
    }

    /// Returns everything that mentions `key`, sorted.
    pub(super) fn of(&self, key: &K) -> impl Iterator<Item = &V> {
        self.by_key.get(key).into_iter().flat_map(BTreeMap::keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_ends_when_the_last_one_is_taken_back() {
        let mut mentions = Mentions::default();
        mentions.add(&1, &"a");
        mentions.add(&1, &"a");
        mentions.add(&1, &"b");
        mentions.remove(&1, &"a");
        assert_eq!(mentions.of(&1).collect::<Vec<_>>(), [&"a", &"b"]);
        mentions.remove(&1, &"a");
        mentions.remove(&1, &"b");
        assert_eq!(mentions.of(&1).count(), 0);
        assert!(mentions.by_key.is_empty());
    }
}
