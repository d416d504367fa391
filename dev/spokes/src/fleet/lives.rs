//! What the clusters of a fleet are and do by themselves: their stores, and the faults that they meet. Makes no calls.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use semver::Version;

use super::{agents::Stores, clock::Clock, store::Key};
use crate::{
    agent::{self, AgentWrite, VirtualCluster},
    fault::{ActiveFaults, Effects, Phase},
    wire::ManifestWork,
};

/// How often an upgrade can come further in a moment: asked for, begun, ended.
const STEPS: usize = 3;

/// The clusters of a fleet.
pub(super) struct Lives {
    stores: Stores,
    pub(super) active_faults: ActiveFaults,
    clock: Clock,
    /// How each cluster was when it was last looked at.
    revisions: BTreeMap<String, u64>,
}

/// What came of letting time pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pulse {
    /// When something will happen by itself.
    pub(super) next: Vec<Duration>,
    /// When the agent that reports on the cluster will see it, if something has happened.
    pub(super) news: Option<Duration>,
}

/// What an agent makes of a work.
pub(super) struct Look {
    pub(super) answer: AgentWrite,
    /// When it looks again although the work has not changed.
    pub(super) again: Vec<Duration>,
    /// Whether the work reports on what the cluster changes by itself.
    pub(super) follows: bool,
}

impl Lives {
    pub(super) fn new(stores: Stores, active_faults: ActiveFaults, clock: Clock) -> Self {
        Self {
            stores,
            active_faults,
            clock,
            revisions: BTreeMap::new(),
        }
    }

    fn lock(stores: &Stores) -> MutexGuard<'_, BTreeMap<String, VirtualCluster>> {
        stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the version of a cluster that plays OpenShift.
    pub(super) fn version(&self, cluster: &str) -> Option<Version> {
        Self::lock(&self.stores)
            .get(cluster)?
            .openshift_version()
            .cloned()
    }

    /// Lets a cluster that no work has changed be as the hub remembers it.
    pub(super) fn adopt(&mut self, cluster: &str, remembered: VirtualCluster) {
        let mut stores = Self::lock(&self.stores);
        if let Some(store) = stores.get_mut(cluster).filter(|store| store.is_new()) {
            *store = remembered;
        }
    }

    /// Returns whether a cluster cannot be reached, and when that ends.
    pub(super) fn offline(&mut self, cluster: &str) -> (bool, Option<Duration>) {
        let now = self.clock.elapsed();
        let (offline, back) = self.active_faults.offline(cluster, now);
        let phase = Self::lock(&self.stores)
            .get(cluster)
            .map(VirtualCluster::phase)
            .unwrap_or_default();
        if offline || phase != Phase::Moving {
            return (offline, back);
        }
        let troubles = self.active_faults.troubles(cluster, phase, now);
        (troubles.offline, troubles.heals_at)
    }

    /// Lets time pass on a cluster that plays OpenShift.
    pub(super) fn live(&mut self, cluster: &str) -> Pulse {
        let (now, moment) = (self.clock.elapsed(), self.clock.now());
        let mut stores = Self::lock(&self.stores);
        let Some(store) = stores.get_mut(cluster).filter(|store| store.operator().is_some()) else {
            return Pulse::default();
        };
        let mut heals = None;
        // Which faults count depends on how far the upgrade is: each step asks again.
        for _step in 0..STEPS {
            let phase = store.phase();
            let troubles = self.active_faults.troubles(cluster, phase, now);
            heals = troubles.heals_at;
            store.live(moment, troubles);
            if store.phase() == phase {
                break;
            }
        }
        let Some(operator) = store.operator() else {
            return Pulse::default();
        };
        let next = operator.next().map(|at| self.clock.elapsed_at(at));
        let before = self.revisions.insert(cluster.to_owned(), operator.revision());
        let news = before != Some(operator.revision());
        Pulse {
            next: [next, heals].into_iter().flatten().collect(),
            news: news.then(|| now.saturating_add(operator.times().poll)),
        }
    }

    /// Lets the agent of the cluster look at a work.
    pub(super) fn look(&mut self, key: &Key, work: &ManifestWork, effects: &Effects) -> Option<Look> {
        let now = self.clock.elapsed();
        let mut stores = Self::lock(&self.stores);
        let store = stores.get_mut(&key.namespace)?;
        let seen = agent::answer(work, store, effects, self.clock.now());
        let polls = store
            .operator()
            .filter(|operator| seen.follows && operator.is_moving());
        let poll = polls.map(|operator| now.saturating_add(operator.times().poll));
        let next = seen.next.map(|at| self.clock.elapsed_at(at));
        Some(Look {
            answer: seen.answer,
            again: [next, poll].into_iter().flatten().collect(),
            follows: seen.follows,
        })
    }

    /// Removes what was a work's own.
    pub(super) fn forget_work(&self, key: &Key) {
        if let Some(store) = Self::lock(&self.stores).get_mut(&key.namespace) {
            store.forget_work(&key.name);
        }
    }
}
