//! `ManagedClusterSet`: which clusters are in it.
//!
//! Decides nothing: every upgrade may select from it.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::slot::replace;
use crate::parts::upgrades::{self, Members};
use crate::record::Meta;
use crate::store::Store;
use api::cluster::ManagedClusterSet;
use field::Path;
use model::parse_selector;

/// The row of the kind.
pub(crate) struct ClusterSet;

impl Stored for ClusterSet {
    type Record = upgrades::ClusterSet;

    fn decode(_store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let object: ManagedClusterSet = parse(object)?;
        let selector = object.spec.cluster_selector.unwrap_or_default();
        let members = match selector.selector_type.as_str() {
            "LabelSelector" => {
                let labels = selector.label_selector.unwrap_or_default();
                let read = parse_selector(&labels, &Path::root());
                read.map_or(Members::Unreadable, Members::Selector)
            }
            _ => Members::Label,
        };
        Ok(upgrades::ClusterSet {
            meta: meta(&object.metadata)?,
            members,
        })
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let mut slot = store.upgrades.sets.remove(&key.name);
        if replace(&mut slot, record, |record| &mut record.meta) {
            store.touch_upgrades(touched);
        }
        let filed = slot.map(|record| (key.name.clone(), record));
        store.upgrades.sets.extend(filed);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.upgrades.sets.get(&key.name).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let names = store.upgrades.sets.keys();
        names
            .map(|name| ObjectKey::new(Kind::ClusterSet, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        if store.upgrades.sets.remove(&key.name).is_some() {
            store.touch_upgrades(touched);
        }
    }
}
