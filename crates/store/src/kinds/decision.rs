//! `PlacementDecision`: the clusters that a placement selects, and their decision group. `Placement`: how many clusters it selects, and
//! how large its decision groups are.
//!
//! Decides under which placement a decision is filed.

use super::stored::{Plain, Stored};
use crate::decode::read::{label, meta, parse, shared};
use crate::decode::rollout::group_size;
use crate::kind::{Kind, ObjectKey, Touched};
use crate::names::Names;
use crate::parts::kept::keeps;
use crate::parts::objects::replace;
use crate::record::{self, Meta};
use crate::store::Store;
use api::cluster;
use api::cluster::PlacementDecision;
use api::names::labels;
use serde_json::Value;

/// The row of the kind.
pub(crate) struct Decision;

impl Stored for Decision {
    type Record = record::Decision;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        decode(&parse(object)?, &mut store.names)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let at = key.place();
        let place = (key.namespace.clone(), record.placement.clone());
        if store
            .indexes
            .decision_places
            .get(&at)
            .is_some_and(|filed| *filed != place)
        {
            Self::unfile(store, key, touched);
        }
        let filed = store.objects.decisions.entry(place.clone()).or_default();
        let mut slot = filed.remove(&key.name);
        for cluster in slot.iter().flat_map(|old| &old.clusters) {
            store.indexes.placements_by_cluster.remove(cluster, &place);
        }
        for cluster in &record.clusters {
            store.indexes.placements_by_cluster.add(cluster, &place);
        }
        let differs = replace(&mut slot, record, |record| &mut record.meta);
        filed.extend(slot.map(|record| (key.name.clone(), record)));
        if differs {
            store.published.decisions_changed(&place);
            touched.extend(store.indexes.by_placement.of(&place).cloned());
        }
        store.indexes.decision_places.insert(at, place);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        let filed = store.indexes.decision_places.get(&key.place())?;
        store
            .objects
            .decisions
            .get(filed)?
            .get(&key.name)
            .map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        store
            .indexes
            .decision_places
            .keys()
            .map(|place| ObjectKey::at(Kind::Decision, place))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let Some(place) = store.indexes.decision_places.remove(&key.place()) else {
            return;
        };
        store.published.decisions_changed(&place);
        touched.extend(store.indexes.by_placement.of(&place).cloned());
        let Some(filed) = store.objects.decisions.get_mut(&place) else {
            return;
        };
        for cluster in filed.remove(&key.name).iter().flat_map(|old| &old.clusters) {
            store.indexes.placements_by_cluster.remove(cluster, &place);
        }
        if filed.is_empty() {
            store.objects.decisions.remove(&place);
        }
    }
}

fn decode(object: &PlacementDecision, names: &mut Names) -> Result<record::Decision, String> {
    let metadata = &object.metadata;
    let index = label(metadata, labels::DECISION_GROUP_INDEX).and_then(|text| text.parse().ok());
    let decided = object.status.iter().flat_map(|status| &status.decisions);
    let decided = decided.filter(|decision| !decision.cluster_name.is_empty());
    Ok(record::Decision {
        meta: meta(metadata)?,
        placement: shared(label(metadata, labels::PLACEMENT), names),
        group_index: index.unwrap_or_default(),
        group_name: shared(label(metadata, labels::DECISION_GROUP_NAME), names),
        clusters: decided
            .map(|decision| names.share(&decision.cluster_name))
            .collect(),
    })
}

/// The row of the kind.
pub(crate) struct Placement;

keeps!(Placement, record::Placement);

impl Plain for Placement {
    const KIND: Kind = Kind::Placement;

    fn read(_store: &mut Store, object: &Value) -> Result<record::Placement, String> {
        let object: cluster::Placement = parse(object)?;
        let status = object.status.as_ref();
        let selected = status.and_then(|status| status.number_of_selected_clusters);
        Ok(record::Placement {
            meta: meta(&object.metadata)?,
            selected: selected.map(i64::from),
            per_group: group_size(&object.spec),
        })
    }

    fn changed(
        store: &mut Store,
        key: &ObjectKey,
        _before: Option<&record::Placement>,
        touched: &mut Touched,
    ) {
        let place = key.place();
        store.published.decisions_changed(&place);
        touched.extend(store.indexes.by_placement.of(&place).cloned());
    }
}
