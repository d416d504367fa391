//! The loop that plays the controller of `ManifestWorkReplicaSet`s, where that is asked for: it watches what they depend on,
//! asks for the plan of every set that may have changed, and writes the difference down.

use std::collections::BTreeSet;

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::api::DynamicObject;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    agents::Shared,
    clock::Clock,
    hub::{self, Change, Hub},
    queue::Queue,
    store::{self, Key, KindStore},
};
use crate::{
    replicas::{self, Chosen, Replica},
    wire::{
        DecodeError, Kind, ManifestWork, ManifestWorkReplicaSet, Meta, Placement, PlacementDecision,
        finalizer, label,
    },
};

/// Changes that come together are answered together.
const COALESCE: std::time::Duration = std::time::Duration::from_millis(20);
const RETRY: std::time::Duration = std::time::Duration::from_secs(1);

/// The controller of replica sets.
pub(super) struct ReplicaSets {
    hub: Hub,
    clock: Clock,
    sets: KindStore<ManifestWorkReplicaSet>,
    placements: KindStore<()>,
    decisions: KindStore<PlacementDecision>,
    works: KindStore<Replica>,
    queue: Queue<Key>,
}

impl ReplicaSets {
    pub(super) fn new(shared: Shared) -> Self {
        Self {
            hub: shared.hub,
            clock: shared.clock,
            sets: KindStore::new(store::read_record),
            placements: KindStore::new(read_placement),
            decisions: KindStore::new(store::read_record),
            works: KindStore::new(read_work),
            queue: Queue::default(),
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut changes = self.watch();
        loop {
            let wake = if self.synced() { self.queue.next_at() } else { None };
            let clock = self.clock;
            tokio::select! {
                () = stop.cancelled() => return,
                Some((kind, change)) = changes.next() => self.observe(kind, change),
                () = clock.reach(wake) => {
                    // A write that hangs must not hold up the end.
                    tokio::select! { () = stop.cancelled() => return, () = self.work_off() => {} }
                }
            }
        }
    }

    fn watch(&self) -> BoxStream<'static, (Kind, Change)> {
        let kinds = [
            Kind::ManifestWorkReplicaSet,
            Kind::Placement,
            Kind::PlacementDecision,
            Kind::ManifestWork,
        ];
        stream::select_all(kinds.map(|kind| self.hub.watch(kind).map(move |change| (kind, change)).boxed()))
            .boxed()
    }

    fn synced(&self) -> bool {
        let placements = self.placements.synced() && self.decisions.synced();
        self.sets.synced() && placements && self.works.synced()
    }

    /// Whatever changes, every set may be concerned: there are few.
    fn observe(&mut self, kind: Kind, change: Change) {
        let changed = match kind {
            Kind::ManifestWorkReplicaSet => self.sets.observe(change),
            Kind::Placement => self.placements.observe(change),
            Kind::PlacementDecision => self.decisions.observe(change),
            Kind::ManifestWork => self.works.observe(change),
            Kind::Namespace
            | Kind::ManagedCluster
            | Kind::ManagedClusterSet
            | Kind::ManagedClusterSetBinding
            | Kind::ManagedClusterAddOn => Vec::new(),
        };
        if changed.is_empty() {
            return;
        }
        let at = self.clock.elapsed().saturating_add(COALESCE);
        for key in self.sets.keys() {
            self.queue.push(key.clone(), at);
        }
    }

    async fn work_off(&mut self) {
        let now = self.clock.elapsed();
        while let Some(key) = self.queue.pop_due(now) {
            if let Err(error) = self.apply(&key).await {
                hub::log_failure(&key, &error, RETRY);
                self.queue.push(key, self.clock.elapsed().saturating_add(RETRY));
            }
        }
    }

    async fn apply(&mut self, key: &Key) -> kube::Result<()> {
        let Some(set) = self.sets.get(key).cloned() else {
            return Ok(());
        };
        let owner = replicas::owner(&set.meta);
        let is_own = |work: &&Replica| work.meta.labels.get(label::REPLICA_SET) == Some(&owner);
        let works: Vec<_> = self.works.values().filter(is_own).cloned().collect();
        let held = set.meta.finalizers.iter().any(|name| name == finalizer::WORK);
        match (set.meta.terminating, held) {
            (true, true) => return self.end(&set, &works).await,
            (true, false) => return Ok(()),
            (false, false) => return self.hold(&set.meta, true).await,
            (false, true) => {}
        }
        let plan = replicas::plan(&set, &self.chosen(&set), &works, self.clock.now());
        let kind = Kind::ManifestWork;
        for work in plan.create {
            let namespace = work.pointer("/metadata/namespace").and_then(|name| name.as_str());
            let namespace = namespace.unwrap_or_default().to_owned();
            let made = self.hub.create(kind, &namespace, work).await?;
            self.note(made);
        }
        for (meta, change) in plan.change {
            let changed = self.hub.patch(kind, &meta, change).await?;
            self.note(changed);
        }
        for meta in plan.delete {
            self.hub.delete(kind, &meta.namespace, &meta.name).await?;
        }
        if plan.status != set.status {
            let kind = Kind::ManifestWorkReplicaSet;
            let written = self.hub.patch_status(kind, &set.meta, json!(plan.status)).await?;
            if let Some(object) = written {
                self.sets.put(object);
            }
        }
        Ok(())
    }

    /// The set goes when its works are gone.
    async fn end(&mut self, set: &ManifestWorkReplicaSet, works: &[Replica]) -> kube::Result<()> {
        if works.is_empty() {
            return self.hold(&set.meta, false).await;
        }
        for work in works.iter().filter(|work| !work.meta.terminating) {
            self.hub
                .delete(Kind::ManifestWork, &work.meta.namespace, &work.meta.name)
                .await?;
        }
        Ok(())
    }

    /// Takes hold of a set, or lets go of it.
    async fn hold(&mut self, meta: &Meta, hold: bool) -> kube::Result<()> {
        let others = meta.finalizers.iter().map(String::as_str);
        let others = others.filter(|name| *name != finalizer::WORK);
        let list: Vec<_> = others.chain(hold.then_some(finalizer::WORK)).collect();
        let patch = json!({"metadata": {"resourceVersion": meta.resource_version, "finalizers": list}});
        self.hub.patch(Kind::ManifestWorkReplicaSet, meta, patch).await?;
        Ok(())
    }

    /// Returns the clusters of the placements of a set, as far as they exist.
    fn chosen(&self, set: &ManifestWorkReplicaSet) -> Chosen {
        let namespace = set.meta.namespace.as_str();
        let exists = |name: &&String| {
            let mut placements = self.placements.in_namespace(namespace);
            placements.any(|(key, ())| key.name == **name)
        };
        let clusters = |name: &String| -> BTreeSet<String> {
            let decisions = self.decisions.in_namespace(namespace);
            let of_placement =
                decisions.filter(|(_, decision)| decision.meta.labels.get(label::PLACEMENT) == Some(name));
            let rows = of_placement.flat_map(|(_, decision)| decision.status.decisions.iter().flatten());
            rows.map(|row| row.cluster_name.clone()).collect()
        };
        let names = set.spec.placement_refs.iter().map(|placement| &placement.name);
        names
            .filter(exists)
            .map(|name| (name.clone(), clusters(name)))
            .collect()
    }

    fn note(&mut self, written: Option<DynamicObject>) {
        if let Some(object) = written {
            self.works.put(object);
        }
    }
}

fn read_placement(object: DynamicObject) -> Result<(Meta, ()), DecodeError> {
    let Placement { meta, .. } = Placement::decode(object)?;
    Ok((meta, ()))
}

fn read_work(object: DynamicObject) -> Result<(Meta, Replica), DecodeError> {
    let ManifestWork { meta, status, .. } = ManifestWork::decode(object)?;
    // What changes with every write is no news.
    let kept = Meta {
        resource_version: String::new(),
        ..meta.clone()
    };
    let replica = Replica {
        meta: kept,
        conditions: status.conditions,
    };
    Ok((meta, replica))
}
