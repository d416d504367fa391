//! The loop that reports the health of add-ons which leave it to the agent of their cluster. It writes only what changes: there
//! are no Leases and no heartbeats, and a hub without add-ons is left alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::StreamExt;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::{
    agents::{Command, Shared},
    hub::Change,
    queue::Queue,
    store::{self, Key, KindStore},
};
use crate::{
    agent::{self, Reporter},
    fault::ActiveFaults,
    wire::{AddOnSpec, AddOnStatus, Kind, ManagedClusterAddOn},
};

/// How long the hub may take to say who reports the health of a new add-on.
const UNDECIDED: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_secs(1);

/// The health of all add-ons of a fleet.
pub(super) struct Health {
    shared: Shared,
    active_faults: ActiveFaults,
    clusters: BTreeSet<String>,
    addons: KindStore<ManagedClusterAddOn>,
    /// When each add-on was first seen.
    seen: BTreeMap<Key, Duration>,
    queue: Queue<Key>,
}

impl Health {
    pub(super) fn new(
        shared: Shared,
        clusters: impl IntoIterator<Item = String>,
        active_faults: ActiveFaults,
    ) -> Self {
        Self {
            shared,
            active_faults,
            clusters: clusters.into_iter().collect(),
            addons: KindStore::new(store::read_record::<AddOnSpec, AddOnStatus>),
            seen: BTreeMap::new(),
            queue: Queue::default(),
        }
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
        stop: CancellationToken,
    ) {
        let kind = Kind::ManagedClusterAddOn;
        if let Err(error) = self.shared.hub.read_any(kind).await {
            debug!(%error, "the hub has no add-ons, none are reported");
            return;
        }
        let mut changes = self.shared.hub.watch(kind);
        loop {
            let (wake, clock) = (self.queue.next_at(), self.shared.clock);
            tokio::select! {
                () = stop.cancelled() => return,
                Some(change) = changes.next() => self.observe(change),
                Some(command) = commands.recv() => {
                    self.obey(command);
                    // A fault is replaced in two commands; between them nothing may be reported.
                    while let Ok(next) = commands.try_recv() {
                        self.obey(next);
                    }
                }
                () = clock.reach(wake) => {
                    // A write that hangs must not hold up the end.
                    tokio::select! { () = stop.cancelled() => return, () = self.work_off() => {} }
                }
            }
        }
    }

    fn observe(&mut self, change: Change) {
        let now = self.shared.clock.elapsed();
        for key in self.addons.observe(change) {
            if self.addons.get(&key).is_none() {
                self.seen.remove(&key);
            } else if self.clusters.contains(&key.namespace) {
                self.seen.entry(key.clone()).or_insert(now);
                self.queue.push(key, now);
            } else {
                self.addons.forget(&key);
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::AddFault(rule) => self.active_faults.add(rule),
            Command::ClearFaults(cluster) => self.active_faults.clear(&cluster),
            Command::Recreated(_) => {}
        }
        let now = self.shared.clock.elapsed();
        for key in self.seen.keys() {
            self.queue.push(key.clone(), now);
        }
    }

    async fn work_off(&mut self) {
        while let Some(key) = self.queue.pop_due(self.shared.clock.elapsed()) {
            self.report(&key).await;
        }
    }

    /// Writes what the agent says about one add-on, if that is not what stands there.
    async fn report(&mut self, key: &Key) {
        let now = self.shared.clock.elapsed();
        let Some(addon) = self.addons.get(key).filter(|addon| !addon.meta.terminating) else {
            return;
        };
        let decided = match agent::reporter(addon) {
            Reporter::Hub => return,
            Reporter::Agent => now,
            Reporter::Undecided => self
                .seen
                .get(key)
                .copied()
                .unwrap_or(now)
                .saturating_add(UNDECIDED),
        };
        let (offline, back) = self.active_faults.offline(&key.namespace, now);
        let work = format!("addon-{}-deploy-0", key.name);
        let effects = self.active_faults.effects(&key.namespace, &work, i64::MAX, now);
        let later = (now < decided).then_some(decided);
        for at in [later, back, effects.heals_at].into_iter().flatten() {
            self.queue.push(key.clone(), at);
        }
        if offline || later.is_some() {
            return;
        }
        let mut conditions = addon.status.conditions.clone();
        let said = agent::available(&key.name, &effects);
        said.merge_into(&mut conditions, self.shared.clock.now());
        if conditions == addon.status.conditions {
            return;
        }
        let (kind, status) = (Kind::ManagedClusterAddOn, json!({"conditions": conditions}));
        let written = self.shared.hub.patch_status(kind, &addon.meta, status).await;
        match written {
            Ok(Some(object)) => {
                self.shared.tally.addons_reported.add();
                self.addons.put(object);
            }
            Ok(None) => {}
            Err(error) => {
                super::hub::log_failure(key, &error, RETRY);
                self.queue.push(key.clone(), now.saturating_add(RETRY));
            }
        }
    }
}
