//! The loop that schedules: it watches what schedules depend on, asks for the schedule of every Placement that may have
//! changed, and writes down the difference.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    agents::Shared,
    clock::Clock,
    counters::Tally,
    hub::{self, Change, Hub},
    queue::Queue,
    shelf::{Key, Shelf},
};
use crate::{
    schedule::{self, Cluster, DecisionObject, Scene, Schedule},
    wire::{
        Decision, DecodeError, Kind, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Meta,
        Placement, PlacementDecision, Record, annotation, label,
    },
};

/// Changes that come together are answered together.
const COALESCE: Duration = Duration::from_millis(20);
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    /// The statuses of all sets and bindings.
    Sets,
    Placement(Key),
}

/// The scheduler of a fleet.
pub(super) struct Placements {
    hub: Hub,
    clock: Clock,
    tally: Arc<Tally>,
    clusters: Shelf<Cluster>,
    sets: Shelf<ManagedClusterSet>,
    bindings: Shelf<ManagedClusterSetBinding>,
    placements: Shelf<Placement>,
    decisions: Shelf<PlacementDecision>,
    queue: Queue<Job>,
}

impl Placements {
    pub(super) fn new(shared: Shared) -> Self {
        let Shared {
            hub,
            clock,
            tally,
            stores: _,
        } = shared;
        Self {
            hub,
            clock,
            tally,
            clusters: Shelf::new(read_cluster),
            sets: Shelf::new(read_record),
            bindings: Shelf::new(read_record),
            placements: Shelf::new(read_record),
            decisions: Shelf::new(read_record),
            queue: Queue::default(),
        }
    }

    pub(super) async fn run(mut self, mut registered: watch::Receiver<bool>, stop: CancellationToken) {
        let mut changes = self.watch();
        // Clusters that register one after the other would rewrite every decision as often.
        let mut registering = true;
        loop {
            let wake = if registering || !self.synced() {
                None
            } else {
                self.queue.next_at()
            };
            let clock = self.clock;
            tokio::select! {
                () = stop.cancelled() => return,
                Some((kind, change)) = changes.next() => self.observe(kind, change),
                all = all_registered(&mut registered), if registering => match all {
                    true => registering = false,
                    false => return,
                },
                () = clock.reach(wake) => {
                    // A write that hangs must not hold up the end.
                    tokio::select! { () = stop.cancelled() => return, () = self.work_off() => {} }
                }
            }
        }
    }

    fn watch(&self) -> BoxStream<'static, (Kind, Change)> {
        let kinds = [
            Kind::ManagedCluster,
            Kind::ManagedClusterSet,
            Kind::ManagedClusterSetBinding,
            Kind::Placement,
            Kind::PlacementDecision,
        ];
        stream::select_all(kinds.map(|kind| self.hub.watch(kind).map(move |change| (kind, change)).boxed()))
            .boxed()
    }

    fn synced(&self) -> bool {
        let sets = self.sets.synced() && self.bindings.synced();
        sets && self.clusters.synced() && self.placements.synced() && self.decisions.synced()
    }

    fn observe(&mut self, kind: Kind, change: Change) {
        let (all, some): (bool, Vec<Key>) = match kind {
            Kind::ManagedCluster => (!self.clusters.observe(change).is_empty(), Vec::new()),
            Kind::ManagedClusterSet => (!self.sets.observe(change).is_empty(), Vec::new()),
            Kind::ManagedClusterSetBinding => (!self.bindings.observe(change).is_empty(), Vec::new()),
            Kind::Placement => (false, self.placements.observe(change)),
            Kind::PlacementDecision => (false, self.observe_decision(change)),
            Kind::Namespace | Kind::ManifestWork => (false, Vec::new()),
        };
        let at = self.clock.elapsed().saturating_add(COALESCE);
        if all {
            self.queue.push(Job::Sets, at);
            let keys: Vec<_> = self.placements.keys().cloned().collect();
            keys.into_iter()
                .for_each(|key| self.queue.push(Job::Placement(key), at));
        }
        some.into_iter()
            .for_each(|key| self.queue.push(Job::Placement(key), at));
    }

    /// Returns the placements whose decisions somebody else has touched.
    fn observe_decision(&mut self, change: Change) -> Vec<Key> {
        let owner = |known: &Shelf<PlacementDecision>, key: &Key| {
            let name = known.get(key)?.meta.labels.get(label::PLACEMENT)?.clone();
            Some(Key {
                namespace: key.namespace.clone(),
                name,
            })
        };
        let before: Vec<_> = match &change {
            kube::runtime::watcher::Event::Delete(object) => {
                let meta = &object.metadata;
                let key = Key {
                    namespace: meta.namespace.clone().unwrap_or_default(),
                    name: meta.name.clone().unwrap_or_default(),
                };
                owner(&self.decisions, &key).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let changed = self.decisions.observe(change);
        if changed.is_empty() {
            return Vec::new();
        }
        changed
            .iter()
            .filter_map(|key| owner(&self.decisions, key))
            .chain(before)
            .collect()
    }

    async fn work_off(&mut self) {
        let clusters: Vec<_> = self.clusters.values().cloned().collect();
        let now = self.clock.elapsed();
        while let Some(job) = self.queue.pop_due(now) {
            let outcome = match &job {
                Job::Sets => self.apply_sets(&clusters).await,
                Job::Placement(key) => self.apply_placement(key, &clusters).await,
            };
            if let Err(error) = outcome {
                self.tally.retries.add();
                if hub::is_conflict(&error) {
                    debug!(?job, "somebody else wrote first, looking again");
                } else {
                    warn!(?job, %error, "cannot write a schedule down, trying again");
                }
                self.queue.push(job, self.clock.elapsed().saturating_add(RETRY));
            }
        }
    }

    async fn apply_sets(&mut self, clusters: &[Cluster]) -> kube::Result<()> {
        let now = self.clock.now();
        let sets: Vec<_> = self.sets.values().cloned().collect();
        for set in &sets {
            let condition = schedule::emptiness_condition(set, clusters);
            let conditions = schedule::set_condition(&set.status.conditions, condition, now);
            if conditions != set.status.conditions {
                let status = json!({"conditions": conditions});
                let written = self
                    .hub
                    .patch_status(Kind::ManagedClusterSet, &set.meta, status)
                    .await?;
                self.sets_written(written, |shelves, object| shelves.sets.put(object));
            }
        }
        let bindings: Vec<_> = self.bindings.values().cloned().collect();
        for binding in &bindings {
            let condition = schedule::binding_condition(binding, &sets);
            let conditions = schedule::set_condition(&binding.status.conditions, condition, now);
            if conditions != binding.status.conditions {
                let status = json!({"conditions": conditions});
                let written = self
                    .hub
                    .patch_status(Kind::ManagedClusterSetBinding, &binding.meta, status)
                    .await?;
                self.sets_written(written, |shelves, object| shelves.bindings.put(object));
            }
        }
        Ok(())
    }

    fn sets_written(
        &mut self,
        written: Option<DynamicObject>,
        put: fn(&mut Self, DynamicObject) -> Option<Key>,
    ) {
        if let Some(object) = written {
            self.tally.placements_written.add();
            put(self, object);
        }
    }

    async fn apply_placement(&mut self, key: &Key, clusters: &[Cluster]) -> kube::Result<()> {
        let Some(placement) = self.placements.get(key).cloned() else {
            return Ok(());
        };
        let disabled = placement
            .meta
            .annotations
            .get(annotation::SCHEDULING_DISABLED)
            .is_some_and(|value| value == "true");
        if placement.meta.terminating || disabled {
            return Ok(());
        }
        let sets: Vec<_> = self.sets.values().cloned().collect();
        let bindings: Vec<_> = self
            .bindings
            .in_namespace(&key.namespace)
            .map(|(_, binding)| binding.clone())
            .collect();
        let now = self.clock.now();
        let chosen = self.chosen(key);
        let scene = Scene {
            clusters,
            sets: &sets,
            bindings: &bindings,
            chosen: &chosen,
            now,
        };
        let schedule = schedule::schedule(&placement, &scene);
        if let Some(recheck) = schedule.recheck_at {
            self.queue
                .push(Job::Placement(key.clone()), self.clock.elapsed_at(recheck));
        }
        self.apply_decisions(&placement, &schedule).await?;
        let status = schedule.status(&key.name, &placement.status, now);
        if status != placement.status
            && let Some(object) = self
                .hub
                .patch_status(Kind::Placement, &placement.meta, json!(status))
                .await?
        {
            self.tally.placements_written.add();
            self.placements.put(object);
        }
        Ok(())
    }

    fn chosen(&self, placement: &Key) -> BTreeSet<String> {
        let decisions = self
            .decisions_of(placement)
            .flat_map(|(_, decision)| decision.status.decisions.iter().flatten());
        decisions.map(|decision| decision.cluster_name.clone()).collect()
    }

    fn decisions_of<'a>(
        &'a self,
        placement: &'a Key,
    ) -> impl Iterator<Item = (&'a Key, &'a PlacementDecision)> {
        let here = self.decisions.in_namespace(&placement.namespace);
        here.filter(|(_, decision)| {
            decision
                .meta
                .labels
                .get(label::PLACEMENT)
                .is_some_and(|name| *name == placement.name)
        })
    }

    async fn apply_decisions(&mut self, placement: &Placement, schedule: &Schedule) -> kube::Result<()> {
        let mut wanted = BTreeSet::new();
        for object in schedule.objects(&placement.meta.name) {
            let key = Key {
                namespace: placement.meta.namespace.clone(),
                name: object.name.clone(),
            };
            self.apply_decision(placement, &key, &object).await?;
            wanted.insert(key);
        }
        let of = Key::of(&placement.meta);
        let redundant: Vec<_> = self
            .decisions_of(&of)
            .map(|(key, _)| key)
            .filter(|key| !wanted.contains(key))
            .cloned()
            .collect();
        for key in redundant {
            self.hub
                .delete(Kind::PlacementDecision, &key.namespace, &key.name)
                .await?;
            self.tally.decisions_written.add();
            self.decisions.forget(&key);
        }
        Ok(())
    }

    async fn apply_decision(
        &mut self,
        placement: &Placement,
        key: &Key,
        wanted: &DecisionObject,
    ) -> kube::Result<()> {
        let labels = json!({
            (label::PLACEMENT): placement.meta.name,
            (label::GROUP_INDEX): wanted.group_index.to_string(),
            (label::GROUP_NAME): wanted.group_name,
        });
        let mut known = match self.decisions.get(key) {
            Some(known) => known.clone(),
            None => match self
                .hub
                .create(
                    Kind::PlacementDecision,
                    &key.namespace,
                    decision_object(placement, key, &labels),
                )
                .await?
            {
                Some(object) => self.note_decision(object),
                // There is one that the watch has not told of yet; it will.
                None => return Ok(()),
            },
        };
        if !carries(&known.meta, &labels)
            && let Some(object) = self
                .hub
                .patch(
                    Kind::PlacementDecision,
                    &known.meta,
                    json!({"metadata": {"labels": labels}}),
                )
                .await?
        {
            known = self.note_decision(object);
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
                .patch_status(
                    Kind::PlacementDecision,
                    &known.meta,
                    json!({"decisions": decisions}),
                )
                .await?
        {
            self.note_decision(object);
        }
        Ok(())
    }

    fn note_decision(&mut self, object: DynamicObject) -> PlacementDecision {
        self.tally.decisions_written.add();
        let decision = PlacementDecision::decode(object.clone()).unwrap_or_default();
        self.decisions.put(object);
        decision
    }
}

/// Waits until every cluster has registered; returns false when nobody is left to tell.
async fn all_registered(registered: &mut watch::Receiver<bool>) -> bool {
    registered.wait_for(|all| *all).await.is_ok()
}

fn carries(meta: &Meta, labels: &Value) -> bool {
    let wanted = labels.as_object().into_iter().flatten();
    wanted
        .into_iter()
        .all(|(label, value)| meta.labels.get(label).is_some_and(|known| value == known))
}

fn decision_object(placement: &Placement, key: &Key, labels: &Value) -> Value {
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

fn read_record<S, T>(object: DynamicObject) -> Result<(Meta, Record<S, T>), DecodeError>
where
    S: serde::de::DeserializeOwned + Default,
    T: serde::de::DeserializeOwned + Default,
{
    let record = Record::decode(object)?;
    Ok((record.meta.clone(), record))
}

fn read_cluster(object: DynamicObject) -> Result<(Meta, Cluster), DecodeError> {
    let ManagedCluster { meta, spec, status } = Record::decode(object)?;
    let cluster = Cluster {
        name: meta.name.clone(),
        labels: meta.labels.clone(),
        claims: status
            .cluster_claims
            .into_iter()
            .map(|claim| (claim.name, claim.value))
            .collect(),
        taints: spec.taints,
        terminating: meta.terminating,
    };
    Ok((meta, cluster))
}
