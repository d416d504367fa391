//! A counted many-to-many index: who mentions what, and how often.
//!
//! Decides nothing. Never leaves an empty entry behind.

use std::collections::BTreeMap;

/// From a key to everything that mentions it, sorted, and how often. Most keys are mentioned once or twice, for which a map
/// would allocate space for many.
#[derive(Debug)]
pub(crate) struct Mentions<K, V> {
    by_key: BTreeMap<K, Vec<(V, usize)>>,
}

impl<K, V> Default for Mentions<K, V> {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
        }
    }
}

fn search<V: Ord>(values: &[(V, usize)], value: &V) -> Result<usize, usize> {
    values.binary_search_by(|(known, _)| known.cmp(value))
}

impl<K: Ord + Clone, V: Ord + Clone> Mentions<K, V> {
    /// Counts one more mention of `key` by `value`.
    pub(crate) fn add(&mut self, key: &K, value: &V) {
        let values = self.by_key.entry(key.clone()).or_default();
        match search(values, value) {
            Ok(at) => {
                if let Some((_, count)) = values.get_mut(at) {
                    *count = count.saturating_add(1);
                }
            }
            Err(at) => {
                values.reserve_exact(1);
                values.insert(at, (value.clone(), 1));
            }
        }
    }

    /// Takes one mention back.
    pub(crate) fn remove(&mut self, key: &K, value: &V) {
        let Some(values) = self.by_key.get_mut(key) else {
            return;
        };
        if let Ok(at) = search(values, value)
            && let Some((_, count)) = values.get_mut(at)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                values.remove(at);
            }
        }
        if values.is_empty() {
            self.by_key.remove(key);
        }
    }

    /// Returns whether `value` mentions `key`.
    pub(crate) fn mentions(&self, key: &K, value: &V) -> bool {
        let values = self.by_key.get(key);
        values.is_some_and(|values| search(values, value).is_ok())
    }

    /// Returns what is mentioned, sorted.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.by_key.keys()
    }

    /// Returns everything that mentions `key`, sorted.
    pub(crate) fn of(&self, key: &K) -> impl Iterator<Item = &V> {
        self.by_key.get(key).into_iter().flatten().map(|(value, _)| value)
    }
}

/// Whether a record begins or ceases to mention others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mentioned {
    /// It begins to.
    Now,
    /// It ceases to.
    NoMore,
}

impl Mentioned {
    /// Counts a mention, or takes one back.
    pub(crate) fn note<K: Ord + Clone, V: Ord + Clone>(self, index: &mut Mentions<K, V>, key: &K, value: &V) {
        match self {
            Self::Now => index.add(key, value),
            Self::NoMore => index.remove(key, value),
        }
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
