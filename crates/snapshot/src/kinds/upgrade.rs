//! `ManagedClustersUpgrade`: what is asked, and what was told.
//!
//! Decides that clusters are kept for upgrades while there is one. Its own status is what its next plan remembers, so that a change of
//! it is a reason to plan.

use serde_json::Value;
use upgrade::marks;

use super::stored::Stored;
use crate::decode::read::{annotation, meta, parse};
use crate::kind::{Kind, ObjectKey, Place, Touched};
use crate::parts::slot::replace;
use crate::parts::upgrades::UpgradeRecord;
use crate::record::Meta;
use crate::store::Store;
use api::cluster::ManagedClustersUpgrade;
use model::Name;

/// The row of the kind.
pub(crate) struct Upgrade;

impl Stored for Upgrade {
    type Record = UpgradeRecord;

    fn decode(_store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let object: ManagedClustersUpgrade = parse(object)?;
        let retry = annotation(&object.metadata, marks::RETRY);
        Ok(UpgradeRecord {
            meta: meta(&object.metadata)?,
            retry: retry.cloned().unwrap_or_default(),
            finalizers: object.metadata.finalizers.unwrap_or_default(),
            spec: object.spec,
            status: object.status.unwrap_or_default(),
        })
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        if store.upgrades.all.is_empty() {
            store.keep_clusters_for_upgrades();
        }
        let place = key.place();
        let mut slot = store.upgrades.all.remove(&place);
        let before = slot.as_ref().map(placements).unwrap_or_default();
        for placement in &before {
            store.indexes.by_placement.remove(placement, key);
        }
        for placement in &placements(&record) {
            store.indexes.by_placement.add(placement, key);
        }
        if replace(&mut slot, record, |record| &mut record.meta) {
            touched.insert(key.clone());
            store.published.changed.upgrades = true;
        }
        store.upgrades.all.extend(slot.map(|record| (place, record)));
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.upgrades.all.get(&key.place()).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let places = store.upgrades.all.keys();
        places.map(|place| ObjectKey::at(Kind::Upgrade, place)).collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let Some(old) = store.upgrades.all.remove(&key.place()) else {
            return;
        };
        for placement in &placements(&old) {
            store.indexes.by_placement.remove(placement, key);
        }
        touched.insert(key.clone());
        store.published.changed.upgrades = true;
        if store.upgrades.all.is_empty() {
            store.upgrades.clusters.clear();
        }
    }
}

/// The placements that an upgrade selects by.
fn placements(record: &UpgradeRecord) -> Vec<Place> {
    let each = record.spec.placement.iter();
    each.map(|place| {
        (
            Name::from(place.namespace.as_str()),
            Name::from(place.name.as_str()),
        )
    })
    .collect()
}
