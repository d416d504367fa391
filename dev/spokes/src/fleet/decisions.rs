//! Writes schedules down as `PlacementDecision`s: creates, changes and deletes what differs, and nothing else.

use std::{collections::BTreeSet, sync::Arc};

use kube::{api::DynamicObject, runtime::watcher::Event};
use serde_json::{Value, json};

use super::{
    counters::Tally,
    hub::{Change, Hub},
    store::{self, Key, KindStore},
};
use crate::{
    schedule::{DecisionObject, Schedule},
    wire::{Decision, Kind, Meta, Placement, PlacementDecision, label},
};

/// The decisions of all placements.
pub(super) struct Decisions {
    hub: Hub,
    tally: Arc<Tally>,
    known: KindStore<PlacementDecision>,
}

impl Decisions {
    pub(super) fn new(hub: Hub, tally: Arc<Tally>) -> Self {
        Self {
            hub,
            tally,
            known: KindStore::new(store::read_record),
        }
    }

    pub(super) fn synced(&self) -> bool {
        self.known.synced()
    }

    /// Takes in what the watch tells; returns the placements whose decisions another client has touched.
    pub(super) fn observe(&mut self, change: Change) -> Vec<Key> {
        let ended = match &change {
            Event::Delete(object) => self.placement_of(&Key::of_object(object)),
            Event::Apply(_) | Event::Init | Event::InitApply(_) | Event::InitDone => None,
        };
        let changed = self.known.observe(change);
        if changed.is_empty() {
            return Vec::new();
        }
        changed
            .iter()
            .filter_map(|key| self.placement_of(key))
            .chain(ended)
            .collect()
    }

    /// Returns the clusters that a placement has now.
    pub(super) fn chosen(&self, placement: &Key) -> BTreeSet<String> {
        let decisions = self
            .of(placement)
            .flat_map(|(_, decision)| decision.status.decisions.iter().flatten());
        decisions.map(|decision| decision.cluster_name.clone()).collect()
    }

    /// Brings the decisions of a placement in line with its schedule.
    pub(super) async fn apply(&mut self, placement: &Placement, schedule: &Schedule) -> kube::Result<()> {
        let mut wanted = BTreeSet::new();
        for object in schedule.objects(&placement.meta.name) {
            let key = Key {
                namespace: placement.meta.namespace.clone(),
                name: object.name.clone(),
            };
            self.apply_one(placement, &key, &object).await?;
            wanted.insert(key);
        }
        let of = Key::of(&placement.meta);
        let redundant: Vec<_> = self
            .of(&of)
            .map(|(key, _)| key)
            .filter(|key| !wanted.contains(key))
            .cloned()
            .collect();
        for key in redundant {
            self.hub
                .delete(Kind::PlacementDecision, &key.namespace, &key.name)
                .await?;
            self.tally.decisions_written.add();
            self.known.forget(&key);
        }
        Ok(())
    }

    async fn apply_one(
        &mut self,
        placement: &Placement,
        key: &Key,
        wanted: &DecisionObject,
    ) -> kube::Result<()> {
        let kind = Kind::PlacementDecision;
        let labels = json!({
            (label::PLACEMENT): placement.meta.name,
            (label::GROUP_INDEX): wanted.group_index.to_string(),
            (label::GROUP_NAME): wanted.group_name,
        });
        let mut known = match self.known.get(key) {
            Some(known) => known.clone(),
            None => match self
                .hub
                .create(kind, &key.namespace, body(placement, key, &labels))
                .await?
            {
                Some(object) => self.note(object),
                // There is one that the watch has not told of yet; it will.
                None => return Ok(()),
            },
        };
        if !carries(&known.meta, &labels)
            && let Some(object) = self
                .hub
                .patch(kind, &known.meta, json!({"metadata": {"labels": labels}}))
                .await?
        {
            known = self.note(object);
        }
        let clusters = wanted.clusters.iter();
        let decisions: Vec<_> = clusters
            .map(|name| Decision {
                cluster_name: name.clone(),
                reason: String::new(),
            })
            .collect();
        if known.status.decisions.as_ref() != Some(&decisions)
            && let Some(object) = self
                .hub
                .patch_status(kind, &known.meta, json!({"decisions": decisions}))
                .await?
        {
            self.note(object);
        }
        Ok(())
    }

    fn note(&mut self, object: DynamicObject) -> PlacementDecision {
        self.tally.decisions_written.add();
        let decision = PlacementDecision::decode(object.clone()).unwrap_or_default();
        self.known.put(object);
        decision
    }

    fn placement_of(&self, key: &Key) -> Option<Key> {
        let name = self.known.get(key)?.meta.labels.get(label::PLACEMENT)?.clone();
        Some(Key {
            namespace: key.namespace.clone(),
            name,
        })
    }

    fn of<'a>(&'a self, placement: &'a Key) -> impl Iterator<Item = (&'a Key, &'a PlacementDecision)> {
        let here = self.known.in_namespace(&placement.namespace);
        here.filter(|(_, decision)| decision.meta.labels.get(label::PLACEMENT) == Some(&placement.name))
    }
}

fn carries(meta: &Meta, labels: &Value) -> bool {
    let mut wanted = labels.as_object().into_iter().flatten();
    wanted.all(|(label, value)| meta.labels.get(label).is_some_and(|known| value == known))
}

fn body(placement: &Placement, key: &Key, labels: &Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": "cluster.open-cluster-management.io/v1beta1",
                "kind": "Placement",
                "name": placement.meta.name,
                "uid": placement.meta.uid,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
    })
}
