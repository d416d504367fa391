//! `ManagedCluster`: labels that select, conditions that hold, annotations that travel.
//!
//! Decides which add-ons a change of a cluster touches.

use std::sync::Arc;

use serde_json::Value;

use super::stored::Stored;
use crate::copied::record_of;
use crate::decode::read::{annotation, meta, parse, shared, travelling};
use crate::decode::status::status_of;
use crate::facts::ClusterFacts;
use crate::kind::Owner;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::label_map::LabelMap;
use crate::names::Names;
use crate::parts::slot::replace;
use crate::record::{self, AddOn, InstallStrategy, Meta, Status};
use crate::store::Store;
use crate::terms;
use crate::tombstones::same_besides_features;
use api::cluster::ManagedCluster;
use api::names::annotations::IMAGE_REGISTRIES;
use api::names::conditions::CLUSTER_AVAILABLE;
use model::Name;

/// The row of the kind.
pub(crate) struct Cluster;

impl Stored for Cluster {
    type Record = record::Cluster;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        decode(&parse(object)?, &mut store.names)
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        let mut own = Touched::new();
        let name = store.names.share(&key.name);
        store.tombstones.clusters.remove(&name);
        let mut slot = store.objects.clusters.remove(&name);
        let mut selecting: Vec<Owner> = store.selecting(&record).collect();
        selecting.extend(slot.iter().flat_map(|old| store.selecting(old)));
        store.file_features(&key.name, slot.as_ref(), Some(&record), &mut own);
        if let Some(old) = slot.as_mut().filter(|old| old.labels != record.labels) {
            own.extend(selecting.iter().cloned());
            if same_besides_features(old, &record) {
                // Telling which add-ons it has concerns those that it tells of, and those that select by it.
                old.labels.clone_from(&record.labels);
            }
        }
        if slot.as_ref().is_none_or(|old| old.facts != record.facts) {
            store.published.cluster_changed(&key.name);
        }
        if let Some(old) = &mut slot {
            // What only admission asks about touches nobody's plan.
            old.facts = Arc::clone(&record.facts);
        }
        if slot.is_none() {
            store.touch_bindings(&key.name, touched);
        }
        let differs = replace(&mut slot, record, |record| &mut record.meta);
        store.objects.clusters.extend(slot.map(|record| (name, record)));
        store.cluster_changed_for_upgrades(&key.name, touched);
        if differs {
            store.touch_cluster(&key.name, &mut own);
            own.extend(selecting);
        }
        store.attribute(&key.name, own, touched);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.objects.clusters.get(&key.name).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let names = store.objects.clusters.keys();
        names
            .map(|name| ObjectKey::new(Kind::Cluster, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        let Some(old) = store.objects.clusters.remove(&key.name) else {
            return;
        };
        store.depart(&key.name);
        store.cluster_changed_for_upgrades(&key.name, touched);
        store.touch_bindings(&key.name, touched);
        store.published.cluster_changed(&key.name);
        let mut own = Touched::new();
        store.file_features(&key.name, Some(&old), None, &mut own);
        store.touch_cluster(&key.name, &mut own);
        own.extend(store.selecting(&old));
        store.attribute(&key.name, own, touched);
    }
}

fn decode(object: &ManagedCluster, names: &mut Names) -> Result<record::Cluster, String> {
    let mut stated = object.status.iter().flat_map(|status| &status.conditions);
    let stated = stated.find(|condition| condition.type_ == CLUSTER_AVAILABLE);
    let available = stated.map(|condition| status_of(&condition.status));
    let unknown = stated.filter(|_| available == Some(Status::Unknown));
    let annotations = travelling(&object.metadata, names);
    Ok(record::Cluster {
        meta: meta(&object.metadata)?,
        copied: names.share(&record_of(&annotations)),
        annotations,
        labels: LabelMap::share(object.metadata.labels.iter().flatten(), names),
        accepted: object.spec.hub_accepts_client == Some(true),
        opt_out: shared(annotation(&object.metadata, terms::OPT_OUT), names),
        available,
        unknown: unknown.map(|condition| (names.share(&condition.reason), names.share(&condition.message))),
        image_registries: shared(annotation(&object.metadata, IMAGE_REGISTRIES), names),
        facts: Arc::new(ClusterFacts::of(object, names)),
    })
}

impl Store {
    /// Returns the add-ons whose label selector matches a cluster.
    fn selecting(&self, cluster: &record::Cluster) -> impl Iterator<Item = Owner> {
        let selects = |addon: &&AddOn| match &addon.strategy {
            InstallStrategy::Labels(Some(selector)) => cluster.is_matched_by(selector),
            InstallStrategy::Labels(None)
            | InstallStrategy::Manual
            | InstallStrategy::Placements
            | InstallStrategy::BadLabels(_)
            | InstallStrategy::Other(_) => false,
        };
        self.objects
            .addons
            .values()
            .filter(selects)
            .map(|addon| Owner::addon(&addon.name))
    }

    /// What an event about a cluster touches, it touches because of this cluster.
    fn attribute(&mut self, cluster: &Name, mut own: Touched, touched: &mut Touched) {
        for owner in &own {
            self.changes.of_cluster(owner, cluster);
        }
        touched.append(&mut own);
    }

    fn touch_cluster(&self, cluster: &Name, touched: &mut Touched) {
        touched.extend(self.indexes.by_cluster.of(cluster).map(Owner::addon));
        for place in self.indexes.placements_by_cluster.of(cluster) {
            touched.extend(self.indexes.by_placement.of(place).cloned());
        }
    }
}
