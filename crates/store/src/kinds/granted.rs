//! `Role`, `RoleBinding` and `ServiceAccount` that an agent is given on the hub, and the `Role` and `ClusterRole` that are labelled as
//! ones that agents may have: those are read, and never written.
//!
//! Decides nothing; `registration::filing` files them, `registration::roles` says what they give away.

use super::stored::{Plain, Stored};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::record::Meta;
use crate::registration::grants::{Grant, grant};
use crate::registration::role_facts::{RoleRecord, hub_role};
use crate::store::Store;
use model::Name;
use serde_json::Value;

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

macro_rules! hub_roles {
    ($($kind:ident)+) => {$(
        /// The row of the kind.
        pub(crate) struct $kind;

        keeps!($kind, RoleRecord);

        impl Plain for $kind {
            const KIND: Kind = Kind::$kind;

            fn read(_store: &mut Store, object: &Value) -> Result<RoleRecord, String> {
                hub_role(object)
            }

            fn changed(store: &mut Store, key: &ObjectKey, before: Option<&RoleRecord>, touched: &mut Touched) {
                store.hub_role_changed(key, before, touched);
            }
        }
    )+};
}

hub_roles!(HubRole HubClusterRole);
