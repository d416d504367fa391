//! `ManagedClusterSetBinding`: from which sets the upgrades of a namespace may select.
//!
//! Decides nothing: every upgrade is planned anew.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::slot::replace;
use crate::parts::upgrades;
use crate::record::Meta;
use crate::store::Store;
use api::cluster::ManagedClusterSetBinding;

/// The row of the kind.
pub(crate) struct SetBinding;

impl Stored for SetBinding {
    type Record = upgrades::SetBinding;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let object: ManagedClusterSetBinding = parse(object)?;
        Ok(upgrades::SetBinding {
            meta: meta(&object.metadata)?,
            set: store.names.share(&object.spec.cluster_set),
        })
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let place = key.place();
        let mut slot = store.upgrades.bindings.remove(&place);
        if replace(&mut slot, record, |record| &mut record.meta) {
            store.touch_upgrades(touched);
        }
        store.upgrades.bindings.extend(slot.map(|record| (place, record)));
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.upgrades.bindings.get(&key.place()).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let places = store.upgrades.bindings.keys();
        places
            .map(|place| ObjectKey::at(Kind::SetBinding, place))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        if store.upgrades.bindings.remove(&key.place()).is_some() {
            store.touch_upgrades(touched);
        }
    }
}
