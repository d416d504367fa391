//! The loop that schedules: it watches what schedules depend on, asks for the schedule of every Placement that may have
//! changed, and has the difference written down.

use std::{sync::Arc, time::Duration};

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::api::DynamicObject;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    agents::Shared,
    clock::Clock,
    counters::Tally,
    decisions::Decisions,
    hub::{self, Change, Hub},
    queue::Queue,
    store::{self, Key, KindStore},
};
use crate::{
    schedule::{self, Cluster, Scene},
    wire::{
        DecodeError, Kind, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Meta, Placement,
        annotation,
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
    clusters: KindStore<Cluster>,
    sets: KindStore<ManagedClusterSet>,
    bindings: KindStore<ManagedClusterSetBinding>,
    wishes: KindStore<Placement>,
    decisions: Decisions,
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
            clock,
            clusters: KindStore::new(read_cluster),
            sets: KindStore::new(store::read_record),
            bindings: KindStore::new(store::read_record),
            wishes: KindStore::new(store::read_record),
            decisions: Decisions::new(hub.clone(), Arc::clone(&tally)),
            queue: Queue::default(),
            hub,
            tally,
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
                all = all_registered(&mut registered), if registering => {
                    if !all {
                        return;
                    }
                    registering = false;
                }
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
        sets && self.clusters.synced() && self.wishes.synced() && self.decisions.synced()
    }

    fn observe(&mut self, kind: Kind, change: Change) {
        let (all, mut concerned) = match kind {
            Kind::ManagedCluster => (!self.clusters.observe(change).is_empty(), Vec::new()),
            Kind::ManagedClusterSet => (!self.sets.observe(change).is_empty(), Vec::new()),
            Kind::ManagedClusterSetBinding => (!self.bindings.observe(change).is_empty(), Vec::new()),
            Kind::Placement => (false, self.wishes.observe(change)),
            Kind::PlacementDecision => (false, self.decisions.observe(change)),
            Kind::Namespace
            | Kind::ManifestWork
            | Kind::ManifestWorkReplicaSet
            | Kind::ManagedClusterAddOn => (false, Vec::new()),
        };
        let at = self.clock.elapsed().saturating_add(COALESCE);
        if all {
            self.queue.push(Job::Sets, at);
            concerned.extend(self.wishes.keys().cloned());
        }
        for key in concerned {
            self.queue.push(Job::Placement(key), at);
        }
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
                hub::log_failure(&job, &error, RETRY);
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
                self.note(written, |shelves, object| shelves.sets.put(object));
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
                self.note(written, |shelves, object| shelves.bindings.put(object));
            }
        }
        Ok(())
    }

    async fn apply_placement(&mut self, key: &Key, clusters: &[Cluster]) -> kube::Result<()> {
        let Some(placement) = self.wishes.get(key).cloned() else {
            return Ok(());
        };
        let disabled = placement.meta.annotations.get(annotation::SCHEDULING_DISABLED);
        if placement.meta.terminating || disabled.is_some_and(|value| value == "true") {
            return Ok(());
        }
        let sets: Vec<_> = self.sets.values().cloned().collect();
        let bindings: Vec<_> = self
            .bindings
            .in_namespace(&key.namespace)
            .map(|(_, binding)| binding.clone())
            .collect();
        let now = self.clock.now();
        let chosen = self.decisions.chosen(key);
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
        self.decisions.apply(&placement, &schedule).await?;
        let status = schedule.status(&key.name, &placement.status, now);
        if status != placement.status {
            let written = self
                .hub
                .patch_status(Kind::Placement, &placement.meta, json!(status))
                .await?;
            self.note(written, |shelves, object| shelves.wishes.put(object));
        }
        Ok(())
    }

    fn note(&mut self, written: Option<DynamicObject>, put: fn(&mut Self, DynamicObject) -> Option<Key>) {
        if let Some(object) = written {
            self.tally.placements_written.add();
            put(self, object);
        }
    }
}

/// Waits until every cluster has registered; returns false when the task that would tell has ended.
async fn all_registered(registered: &mut watch::Receiver<bool>) -> bool {
    registered.wait_for(|all| *all).await.is_ok()
}

fn read_cluster(object: DynamicObject) -> Result<(Meta, Cluster), DecodeError> {
    let ManagedCluster { meta, spec, status } = ManagedCluster::decode(object)?;
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
