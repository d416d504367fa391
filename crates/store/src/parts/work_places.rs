//! Where each work is filed, by namespace and name.
//!
//! Decides nothing. A fleet has a hundred thousand works, nearly all of which share their namespace with others: a namespace is one list that
//! has hardly more capacity than entries, where a map over all of them would allocate space for twice as many.

use std::collections::BTreeMap;

use crate::kind::Place;
use model::Name;

/// Add-on and cluster under which a work is filed.
pub(crate) type FiledAs = (Name, Name);

/// Names of works and where each is filed, sorted by name.
type Listed = Vec<(Name, FiledAs)>;

/// Where works are filed.
#[derive(Debug, Default)]
pub(crate) struct WorkPlaces {
    by_namespace: BTreeMap<Name, Listed>,
}

fn search(works: &Listed, name: &Name) -> Result<usize, usize> {
    works.binary_search_by(|(known, _)| known.cmp(name))
}

impl WorkPlaces {
    /// Returns where a work is filed.
    pub(crate) fn get(&self, (namespace, name): &Place) -> Option<&FiledAs> {
        let works = self.by_namespace.get(namespace)?;
        let at = search(works, name).ok()?;
        works.get(at).map(|(_, filed)| filed)
    }

    /// Notes where a work is filed from now on.
    pub(crate) fn insert(&mut self, (namespace, name): Place, filed: FiledAs) {
        let works = self.by_namespace.entry(namespace).or_default();
        match search(works, &name) {
            Ok(at) => works.splice(at..=at, [(name, filed)]).for_each(drop),
            Err(at) => {
                if works.len() == works.capacity() {
                    // An eighth more: a hosting cluster may hold the works of thousands.
                    works.reserve_exact(works.len().div_euclid(8).saturating_add(1));
                }
                works.insert(at, (name, filed));
            }
        }
    }

    /// Forgets a work and returns where it was filed.
    pub(crate) fn remove(&mut self, (namespace, name): &Place) -> Option<FiledAs> {
        let works = self.by_namespace.get_mut(namespace)?;
        let at = search(works, name).ok()?;
        let (_, filed) = works.remove(at);
        if works.is_empty() {
            self.by_namespace.remove(namespace);
        }
        Some(filed)
    }

    /// Returns all works, sorted by namespace and name.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Place> {
        let each = self.by_namespace.iter();
        each.flat_map(|(namespace, works)| {
            let names = works.iter();
            names.map(move |(name, _)| (namespace.clone(), name.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(namespace: &str, name: &str) -> Place {
        (namespace.into(), name.into())
    }

    #[test]
    fn a_work_is_found_where_it_was_filed_last_and_nowhere_after_its_deletion() {
        let mut places = WorkPlaces::default();
        for (namespace, name) in [("c2", "b"), ("c1", "z"), ("c2", "a"), ("c2", "c")] {
            places.insert(place(namespace, name), place("addon", namespace));
        }
        places.insert(place("c2", "b"), place("other", "c3"));
        assert_eq!(places.get(&place("c2", "b")), Some(&place("other", "c3")));
        assert_eq!(places.get(&place("c1", "b")), None);
        let in_order = [("c1", "z"), ("c2", "a"), ("c2", "b"), ("c2", "c")];
        assert!(
            places
                .keys()
                .eq(in_order.map(|(namespace, name)| place(namespace, name)))
        );
        for (namespace, name) in in_order {
            assert!(places.remove(&place(namespace, name)).is_some());
            assert_eq!(places.get(&place(namespace, name)), None);
            assert_eq!(places.remove(&place(namespace, name)), None);
        }
        assert!(places.by_namespace.is_empty());
    }
}
