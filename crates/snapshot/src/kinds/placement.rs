//! `Placement`: how many clusters it selects, and how large its decision groups are.
//!
//! Decides nothing; the clusters themselves stand in its decisions.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::read::{meta, parse};
use crate::decode::rollout::group_size;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::parts::slot::replace;
use crate::record::{self, Meta};
use crate::store::Store;
use api::cluster;

/// The row of the kind.
pub(crate) struct Placement;

impl Stored for Placement {
    type Record = record::Placement;

    fn decode(_store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let object: cluster::Placement = parse(object)?;
        let status = object.status.as_ref();
        let selected = status.and_then(|status| status.number_of_selected_clusters);
        Ok(record::Placement {
            meta: meta(&object.metadata)?,
            selected: selected.map(i64::from),
            per_group: group_size(&object.spec),
        })
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let place = key.place();
        let mut slot = store.objects.placements.remove(&place);
        if slot.is_none() {
            store.published.decisions_changed(&place);
        }
        let differs = replace(&mut slot, record, |record| &mut record.meta);
        if differs {
            touched.extend(store.indexes.by_placement.of(&place).cloned());
        }
        store
            .objects
            .placements
            .extend(slot.map(|record| (place, record)));
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store
            .objects
            .placements
            .get(&key.place())
            .map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        store
            .objects
            .placements
            .keys()
            .map(|place| ObjectKey::at(Kind::Placement, place))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let place = key.place();
        store.objects.placements.remove(&place);
        store.published.decisions_changed(&place);
        touched.extend(store.indexes.by_placement.of(&place).cloned());
    }
}
