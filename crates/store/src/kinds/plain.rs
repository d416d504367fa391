//! Kinds whose records are kept by their place alone: they say how an object is read, and what a change of it concerns.
//!
//! Decides that a change of the revision alone concerns no plan. Never knows a kind by name.

use serde_json::Value;

use super::stored::Stored;
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::Kept;
use crate::record::Meta;
use crate::store::Store;

/// A kind of which nothing is asked but what stands in a place.
pub(crate) trait Plain: Kept {
    /// Its row.
    const KIND: Kind;

    /// Reads an object; the error is the reason for which it is skipped.
    fn read(store: &mut Store, object: &Value) -> Result<Self::Record, String>;

    /// Notes whose plan it touches that an object has come, has become another, or is not there. `before` is what stood in its
    /// place, as far as anything did; what stands there now is filed already.
    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&Self::Record>, touched: &mut Touched);
}

impl<P: Plain> Stored for P {
    type Record = <P as Kept>::Record;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        P::read(store, object)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let place = (store.names.share(&key.namespace), store.names.share(&key.name));
        let replaced = store.kept.insert::<P>(place, record);
        if replaced.differs {
            P::changed(store, key, replaced.before.as_ref(), touched);
        }
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.kept.get::<P>(&key.place()).map(<P as Kept>::meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let all = store.kept.all::<P>();
        all.map(|(place, _)| ObjectKey::at(P::KIND, place)).collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let before = store.kept.remove::<P>(&key.place());
        P::changed(store, key, before.as_ref(), touched);
    }
}
