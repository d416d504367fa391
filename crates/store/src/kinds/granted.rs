//! `Role`, `RoleBinding` and `ServiceAccount`: what an agent is given on the hub.
//!
//! Decides nothing; `registration::filing` files them.

use serde_json::Value;

use super::stored::Stored;
use crate::kind::{Kind, ObjectKey, Touched};
use crate::record::Meta;
use crate::registration::grants::{Grant, grant};
use crate::store::Store;
use model::Name;

macro_rules! granted {
    ($($kind:ident)+) => {$(
        /// The row of the kind.
        pub(crate) struct $kind;

        impl Stored for $kind {
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
                let all = store.objects.grants.keys();
                all.filter(|key| key.kind == Kind::$kind).cloned().collect()
            }

            fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
                store.remove_grant(key, touched);
            }
        }
    )+};
}

granted!(Role RoleBinding ServiceAccount);
