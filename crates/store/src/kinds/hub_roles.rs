//! `Role` and `ClusterRole` that are labelled as ones that agents may have: read, and never written.
//!
//! Decides nothing; `registration::roles` says what they give away.

use serde_json::Value;

use super::plain::Plain;
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::registration::role_facts::{RoleRecord, hub_role};
use crate::store::Store;

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
