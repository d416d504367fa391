//! `ServiceAccount` of the token infrastructure.
//!
//! Decides nothing; `registration::filing` files it.

use serde_json::Value;

use super::stored::Stored;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::record::Meta;
use crate::registration::grants::{Grant, grant};
use crate::store::Store;
use model::Name;

/// The row of the kind.
pub(crate) struct ServiceAccount;

impl Stored for ServiceAccount {
    type Record = Option<(Name, Grant)>;

    fn decode(store: &mut Store, key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        grant(key, object, &mut store.names)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        match record {
            Some((addon, grant)) => store.insert_grant(key, addon, grant, touched),
            None => Self::unfile(store, key, touched),
        }
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.grant(key).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        store
            .objects
            .grants
            .keys()
            .filter(|key| key.kind == Kind::ServiceAccount)
            .cloned()
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        store.remove_grant(key, touched);
    }
}
