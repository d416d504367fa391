//! What the store does with the objects of a kind.
//!
//! Decides the order in which an object is read and filed. Knows no kind by name.

use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::Kept;
use crate::record::Meta;
use crate::store::Store;
use serde_json::Value;

/// A kind that the store keeps.
pub(crate) trait Stored {
    /// What is kept of an object.
    type Record;

    /// Reads an object; the error is the reason for which it is skipped.
    fn decode(store: &mut Store, key: &ObjectKey, object: &Value) -> Result<Self::Record, String>;
    /// Puts a record into its place and its indexes, and notes whose plan that touches.
    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched);
    /// Identity and revision of what is filed.
    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta>;
    /// Everything that is filed.
    fn keys(store: &Store) -> Vec<ObjectKey>;
    /// Takes a record out of its place and its indexes, and notes whose plan that touches.
    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched);
}

type Apply = fn(&mut Store, &ObjectKey, &Value, &mut Touched) -> Result<(), String>;
type Find = for<'s> fn(&'s Store, &ObjectKey) -> Option<&'s Meta>;

/// What is done with a kind, as a value.
pub(crate) struct Stores {
    pub(crate) apply: Apply,
    pub(crate) meta: Find,
    pub(crate) keys: fn(&Store) -> Vec<ObjectKey>,
    pub(crate) unfile: fn(&mut Store, &ObjectKey, &mut Touched),
}

impl Stores {
    /// Returns what is done with a kind.
    pub(super) const fn of<S: Stored>() -> Self {
        Self {
            apply: apply::<S>,
            meta: S::meta,
            keys: S::keys,
            unfile: S::unfile,
        }
    }
}

/// Says what is done with each kind; the compiler asks for those that are missing.
macro_rules! list {
    ($($file:ident::$kind:ident),+ $(,)?) => {
        /// Returns what the store does with the objects of a kind.
        pub(super) const fn stores(kind: crate::kind::Kind) -> &'static stored::Stores {
            match kind {
                $(crate::kind::Kind::$kind => const { &stored::Stores::of::<$file::$kind>() }),+
            }
        }
    };
}
pub(super) use list;

fn apply<S: Stored>(
    store: &mut Store,
    key: &ObjectKey,
    object: &Value,
    touched: &mut Touched,
) -> Result<(), String> {
    let record = S::decode(store, key, object)?;
    S::file(store, key, record, touched);
    Ok(())
}

/// A kind of which nothing is asked but what is in a place.
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
