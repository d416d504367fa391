//! `ManifestWork`: what an add-on has deployed on a cluster, by add-on and cluster.
//!
//! Decides where a work is filed.

use serde_json::Value;

use super::stored::Stored;
use crate::decode::work::{KnownSpec, work};
use crate::kind::Owner;
use crate::kind::{Kind, ObjectKey, Place, Touched};
use crate::parts::objects::replace;
use crate::record::{self, Meta};
use crate::store::Store;
use model::Name;

/// The row of the kind.
pub(crate) struct Work;

impl Stored for Work {
    type Record = Option<(Name, Name, record::Work)>;

    fn decode(store: &mut Store, key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let known = find(store, key).map(KnownSpec::from);
        work(object, known.as_ref(), &mut store.names)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        match record {
            Some((addon, cluster, work)) => insert(store, (addon, cluster), work, touched),
            None => Self::unfile(store, key, touched),
        }
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        find(store, key).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        store
            .indexes
            .work_places
            .keys()
            .map(|place| ObjectKey::at(Kind::Work, &place))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let place = key.place();
        let Some((addon, cluster)) = store.indexes.work_places.remove(&place) else {
            return;
        };
        let owner = Owner::addon(&addon);
        store.changes.of_cluster(&owner, &cluster);
        touched.insert(owner);
        let Some(clusters) = store.objects.works.get_mut(&addon) else {
            return;
        };
        let Some(kept) = clusters.get_mut(&cluster) else {
            return;
        };
        let mut works = std::mem::take(kept).into_vec();
        if let Ok(at) = search(&works, &place) {
            works.remove(at);
        }
        *kept = works.into_boxed_slice();
        if kept.is_empty() {
            clusters.remove(&cluster);
        }
        if clusters.is_empty() {
            store.objects.works.remove(&addon);
        }
    }
}

fn find<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s record::Work> {
    let place = key.place();
    let (addon, cluster) = store.indexes.work_places.get(&place)?;
    let works = store.objects.works.get(addon)?.get(cluster)?;
    works.get(search(works, &place).ok()?)
}

/// Returns where a work stands among those of its cluster, or where it should.
fn search(works: &[record::Work], (namespace, name): &Place) -> Result<usize, usize> {
    works.binary_search_by(|work| (&work.namespace, &work.name).cmp(&(namespace, name)))
}

fn insert(store: &mut Store, filed: (Name, Name), record: record::Work, touched: &mut Touched) {
    let place = (record.namespace.clone(), record.name.clone());
    if store
        .indexes
        .work_places
        .get(&place)
        .is_some_and(|before| *before != filed)
    {
        Work::unfile(store, &ObjectKey::at(Kind::Work, &place), touched);
    }
    let clusters = store.objects.works.entry(filed.0.clone()).or_default();
    let kept = clusters.entry(filed.1.clone()).or_default();
    let mut works = std::mem::take(kept).into_vec();
    let found = search(&works, &place);
    let mut slot = found.ok().map(|at| works.remove(at));
    if replace(&mut slot, record, |record| &mut record.meta) {
        let owner = Owner::addon(&filed.0);
        store.changes.of_cluster(&owner, &filed.1);
        touched.insert(owner);
    }
    if let Some(record) = slot {
        works.reserve_exact(1);
        works.insert(found.unwrap_or_else(|at| at), record);
    }
    *kept = works.into_boxed_slice();
    store.indexes.work_places.insert(place, filed);
}
