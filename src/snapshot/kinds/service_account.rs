//! `ServiceAccount` of the token infrastructure.
//!
//! Decides nothing; `registration::filing` files it.

use serde_json::Value;

use super::row::{Address, Label, Need, Stored, namespaced};
use crate::snapshot::kind::{Kind, ObjectKey};
use crate::snapshot::names::Name;
use crate::snapshot::record::Meta;
use crate::snapshot::registration::grants::{Grant, grant};
use crate::snapshot::store::{Store, Touched};
use crate::snapshot::terms;

/// The row of the kind.
pub(in crate::snapshot) struct ServiceAccount;

impl Stored for ServiceAccount {
    type Record = Option<(Name, Grant)>;
    const ADDRESS: Address = namespaced("", "v1", "ServiceAccount", "serviceaccounts");
    const NEED: Need = Need::ForRegistration;
    const SELECTOR: &'static [Label] = &[Label::Has(terms::TOKEN_ADDON_NAME)];

    fn decode(store: &mut Store, key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        grant(key, object, &mut store.names)
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        record.as_ref().map(|(_, grant)| &grant.meta)
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
