//! A map of names that is cheap to share and to change: thousands of entries, of which one is replaced at a time.
//!
//! Decides nothing. A shared map is copied before it is changed; here only the part is that holds the name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many parts: a change of a fleet of 10,000 copies 160 entries.
const PARTS: usize = 64;

type Part<T> = Arc<BTreeMap<Arc<str>, T>>;

/// Values by name, in parts that are shared until they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardedMap<T> {
    /// Empty while nothing was ever put in.
    parts: Arc<[Part<T>]>,
}

impl<T> Default for ShardedMap<T> {
    fn default() -> Self {
        Self { parts: Arc::from([]) }
    }
}

impl<T> ShardedMap<T> {
    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.parts.get(part_of(name))?.get(name)
    }

    /// Tells whether a name has a value.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns names and values in an order that depends on nothing but the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &T)> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    /// Returns how many names have a value.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// Tells whether no name has a value.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.is_empty())
    }
}

impl<T: PartialEq> ShardedMap<T> {
    /// Returns the names whose values differ in another map; parts that both share are not looked at.
    pub fn changed(&self, other: &Self) -> BTreeSet<Arc<str>> {
        let none = Part::default();
        let mut names = BTreeSet::new();
        for index in 0..PARTS {
            let one = self.parts.get(index).unwrap_or(&none);
            let two = other.parts.get(index).unwrap_or(&none);
            if Arc::ptr_eq(one, two) {
                continue;
            }
            let differs = |(name, value): &(&Arc<str>, &T)| two.get(*name) != Some(*value);
            names.extend(one.iter().filter(differs).map(|(name, _)| Arc::clone(name)));
            names.extend(two.keys().filter(|name| !one.contains_key(*name)).cloned());
        }
        names
    }
}

impl<T: Clone + PartialEq> ShardedMap<T> {
    /// Gives a name a value, or takes it away; tells whether that changed anything.
    pub fn set(&mut self, name: &Arc<str>, value: Option<T>) -> bool {
        if self.get(name) == value.as_ref() {
            return false;
        }
        if self.parts.is_empty() {
            self.parts = (0..PARTS).map(|_| Part::default()).collect();
        }
        let Some(part) = Arc::make_mut(&mut self.parts).get_mut(part_of(name)) else {
            return false;
        };
        match value {
            Some(value) => Arc::make_mut(part).insert(Arc::clone(name), value),
            None => Arc::make_mut(part).remove(name),
        };
        true
    }
}

/// FNV-1a: the same on every machine and in every run.
fn part_of(name: &str) -> usize {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (hash as usize) % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_earlier_copies_and_other_parts_alone() {
        let mut map: ShardedMap<u32> = ShardedMap::default();
        let name = |n: u32| Arc::from(format!("cluster{n}"));
        for n in 0..1000 {
            assert!(map.set(&name(n), Some(n)));
        }
        let before = map.clone();
        assert!(!map.set(&name(7), Some(7)), "nothing changes");
        assert!(map.set(&name(7), Some(70)));
        assert!(map.set(&name(8), None));
        assert_eq!((before.get("cluster7"), before.len()), (Some(&7), 1000));
        assert_eq!((map.get("cluster7"), map.len()), (Some(&70), 999));
        let shared = map.parts.iter().zip(before.parts.iter());
        assert!(shared.filter(|(new, old)| !Arc::ptr_eq(new, old)).count() <= 2);
    }

    #[test]
    fn names_spread_over_the_parts() {
        let mut map: ShardedMap<()> = ShardedMap::default();
        for n in 0..10_000 {
            map.set(&Arc::from(format!("cluster{n}")), Some(()));
        }
        let largest = map.parts.iter().map(|part| part.len()).max();
        assert!(largest < Some(400), "{largest:?}");
        assert_eq!(map.iter().count(), 10_000);
    }

    #[test]
    fn an_empty_map_costs_nothing() {
        let mut map: ShardedMap<()> = ShardedMap::default();
        assert!(map.is_empty() && !map.contains("a"));
        assert!(!map.set(&Arc::from("a"), None));
        assert_eq!(map.parts.len(), 0);
    }
}
