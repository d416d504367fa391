//! A small sorted map of texts: the labels and annotations that a record keeps.
//!
//! Decides nothing. Costs one allocation, and none when it is empty: a fleet has thousands of them.

use super::names::Names;
use model::Name;

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
