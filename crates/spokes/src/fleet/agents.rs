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
use kube::{api::DynamicObject, runtime::watcher::Event};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    clock::Clock,
    counters::Tally,
    hub::{self, Change, Hub},
    queue::Queue,
    registration::{Circumstances, Reach, Spoke},
};
use crate::{
    agent::{self, Answer, VirtualCluster},
    fault::{Book, FaultRule},
    wire::{Kind, ManifestWork, Meta, finalizer},
};

/// How many calls are under way at once, at most.
const CALLS: usize = 32;
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// The virtual stores of all clusters, by name.
pub(super) type Stores = Arc<Mutex<BTreeMap<String, VirtualCluster>>>;

/// What the owner of a fleet wants changed.
#[derive(Debug)]
pub(super) enum Command {
    AddFault(FaultRule),
    ClearFaults(String),
}

/// Something to be brought in line: a cluster's registration, or one of its works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    Cluster(String),
    Work(String, String),
}

/// What a call brought.
enum Outcome {
    Registered(Reach, kube::Result<bool>),
    Work(kube::Result<Option<DynamicObject>>),
}

/// What the loop remembers of a work.
#[derive(Default)]
struct Slot {
    /// The newest state seen, without labels and annotations.
    meta: Meta,
    /// The whole work, while there is something to do about it.
    work: Option<ManifestWork>,
    /// When this generation, or its deletion, was first seen.
    seen: Duration,
}

struct Registration {
    spoke: Arc<Spoke>,
    /// What the hub was last told.
    told: Option<Reach>,
}

/// The agents of a fleet.
pub(super) struct Agents {
    hub: Hub,
    clock: Clock,
    tally: Arc<Tally>,
    stores: Stores,
    book: Book,
    taint_offline: bool,
    clusters: BTreeMap<String, Registration>,
    works: BTreeMap<Job, Slot>,
    listing: Option<BTreeSet<Job>>,
    queue: Queue<Job>,
    running: BTreeSet<Job>,
    /// Jobs that became due while they were running.
    again: BTreeSet<Job>,
    failures: BTreeMap<Job, u32>,
    calls: FuturesUnordered<BoxFuture<'static, (Job, Outcome)>>,
    registered: watch::Sender<bool>,
}

/// What the agents of a fleet share with its handle.
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
        book: Book,
        taint_offline: bool,
        registered: watch::Sender<bool>,
    ) -> Self {
        let Shared {
            hub,
            clock,
            tally,
            stores,
        } = shared;
        let mut queue = Queue::default();
        let mut clusters = BTreeMap::new();
        let mut empty = BTreeMap::new();
        for spoke in spokes {
            queue.push(Job::Cluster(spoke.name.clone()), Duration::ZERO);
            empty.insert(spoke.name.clone(), VirtualCluster::new(spoke.nodes));
            clusters.insert(
                spoke.name.clone(),
                Registration {
                    spoke: Arc::new(spoke),
                    told: None,
                },
            );
        }
        *stores.lock().unwrap_or_else(PoisonError::into_inner) = empty;
        registered.send_replace(clusters.is_empty());
        Self {
            hub,
            clock,
            tally,
            stores,
            book,
            taint_offline,
            clusters,
            works: BTreeMap::new(),
            listing: None,
            queue,
            running: BTreeSet::new(),
            again: BTreeSet::new(),
            failures: BTreeMap::new(),
            calls: FuturesUnordered::new(),
            registered,
        }
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
        stop: CancellationToken,
    ) {
        let mut changes: BoxStream<'static, Change> = self.hub.watch(Kind::ManifestWork);
        loop {
            self.start_due();
            let wake = if self.calls.len() < CALLS {
                self.queue.next_at()
            } else {
                None
            };
            let clock = self.clock;
            tokio::select! {
                () = stop.cancelled() => return,
                Some(change) = changes.next() => self.observe(change),
                Some(command) = commands.recv() => self.obey(command),
                Some((job, outcome)) = self.calls.next(), if !self.calls.is_empty() => self.finish(job, outcome),
                () = clock.reach(wake) => {}
            }
        }
    }

    fn start_due(&mut self) {
        while self.calls.len() < CALLS {
            let Some(job) = self.queue.pop_due(self.clock.elapsed()) else {
                return;
            };
            if self.running.contains(&job) {
                self.again.insert(job);
                continue;
            }
            let call = match &job {
                Job::Cluster(cluster) => self.register(cluster),
                Job::Work(..) => self.work(&job),
            };
            if let Some(call) = call {
                self.running.insert(job.clone());
                self.calls.push(call.map(move |outcome| (job, outcome)).boxed());
            }
        }
    }

    fn register(&mut self, cluster: &str) -> Option<BoxFuture<'static, Outcome>> {
        let (offline, back) = self.book.offline(cluster, self.clock.elapsed());
        if let Some(back) = back {
            self.queue.push(Job::Cluster(cluster.to_owned()), back);
        }
        let reach = if offline { Reach::Offline } else { Reach::Online };
        let known = self.clusters.get(cluster)?;
        if known.told == Some(reach) {
            return None;
        }
        let case = Circumstances {
            reach,
            taint_offline: self.taint_offline,
            may_create: known.told.is_none(),
            clock: self.clock,
        };
        let (spoke, hub) = (Arc::clone(&known.spoke), self.hub.clone());
        Some(async move { Outcome::Registered(reach, spoke.apply(&hub, case).await) }.boxed())
    }

    fn work(&mut self, job: &Job) -> Option<BoxFuture<'static, Outcome>> {
        let Job::Work(cluster, name) = job else {
            return None;
        };
        // An agent that is not there does nothing, not even let go of what is being deleted.
        if self.clusters.get(cluster)?.told != Some(Reach::Online)
            || self.book.offline(cluster, self.clock.elapsed()).0
        {
            return None;
        }
        let slot = self.works.get_mut(job)?;
        let now = self.clock.elapsed();
        let effects = self.book.effects(cluster, name, slot.meta.generation, now);
        if let Some(heals) = effects.heals_at {
            self.queue.push(job.clone(), heals);
        }
        let ready = slot.seen.saturating_add(effects.delay);
        if now < ready {
            self.queue.push(job.clone(), ready);
            return None;
        }
        let hub = self.hub.clone();
        let Some(work) = slot.work.take() else {
            let (cluster, name) = (cluster.clone(), name.clone());
            return Some(
                async move { Outcome::Work(hub.read(Kind::ManifestWork, &cluster, &name).await) }.boxed(),
            );
        };
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = agent::answer(&work, stores.get_mut(cluster)?, &effects, self.clock.now());
        drop(stores);
        let tally = Arc::clone(&self.tally);
        match answer {
            Answer::Nothing => None,
            answer => {
                Some(async move { Outcome::Work(tell(&hub, &tally, &work.meta, answer).await) }.boxed())
            }
        }
    }

    fn finish(&mut self, job: Job, outcome: Outcome) {
        self.running.remove(&job);
        if self.again.remove(&job) {
            self.queue.push(job.clone(), self.clock.elapsed());
        }
        match outcome {
            Outcome::Registered(reach, Ok(written)) => self.note_registered(&job, reach, written),
            Outcome::Work(Ok(Some(object))) => {
                self.failures.remove(&job);
                if self.works.contains_key(&job) {
                    self.accept(object);
                    self.queue.push(job, self.clock.elapsed());
                }
            }
            Outcome::Work(Ok(None)) => self.forget(&job),
            Outcome::Registered(_, Err(error)) | Outcome::Work(Err(error)) => self.retry(job, &error),
        }
    }

    fn note_registered(&mut self, job: &Job, reach: Reach, written: bool) {
        self.failures.remove(job);
        let Job::Cluster(cluster) = job else { return };
        let Some(known) = self.clusters.get_mut(cluster) else {
            return;
        };
        let first = known.told.replace(reach).is_none();
        match (first, written) {
            (true, _) => self.tally.clusters_registered.add(),
            (false, true) => self.tally.clusters_changed.add(),
            (false, false) => {}
        }
        debug!(%cluster, ?reach, "cluster registered");
        self.wake_works(cluster);
        if first && self.clusters.values().all(|known| known.told.is_some()) {
            self.registered.send_replace(true);
        }
        // Faults may have changed while the call was under way.
        self.queue.push(job.clone(), self.clock.elapsed());
    }

    fn wake_works(&mut self, cluster: &str) {
        let now = self.clock.elapsed();
        let from = Job::Work(cluster.to_owned(), String::new());
        let works = self.works.range(from..).map(|(job, _)| job);
        for job in works.take_while(|job| matches!(job, Job::Work(namespace, _) if namespace == cluster)) {
            self.queue.push(job.clone(), now);
        }
    }

    fn retry(&mut self, job: Job, error: &kube::Error) {
        self.tally.retries.add();
        let failures = self.failures.entry(job.clone()).or_default();
        let wait = FIRST_RETRY
            .saturating_mul(1 << (*failures).min(10))
            .min(LAST_RETRY);
        *failures = failures.saturating_add(1);
        if hub::is_conflict(error) {
            debug!(?job, "somebody else wrote first, looking again");
        } else {
            warn!(?job, %error, ?wait, "call failed, trying again");
        }
        self.queue.push(job, self.clock.elapsed().saturating_add(wait));
    }

    fn obey(&mut self, command: Command) {
        let concerned: Vec<_> = match &command {
            Command::AddFault(rule) => self
                .clusters
                .keys()
                .filter(|name| rule.cluster.matches(name))
                .cloned()
                .collect(),
            Command::ClearFaults(cluster) => vec![cluster.clone()],
        };
        match command {
            Command::AddFault(rule) => self.book.add(rule),
            Command::ClearFaults(cluster) => self.book.clear(&cluster),
        }
        for cluster in concerned {
            self.wake_works(&cluster);
            self.queue.push(Job::Cluster(cluster), self.clock.elapsed());
        }
    }

    fn observe(&mut self, change: Change) {
        match change {
            Event::Init => self.listing = Some(BTreeSet::new()),
            Event::InitApply(object) | Event::Apply(object) => {
                if let Some(job) = self.accept(object) {
                    self.queue.push(job, self.clock.elapsed());
                }
            }
            Event::InitDone => {
                let Some(listed) = self.listing.take() else { return };
                let gone: Vec<_> = self
                    .works
                    .keys()
                    .filter(|job| !listed.contains(job))
                    .cloned()
                    .collect();
                gone.iter().for_each(|job| self.forget(job));
            }
            Event::Delete(object) => {
                let meta = object.metadata;
                let job = Job::Work(meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default());
                let known = self
                    .works
                    .get(&job)
                    .is_some_and(|slot| meta.uid.is_none_or(|uid| uid == slot.meta.uid));
                if known {
                    self.forget(&job);
                }
            }
        }
    }

    /// Takes in a state of a work; returns its job if this is news.
    fn accept(&mut self, object: DynamicObject) -> Option<Job> {
        let work = match ManifestWork::decode(object) {
            Ok(work) => work,
            Err(error) => {
                warn!(%error, source = ?std::error::Error::source(&error), "leaving a work out");
                return None;
            }
        };
        if !self.clusters.contains_key(&work.meta.namespace) {
            return None;
        }
        let job = Job::Work(work.meta.namespace.clone(), work.meta.name.clone());
        if let Some(listing) = &mut self.listing {
            listing.insert(job.clone());
        }
        let slot = self.works.entry(job.clone()).or_default();
        if work.meta.is_older_than(&slot.meta) {
            return None;
        }
        let news = slot.meta.uid != work.meta.uid || slot.meta.resource_version != work.meta.resource_version;
        let task = |meta: &Meta| (meta.uid.clone(), meta.generation, meta.terminating);
        if task(&slot.meta) != task(&work.meta) {
            slot.seen = self.clock.elapsed();
        }
        slot.meta = Meta {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            ..work.meta.clone()
        };
        slot.work = Some(work);
        news.then_some(job)
    }

    /// A work that is gone leaves nothing behind that was its own, even when nobody waited for the agent.
    fn forget(&mut self, job: &Job) {
        self.works.remove(job);
        self.failures.remove(job);
        if let Job::Work(cluster, name) = job
            && let Some(store) = self
                .stores
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_mut(cluster)
        {
            store.forget_work(name);
        }
    }
}

async fn tell(hub: &Hub, tally: &Tally, meta: &Meta, answer: Answer) -> kube::Result<Option<DynamicObject>> {
    let finalizers = |list: Vec<&String>| json!({"metadata": {"resourceVersion": meta.resource_version, "finalizers": list}});
    let own = finalizer::WORK.to_owned();
    let (count, outcome) = match answer {
        Answer::TakeHold => {
            let list = meta.finalizers.iter().chain([&own]).collect();
            (
                &tally.works_taken,
                hub.patch(Kind::ManifestWork, meta, finalizers(list)).await,
            )
        }
        Answer::LetGo => {
            let list = meta.finalizers.iter().filter(|name| **name != own).collect();
            (
                &tally.works_released,
                hub.patch(Kind::ManifestWork, meta, finalizers(list)).await,
            )
        }
        Answer::Report(status) => (
            &tally.works_reported,
            hub.patch_status(Kind::ManifestWork, meta, json!(status)).await,
        ),
        Answer::Nothing => return Ok(None),
    };
    if matches!(outcome, Ok(Some(_))) {
        count.add();
    }
    outcome
}
