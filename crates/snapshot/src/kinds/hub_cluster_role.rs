//! `ClusterRole` that is labelled as one that agents may have: read, and never written.
//!
//! Decides nothing; `registration::roles` says what it gives away.

use serde_json::Value;

use super::stored::Stored;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::record::Meta;
use crate::registration::role_facts::{self, hub_role};
use crate::store::Store;

/// The row of the kind.
pub(crate) struct HubClusterRole;

impl Stored for HubClusterRole {
    type Record = role_facts::HubRole;

    fn decode(_store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        hub_role(object)
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        store.insert_hub_role(key, record, touched);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.objects.hub_roles.get(key).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        store
            .objects
            .hub_roles
            .keys()
            .filter(|key| key.kind == Kind::HubClusterRole)
            .cloned()
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        store.remove_hub_role(key, touched);
    }
}
