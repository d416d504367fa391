//! Records of which nothing is asked but what is in a place: those of a kind in a map of their own.
//!
//! Decides whether a new state of an object differs from the old one. Knows no kind: what names one names its record too.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::mem::swap;

use crate::kind::Place;
use crate::record::Meta;

/// A kind whose records are kept so.
pub(crate) trait Kept: 'static {
    /// What is kept of an object.
    type Record: PartialEq + Debug + Send + Sync + 'static;

    /// Identity and revision of a record.
    fn meta(record: &Self::Record) -> &Meta;
    /// The same, to be written.
    fn meta_mut(record: &mut Self::Record) -> &mut Meta;
}

/// Says of a kind what is kept of its objects: a record with identity and revision in `meta`.
macro_rules! keeps {
    ($kind:ty, $record:ty) => {
        impl crate::parts::kept::Kept for $kind {
            type Record = $record;

            fn meta(record: &$record) -> &crate::record::Meta {
                &record.meta
            }

            fn meta_mut(record: &mut $record) -> &mut crate::record::Meta {
                &mut record.meta
            }
        }
    };
}
pub(crate) use keeps;

/// What stood in a place before something else was put there.
#[derive(Debug)]
pub(crate) struct Replaced<R> {
    pub(crate) before: Option<R>,
    /// Whether anything but the revision differs: a new revision alone touches no plan.
    pub(crate) differs: bool,
}

type Map<K> = BTreeMap<Place, <K as Kept>::Record>;

/// The maps of all such kinds.
#[derive(Debug, Default)]
pub(crate) struct KeptByPlace {
    maps: BTreeMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl KeptByPlace {
    /// Returns what is in a place.
    pub(crate) fn get<K: Kept>(&self, place: &Place) -> Option<&K::Record> {
        self.map::<K>()?.get(place)
    }

    /// Returns the same, and the place as it is kept.
    pub(crate) fn entry<K: Kept>(&self, place: &Place) -> Option<(&Place, &K::Record)> {
        self.map::<K>()?.get_key_value(place)
    }

    /// Returns all of a kind, by namespace and name.
    pub(crate) fn all<K: Kept>(&self) -> impl Iterator<Item = (&Place, &K::Record)> + use<'_, K> {
        self.map::<K>().into_iter().flatten()
    }

    /// Returns whether there is nothing of a kind.
    pub(crate) fn has_none_of<K: Kept>(&self) -> bool {
        self.map::<K>().is_none_or(BTreeMap::is_empty)
    }

    /// Puts a record into its place.
    pub(crate) fn insert<K: Kept>(&mut self, place: Place, mut record: K::Record) -> Replaced<K::Record> {
        let map = self.map_mut::<K>();
        let mut before = map.remove(&place);
        let differs = before.as_mut().is_none_or(|old| {
            swap(
                &mut K::meta_mut(&mut record).version,
                &mut K::meta_mut(old).version,
            );
            let differs = *old != record;
            swap(
                &mut K::meta_mut(&mut record).version,
                &mut K::meta_mut(old).version,
            );
            differs
        });
        map.insert(place, record);
        Replaced { before, differs }
    }

    /// Takes a record out of its place.
    pub(crate) fn remove<K: Kept>(&mut self, place: &Place) -> Option<K::Record> {
        self.map_mut::<K>().remove(place)
    }

    fn map<K: Kept>(&self) -> Option<&Map<K>> {
        self.maps.get(&TypeId::of::<K>())?.downcast_ref()
    }

    fn map_mut<K: Kept>(&mut self) -> &mut Map<K> {
        let map = self.maps.entry(TypeId::of::<K>());
        let map = map.or_insert_with(|| Box::new(Map::<K>::new()));
        map.downcast_mut().expect("made above, for this type alone")
    }
}
