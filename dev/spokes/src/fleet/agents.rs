//! The loop that runs all work agents and registrations. One watch serves every cluster; a job is a cluster or a work,
//! never runs twice at a time, and waits without a task of its own, so that thousands of clusters cost little.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{BoxStream, FuturesUnordered},
};
use kube::api::DynamicObject;
use semver::Version;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::{
    clock::Clock,
    counters::Tally,
    hub::{self, Change, Hub},
    lives::Lives,
    queue::Queue,
    registration::{Circumstances, Met, Reach, Spoke},
    store::Key,
    works::Works,
};
use crate::{
    agent::{self, AgentWrite, VirtualCluster},
    fault::{ActiveFaults, Effects, FaultRule},
    wire::{Kind, ManifestWork, Meta, finalizer},
};

/// How many calls are under way at once, at most.
const CALLS: usize = 32;
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// The virtual stores of all clusters, by name.
pub(super) type Stores = Arc<Mutex<BTreeMap<String, VirtualCluster>>>;

/// What the owner of a fleet wants changed.
#[derive(Clone, Debug)]
pub(super) enum Command {
    AddFault(FaultRule),
    ClearFaults(String),
    /// The `ManagedCluster` was deleted and created again: the cluster registers again.
    Recreated(String),
}

/// Something to be brought in line: a cluster's registration, or one of its works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    Cluster(String),
    Work(Key),
    /// What a cluster does by itself: the hub is not called.
    Platform(String),
}

/// What a call brought.
enum Outcome {
    Registered(ReportedState, kube::Result<Met>),
    Work(kube::Result<Option<Box<DynamicObject>>>),
}

/// The state of a cluster that is reported to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReportedState {
    reach: Reach,
    /// The version of a cluster that plays OpenShift.
    version: Option<Version>,
}

type Call = BoxFuture<'static, Outcome>;

struct Registration {
    spoke: Arc<Spoke>,
    /// What the hub was last told.
    told: Option<ReportedState>,
}

/// The agents of a fleet.
pub(super) struct Agents {
    shared: Shared,
    lives: Lives,
    taint_offline: bool,
    clusters: BTreeMap<String, Registration>,
    /// How many of them the hub has yet to hear of.
    unknown: usize,
    works: Works,
    queue: Queue<Job>,
    running: BTreeSet<Job>,
    /// Jobs that became due while they were running.
    again: BTreeSet<Job>,
    failures: BTreeMap<Job, u32>,
    calls: FuturesUnordered<BoxFuture<'static, (Job, Outcome)>>,
    registered: watch::Sender<bool>,
}

/// What the parts of a fleet share.
pub(super) struct Shared {
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) tally: Arc<Tally>,
    pub(super) stores: Stores,
}

impl Agents {
    pub(super) fn new(
        shared: Shared,
        spokes: Vec<Spoke>,
        active_faults: ActiveFaults,
        registered: watch::Sender<bool>,
    ) -> Self {
        let mut queue = Queue::default();
        let mut clusters = BTreeMap::new();
        let mut stores = BTreeMap::new();
        for spoke in spokes {
            queue.push(Job::Cluster(spoke.name.clone()), Duration::ZERO);
            let store = spoke.store(None, shared.clock.now());
            if store.operator().is_some() {
                queue.push(Job::Platform(spoke.name.clone()), Duration::ZERO);
            }
            stores.insert(spoke.name.clone(), store);
            clusters.insert(
                spoke.name.clone(),
                Registration {
                    spoke: Arc::new(spoke),
                    told: None,
                },
            );
        }
        *shared.stores.lock().unwrap_or_else(PoisonError::into_inner) = stores;
        registered.send_replace(clusters.is_empty());
        Self {
            lives: Lives::new(Arc::clone(&shared.stores), active_faults, shared.clock),
            shared,
            taint_offline: false,
            unknown: clusters.len(),
            clusters,
            works: Works::default(),
            queue,
            running: BTreeSet::new(),
            again: BTreeSet::new(),
            failures: BTreeMap::new(),
            calls: FuturesUnordered::new(),
            registered,
        }
    }

    /// Returns the agents of a fleet whose hub taints clusters that are offline, or does not.
    pub(super) fn tainting_offline(mut self, taint: bool) -> Self {
        self.taint_offline = taint;
        self
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
        stop: CancellationToken,
    ) {
        let mut changes: BoxStream<'static, Change> = self.shared.hub.watch(Kind::ManifestWork);
        loop {
            self.start_due();
            let wake = if self.calls.len() < CALLS {
                self.queue.next_at()
            } else {
                None
            };
            let clock = self.shared.clock;
            tokio::select! {
                () = stop.cancelled() => return,
                Some(change) = changes.next() => self.observe(change),
                Some(command) = commands.recv() => self.obey(command),
                Some((job, outcome)) = self.calls.next(), if !self.calls.is_empty() => self.finish(job, outcome),
                () = clock.reach(wake) => {}
            }
        }
    }

    fn now(&self) -> Duration {
        self.shared.clock.elapsed()
    }

    fn start_due(&mut self) {
        while self.calls.len() < CALLS {
            let Some(job) = self.queue.pop_due(self.now()) else {
                return;
            };
            if self.running.contains(&job) {
                self.again.insert(job);
                continue;
            }
            let call = match &job {
                Job::Cluster(cluster) => self.register(cluster),
                Job::Work(key) => self.attend(key),
                Job::Platform(cluster) => {
                    self.live(cluster);
                    None
                }
            };
            if let Some(call) = call {
                self.running.insert(job.clone());
                self.calls.push(call.map(move |outcome| (job, outcome)).boxed());
            }
        }
    }

    /// Returns the call that tells the hub whether the cluster can be reached, if the hub does not know.
    fn register(&mut self, cluster: &str) -> Option<Call> {
        let (offline, back) = self.lives.offline(cluster);
        if let Some(back) = back {
            self.queue.push(Job::Cluster(cluster.to_owned()), back);
        }
        let reach = if offline { Reach::Offline } else { Reach::Online };
        let known = self.clusters.get(cluster)?;
        // A cluster that cannot be reached does not say which version it has come to.
        let last = known.told.as_ref().filter(|_| offline);
        let version = match last {
            Some(told) => told.version.clone(),
            None => self.lives.version(cluster),
        };
        let told = ReportedState { reach, version };
        if known.told.as_ref() == Some(&told) {
            return None;
        }
        let case = Circumstances {
            reach,
            taint_offline: self.taint_offline,
            may_create: known.told.is_none(),
            version: told.version.clone(),
            clock: self.shared.clock,
        };
        let (spoke, hub) = (Arc::clone(&known.spoke), self.shared.hub.clone());
        Some(async move { Outcome::Registered(told, spoke.apply(&hub, case).await) }.boxed())
    }

    /// Lets time pass on a cluster. The agent that reports on it sees at its next look what has changed.
    fn live(&mut self, cluster: &str) {
        let pulse = self.lives.live(cluster);
        for at in pulse.next {
            self.queue.push(Job::Platform(cluster.to_owned()), at);
        }
        if let Some(seen) = pulse.news {
            self.queue.push(Job::Cluster(cluster.to_owned()), self.now());
            for key in self.works.followers(cluster) {
                self.queue.push(Job::Work(key.clone()), seen);
            }
        }
    }

    /// Returns the next call about a work, if there is anything to do about it now.
    fn attend(&mut self, key: &Key) -> Option<Call> {
        let now = self.now();
        self.live(&key.namespace);
        // An agent that is not there does nothing, not even let go of what is being deleted.
        let told = self.clusters.get(&key.namespace)?.told.as_ref();
        if told.is_none_or(|told| told.reach != Reach::Online) || self.lives.offline(&key.namespace).0 {
            return None;
        }
        let slot = self.works.slot(key)?;
        let about = (key.name.as_str(), slot.meta.generation);
        let mut effects = self
            .lives
            .active_faults
            .effects_on(&key.namespace, about, &slot.jobs, now);
        if let Some(heals) = effects.heals_at {
            self.queue.push(Job::Work(key.clone()), heals);
        }
        let ready = slot.seen.saturating_add(effects.delay);
        if now < ready {
            self.queue.push(Job::Work(key.clone()), ready);
            return None;
        }
        let (hub, tally) = (self.shared.hub.clone(), Arc::clone(&self.shared.tally));
        let Some(work) = slot.work.take() else {
            let Key { namespace, name } = key.clone();
            let call = async move { hub.read(Kind::ManifestWork, &namespace, &name).await };
            return Some(
                call.map(|found| Outcome::Work(found.map(|found| found.map(Box::new))))
                    .boxed(),
            );
        };
        let over = ready.saturating_add(agent::HOOK_RUN);
        effects.hooks_over = over <= now;
        if !effects.hooks_over && agent::has_hooks(&work) {
            self.queue.push(Job::Work(key.clone()), over);
        }
        let answer = self.look(key, &work, &effects)?;
        if answer == AgentWrite::Nothing {
            self.works.keep(key, work);
            return None;
        }
        let call = async move { tell(&hub, &tally, &work.meta, answer).await };
        Some(
            call.map(|found| Outcome::Work(found.map(|found| found.map(Box::new))))
                .boxed(),
        )
    }

    /// Lets the agent look at a work.
    fn look(&mut self, key: &Key, work: &ManifestWork, effects: &Effects) -> Option<AgentWrite> {
        let look = self.lives.look(key, work, effects)?;
        // The work may have changed what the cluster wants.
        self.live(&key.namespace);
        if let Some(slot) = self.works.slot(key) {
            slot.follows = look.follows;
            slot.returns = look.follows || !look.again.is_empty();
        }
        for at in look.again {
            self.queue.push(Job::Work(key.clone()), at);
        }
        Some(look.answer)
    }

    fn finish(&mut self, job: Job, outcome: Outcome) {
        self.running.remove(&job);
        let now = self.now();
        if self.again.remove(&job) {
            self.queue.push(job.clone(), now);
        }
        match (outcome, &job) {
            (Outcome::Registered(told, Ok(met)), Job::Cluster(cluster)) => {
                self.failures.remove(&job);
                self.note_registered(cluster, told, met);
                // Faults may have changed while the call was under way.
                self.queue.push(job, now);
            }
            (Outcome::Work(Ok(Some(object))), Job::Work(key)) => {
                self.failures.remove(&job);
                self.works.answered(key, *object, now);
                self.queue.push(job, now);
            }
            (Outcome::Work(Ok(None)), Job::Work(key)) => self.forget(key),
            (Outcome::Registered(_, Err(error)) | Outcome::Work(Err(error)), _) => self.retry(job, &error),
            (Outcome::Registered(_, Ok(_)), Job::Work(_) | Job::Platform(_))
            | (Outcome::Work(Ok(_)), Job::Cluster(_) | Job::Platform(_)) => {}
        }
    }

    fn note_registered(&mut self, cluster: &str, mut told: ReportedState, met: Met) {
        let Some(known) = self.clusters.get_mut(cluster) else {
            return;
        };
        let Met { written, version } = met;
        if version.is_some() && version != told.version {
            let store = known.spoke.store(version.as_ref(), self.shared.clock.now());
            self.lives.adopt(cluster, store);
            told.version = version;
        }
        let reach = told.reach;
        let first = known.told.replace(told).is_none();
        if first {
            self.unknown = self.unknown.saturating_sub(1);
        }
        match (first, written) {
            (true, _) => self.shared.tally.clusters_registered.add(),
            (false, true) => self.shared.tally.clusters_changed.add(),
            (false, false) => {}
        }
        debug!(%cluster, ?reach, "the hub knows how the cluster is");
        self.wake_works(cluster);
        if first && self.unknown == 0 {
            self.registered.send_replace(true);
        }
    }

    fn wake_works(&mut self, cluster: &str) {
        let now = self.now();
        for key in self.works.of_cluster(cluster) {
            self.queue.push(Job::Work(key.clone()), now);
        }
    }

    fn retry(&mut self, job: Job, error: &kube::Error) {
        self.shared.tally.retries.add();
        let failures = self.failures.entry(job.clone()).or_default();
        let wait = FIRST_RETRY
            .saturating_mul(1 << (*failures).min(10))
            .min(LAST_RETRY);
        *failures = failures.saturating_add(1);
        hub::log_failure(&job, error, wait);
        self.queue.push(job, self.now().saturating_add(wait));
    }

    fn obey(&mut self, command: Command) {
        let concerned: Vec<_> = match command {
            Command::AddFault(rule) => {
                let names = self
                    .clusters
                    .keys()
                    .filter(|name| rule.cluster.matches(name))
                    .cloned()
                    .collect();
                self.lives.active_faults.add(rule);
                names
            }
            Command::ClearFaults(cluster) => {
                self.lives.active_faults.clear(&cluster);
                vec![cluster]
            }
            Command::Recreated(cluster) => {
                if let Some(known) = self.clusters.get_mut(&cluster) {
                    known.told = None;
                }
                vec![cluster]
            }
        };
        let now = self.now();
        for cluster in concerned {
            self.wake_works(&cluster);
            self.queue.push(Job::Platform(cluster.clone()), now);
            self.queue.push(Job::Cluster(cluster), now);
        }
    }

    fn observe(&mut self, change: Change) {
        let now = self.now();
        let news = self.works.observe(change, now);
        for key in &news.gone {
            self.forget(key);
        }
        match news.changed {
            Some(key) if self.clusters.contains_key(&key.namespace) => self.queue.push(Job::Work(key), now),
            // A work of a cluster that another fleet simulates, or that is real.
            Some(key) => self.works.forget(&key),
            None => {}
        }
    }

    /// Removes the objects of a deleted work, even if its deletion did not wait for the agent.
    fn forget(&mut self, key: &Key) {
        self.works.forget(key);
        self.failures.remove(&Job::Work(key.clone()));
        self.lives.forget_work(key);
    }
}

/// Writes an agent's answer to the hub; returns the work as it is then.
async fn tell(
    hub: &Hub,
    tally: &Tally,
    meta: &Meta,
    answer: AgentWrite,
) -> kube::Result<Option<DynamicObject>> {
    // Finalizers are a plain list: written as a whole, it must not undo what another client has just written.
    let finalizers =
        |list: Vec<&str>| json!({"metadata": {"resourceVersion": meta.resource_version, "finalizers": list}});
    let others = meta
        .finalizers
        .iter()
        .map(String::as_str)
        .filter(|name| *name != finalizer::WORK);
    let (count, outcome) = match answer {
        AgentWrite::TakeHold => {
            let list = others.chain([finalizer::WORK]).collect();
            (
                &tally.works_taken,
                hub.patch(Kind::ManifestWork, meta, finalizers(list)).await,
            )
        }
        AgentWrite::LetGo => (
            &tally.works_released,
            hub.patch(Kind::ManifestWork, meta, finalizers(others.collect()))
                .await,
        ),
        AgentWrite::Report(status) => (
            &tally.works_reported,
            hub.patch_status(Kind::ManifestWork, meta, json!(status)).await,
        ),
        AgentWrite::Nothing => return Ok(None),
    };
    if matches!(outcome, Ok(Some(_))) {
        count.add();
    }
    outcome
}
