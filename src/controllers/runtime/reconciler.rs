//! The loop: events into the store, due add-ons into plans, plans into writes, answers into expectations.
//!
//! One writer owns the store. Nothing is planned before every kind was listed once, or while the store has yet to see
//! what the last plan of the add-on wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::FutureExt;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::absence::{Absences, about};
use super::backoff::Backoff;
use super::clock::{Clock, Trust};
use super::controller::{Controller, Moment, Planned};
use super::event_budget::InvolvedObject;
use super::event_recorder::EventRecorder;
use super::looks::Look;
use super::pruned_fields::PrunedFields;
use super::queue::{Queue, Waits};
use super::read_again::{Found, look_again};
use super::report;
use super::viewers::Viewers;
use super::write::{Applied, Writer, apply_plan};
use crate::controllers::notifier::Notifier;
use crate::controllers::tide::{Part, Progress, TideOptions};
use plan::Plan;
use store::{Completeness, ConfigWatchList, Event, Facts, Fence, Kind, Name, ObjectKey, Owner, Store};

/// How long the store may take to see an own write, unless told otherwise.
const STALE: Duration = Duration::from_secs(5);
/// Pause after a plan that could not be made or applied at all.
pub(super) const AFTER_PANIC: Duration = Duration::from_secs(10);
/// Events taken in at once before due add-ons are looked at again.
const BATCH: usize = 1024;
/// How long a plan waits for the first look at configurations that were only just referred to.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// How long a plan that is not written, only shown, is left alone at least.
const UNWRITTEN: Duration = Duration::from_secs(5);
/// How long writes in progress may take at shutdown.
const FAREWELL: Duration = Duration::from_secs(5);

/// Where the loop publishes its state.
pub(in crate::controllers) struct Outlets {
    pub(in crate::controllers) facts: Arc<ArcSwap<Facts>>,
    pub(in crate::controllers) progress: broadcast::Sender<Progress>,
    pub(in crate::controllers) notifier: Option<Notifier>,
    pub(in crate::controllers) synced: watch::Sender<bool>,
    pub(in crate::controllers) watch_lists: mpsc::UnboundedSender<ConfigWatchList>,
    pub(in crate::controllers) relists: BTreeMap<Kind, Arc<Notify>>,
    pub(in crate::controllers) viewers: Viewers,
}

/// What plans, by the kind of the owners that it plans for.
pub(in crate::controllers) type Controllers = BTreeMap<Kind, Box<dyn Controller>>;

/// The loop's state.
pub(in crate::controllers) struct Reconciler {
    pub(super) writer: Writer,
    pub(super) options: TideOptions,
    outlets: Outlets,
    pub(super) store: Store,
    pub(super) queue: Queue,
    pub(super) backoff: Backoff,
    listed: BTreeSet<Kind>,
    pub(super) waiting: BTreeMap<Owner, Instant>,
    /// When the last writes were answered that the watches have yet to show.
    pub(super) written: BTreeMap<Owner, Instant>,
    /// Since when add-ons have configurations that have not been looked at.
    unseen: BTreeMap<Owner, Instant>,
    /// How long the store may take to see an own write.
    pub(super) patience: Duration,
    running: JoinSet<(Owner, Option<Applied>)>,
    /// Objects of an add-on that are not as the watches show them.
    pub(super) doubtful: BTreeMap<Owner, BTreeSet<ObjectKey>>,
    looking: JoinSet<(Owner, Look, Found)>,
    pub(super) absences: Absences,
    pub(super) clock: Clock,
    /// Whether it was known what time it is when that was asked last.
    pub(super) trust: Trust,
    /// Whether the metrics count objects that cannot be read.
    pub(super) counts_unreadable: bool,
    /// How many removals of each add-on are held.
    pub(super) held_removals: BTreeMap<Owner, usize>,
    /// What plans, by the kind of the owner.
    pub(super) controllers: Controllers,
    /// Whether this replica is the one that writes, and whether it was when that was asked last.
    leading: watch::Receiver<bool>,
    pub(super) led: bool,
    /// Whether OCM's add-on manager is active.
    pub(super) fence: watch::Receiver<Fence>,
}

/// What makes the loop write, or not.
pub(in crate::controllers) struct Switches {
    /// Ends it.
    pub(in crate::controllers) stop: CancellationToken,
    /// Whether this replica is the one that writes.
    pub(in crate::controllers) leading: watch::Receiver<bool>,
    /// Whether OCM's add-on manager is active.
    pub(in crate::controllers) fence: watch::Receiver<Fence>,
}

/// What keeps an add-on from being planned.
enum Held {
    No,
    Until(Instant),
    /// Objects are being read; the add-on stays busy.
    Looking,
}

impl Reconciler {
    pub(in crate::controllers) fn new(
        client: Client,
        options: TideOptions,
        outlets: Outlets,
        clock: Clock,
        controllers: Controllers,
        switches: Switches,
    ) -> Self {
        let Switches { stop, leading, fence } = switches;
        let relists = outlets.relists.clone();
        let absences = Absences::new(client.clone(), options.metrics.clone(), relists);
        let recorder = EventRecorder::start(client.clone(), options.events, stop.clone());
        let writer = Writer {
            client,
            progress: outlets.progress.clone(),
            recorder,
            notifier: outlets
                .notifier
                .clone()
                .map(|notifier| (notifier, Name::from("unknown"))),
            stop,
            at_once: options.writes_at_once,
            signing_namespace: options.signing_namespace.clone(),
            pruned: PrunedFields::default(),
            leading: leading.clone(),
            fence: watch::channel(Fence::Open).1,
            metrics: options.metrics.clone(),
        };
        let queue = Queue::new(options.metrics.queue().clone());
        Self {
            writer,
            store: Store::bounded(options.settings.clone()),
            options,
            outlets,
            queue,
            backoff: Backoff::default(),
            listed: BTreeSet::new(),
            waiting: BTreeMap::new(),
            written: BTreeMap::new(),
            unseen: BTreeMap::new(),
            patience: STALE,
            running: JoinSet::new(),
            doubtful: BTreeMap::new(),
            looking: JoinSet::new(),
            absences,
            trust: clock.trust(),
            clock,
            counts_unreadable: false,
            held_removals: BTreeMap::new(),
            controllers,
            leading,
            led: false,
            fence,
        }
    }

    /// Returns where others may tell what happened, within the same budget.
    pub(in crate::controllers) fn recorder(&self) -> EventRecorder {
        self.writer.recorder.clone()
    }

    /// Runs until shutdown is requested, or until no watch is left.
    pub(in crate::controllers) async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        let stop = self.writer.stop.clone();
        let mut trust = self.clock.told();
        loop {
            let next = self.queue.next().filter(|_| self.may_plan());
            let next = next.into_iter().chain(self.absences.next());
            let next = next.chain(self.looks_at()).min();
            let due = async { tokio::time::sleep_until(next.unwrap_or_else(Instant::now)).await };
            tokio::select! {
                () = stop.cancelled() => break,
                event = events.recv() => {
                    let Some(event) = event else { break };
                    self.take_in(event, &mut events);
                }
                Some(done) = self.running.join_next(), if !self.running.is_empty() => {
                    if let Ok((owner, applied)) = done {
                        self.settle(&owner, applied);
                    }
                }
                Some(done) = self.looking.join_next(), if !self.looking.is_empty() => {
                    if let Ok((owner, look, seen)) = done {
                        self.see(&owner, look, seen);
                    }
                }
                Some(read) = self.absences.read(), if self.absences.are_reading() => self.hear(read),
                Some(viewer) = self.outlets.viewers.come() => self.outlets.viewers.seat(viewer),
                Ok(()) = self.leading.changed() => {}
                Ok(()) = self.fence.changed() => {}
                Ok(()) = trust.changed() => {}
                () = due, if next.is_some() => {}
            }
            self.look_at_the_fence();
            self.look_out();
            self.look_at_the_clock();
            self.publish();
            self.tell_queue();
            self.start_due();
            self.tell_queue();
            self.show();
        }
        let rest = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, rest).await.is_err() {
            warn!("writes were still in progress at shutdown");
        }
    }

    fn is_synced(&self) -> bool {
        let part = self.options.part;
        let mut watched = Kind::ALL.into_iter().filter(|kind| part.watches(*kind));
        watched.all(|kind| self.listed.contains(&kind))
    }

    /// A replica that does not lead keeps what is due, and can go on from there at once. A plan made without knowing the time, or
    /// whether what no list shows was deleted, would end what has only begun. What does not end by itself is in plans that say
    /// nothing else.
    fn may_plan(&self) -> bool {
        self.is_synced()
            && *self.leading.borrow()
            && !self.absences.are_open()
            && self.trust != Trust::Doubted
    }

    fn take_in(&mut self, first: Event, events: &mut mpsc::Receiver<Event>) {
        let now = Instant::now();
        self.take_one(first, now);
        for _ in 0..BATCH {
            let Ok(event) = events.try_recv() else { break };
            self.take_one(event, now);
        }
        for (object, fault) in self.store.take_new_faults() {
            warn!(%object, fault, malformed = self.store.faults().len(), "object skipped");
        }
    }

    pub(super) fn take_one(&mut self, event: Event, now: Instant) {
        if let Event::Listed { kind, objects } = event {
            let keys = objects.iter().map(|object| ObjectKey::of(kind, object)).collect();
            for object in objects {
                self.take_one(Event::Applied { kind, object }, now);
            }
            return self.take_one(Event::ListEnded { kind, keys }, now);
        }
        if let Event::ListEnded { kind, .. } | Event::Withheld { kind } = &event {
            self.listed.insert(*kind);
        }
        self.absences.hear(&event);
        let events = match event {
            Event::ListEnded { kind, keys } => self.absences.list_ended(&self.store, kind, keys),
            Event::Hidden { kind } => {
                self.absences.hidden(kind, now + self.options.gathering.at_work);
                Vec::new()
            }
            other => vec![other],
        };
        for event in events {
            self.believe(event, now);
        }
    }

    /// Takes in an event without taking it for the word of a watch.
    pub(super) fn believe(&mut self, event: Event, now: Instant) {
        let unread = match &event {
            Event::Unreadable { why, .. } => Some(why.clone()),
            _ => None,
        };
        let key = about(&event);
        for owner in self.store.apply(event) {
            self.queue.gather(&owner, now, self.options.gathering);
            self.note_seen(&owner);
            self.outlets.viewers.touch(&owner);
        }
        if let Some(key) = key {
            // An older state than the one that is known is no fault.
            let unread = unread.filter(|why| self.store.faults().get(&key) == Some(why));
            let left_out = || self.store.left_out(&key).map(ToOwned::to_owned);
            if let Some(why) = unread.or_else(left_out) {
                self.absences.cannot_read(key, &why);
            }
        }
    }

    fn look_out(&mut self) {
        if let Some(watch_list) = self.store.take_watch_list() {
            // The receiver has ended only while the program is stopping.
            let _sent = self.outlets.watch_lists.send(watch_list).is_ok();
        }
    }

    fn publish(&mut self) {
        let complete = self.is_synced();
        // Kinds that are not watched here do not make the facts incomplete: no plan or decision here asks for them.
        let unasked = Kind::ALL
            .into_iter()
            .filter(|kind| !self.options.part.watches(*kind));
        let known = Completeness::of(self.listed.iter().copied().chain(unasked));
        if let Some(facts) = self.store.publish(known) {
            self.outlets.facts.store(Arc::new(facts));
        }
        self.writer.metrics.read(complete, self.store.faults().len());
        self.writer.metrics.upgrades().tell(self.store.upgrade_progress());
        let leads = *self.leading.borrow();
        self.writer
            .metrics
            .leads(leads && self.options.part == Part::Drives);
        if leads && !std::mem::replace(&mut self.led, leads) {
            self.store.begin_to_write(self.clock.now());
        }
        report::fleet(&mut self.store, self.writer.metrics.fleet(), leads.into());
        self.led = leads;
        let is_news = self
            .outlets
            .synced
            .send_if_modified(|synced| complete && !std::mem::replace(synced, complete));
        if is_news {
            let (addons, malformed) = (self.store.addons().count(), self.store.faults().len());
            info!(addons, malformed, "initial lists complete");
        }
    }

    /// Who waits in the queue of a replica that does not lead waits for nothing.
    fn tell_queue(&self) {
        let waits = if *self.leading.borrow() {
            Waits::Count
        } else {
            Waits::Rest
        };
        self.queue.tell(waits, Instant::now());
    }

    fn start_due(&mut self) {
        let now = Instant::now();
        if self.is_synced() {
            self.absences.pursue(&self.store, now);
        }
        self.note_unreadable();
        if !self.may_plan() {
            return;
        }
        self.backoff.sweep(now);
        while let Some(owner) = self.queue.take(now) {
            let started = match self.held(&owner, now) {
                Held::Until(until) => {
                    self.queue.touch(&owner, until);
                    false
                }
                Held::Looking => true,
                Held::No => self.start(&owner, now),
            };
            if !started {
                self.queue.finish(&owner, Instant::now());
            }
        }
    }

    /// A cache that has not seen our own last writes would plan them again, and start more than may be in progress.
    fn held(&mut self, owner: &Owner, now: Instant) -> Held {
        let doubtful = self.doubtful.remove(owner).unwrap_or_default();
        if !doubtful.is_empty() {
            return self.look(owner, doubtful.into_iter().collect());
        }
        let awaited = self.store.awaited(owner);
        if awaited == 0 {
            self.waiting.remove(owner);
            return self.unseen_until(owner, now).map_or(Held::No, Held::Until);
        }
        let deadline = *self.waiting.entry(owner.clone()).or_insert(now) + self.patience;
        if now < deadline {
            return Held::Until(deadline);
        }
        warn!(%owner, awaited, "the watch did not return own writes in time; reading the objects");
        self.look(owner, self.store.awaited_objects(owner))
    }

    fn look(&mut self, owner: &Owner, objects: Vec<ObjectKey>) -> Held {
        let (client, owner) = (self.writer.client.clone(), owner.clone());
        let look = self.absences.looks.begin(objects);
        self.looking.spawn(async move {
            let found = look_again(client, look.objects()).await;
            (owner, look, found)
        });
        Held::Looking
    }

    /// Without the hashes of new references every status would be written twice.
    fn unseen_until(&mut self, owner: &Owner, now: Instant) -> Option<Instant> {
        if !self.store.is_unanswered(owner) {
            self.unseen.remove(owner);
            return None;
        }
        let deadline = *self.unseen.entry(owner.clone()).or_insert(now) + FIRST_LOOK;
        (now < deadline).then_some(deadline)
    }

    /// Plans the add-on, withholds what must not be written now, and starts to write the rest; returns whether anything is being written.
    fn start(&mut self, owner: &Owner, now: Instant) -> bool {
        let time = self.clock.now();
        let Some(mut plan) = self.plan(owner, time, now) else {
            report::forget(&self.writer.metrics, owner);
            return false;
        };
        debug!(%owner, actions = plan.actions.len(), waits = plan.waits.len(), "planned");
        self.withhold(owner, &mut plan, now);
        if let Some(at) = plan.recheck_at {
            let pause = Duration::try_from(at.duration_since(time)).unwrap_or_default();
            // Where nothing is written, what a plan waits for never comes; it is not planned repeatedly.
            let least = if self.options.part == Part::Observes {
                UNWRITTEN
            } else {
                Duration::ZERO
            };
            self.queue.touch(owner, now + pause.max(least));
        }
        if self.options.part == Part::Observes {
            report::pending(&self.writer.metrics, owner, &plan);
            return false;
        }
        if plan.actions.is_empty() {
            return false;
        }
        let (mut writer, name) = (self.writer.clone(), owner.clone());
        let system = self
            .store
            .meta(&ObjectKey::new(Kind::Namespace, "", "kube-system"));
        if let Some(((_, hub), system)) = writer.notifier.as_mut().zip(system) {
            *hub = system.uid.clone();
        }
        if self.store.is_stocks(owner) {
            writer.fence = self.fence.clone();
        }
        let known = self.store.meta(owner);
        let subject = InvolvedObject {
            owner: owner.clone(),
            uid: known.map(|meta| meta.uid.clone()),
        };
        self.running.spawn(async move {
            let applied = AssertUnwindSafe(apply_plan(writer, subject, plan))
                .catch_unwind()
                .await;
            (name, applied.ok())
        });
        true
    }

    /// Plans an add-on; a plan that could not be made is made again soon.
    fn plan(&mut self, owner: &Owner, time: Timestamp, now: Instant) -> Option<Plan> {
        let begun = Instant::now();
        let at = Moment {
            time,
            is_known: self.trust != Trust::Lost,
        };
        let controller = self.controllers.get_mut(&owner.kind)?;
        let open = self.writer.metrics.traces().open(|| None);
        let planned = controller.plan(&mut self.store, owner, at);
        self.writer.metrics.planned(begun.elapsed());
        if let Some(open) = open {
            planned.trace(open, owner, self.writer.metrics.traces());
        }
        match &planned {
            Planned::Whole(_) | Planned::Nothing => {}
            Planned::Panicked => self.queue.retry(owner, now + AFTER_PANIC),
        }
        planned.plan()
    }
}

impl Reconciler {
    /// Returns when those who look at the store are shown it again.
    fn looks_at(&self) -> Option<Instant> {
        self.outlets.viewers.next().filter(|_| self.is_synced())
    }

    fn show(&mut self) {
        if self.is_synced() {
            let writes = self.options.part == Part::Drives;
            self.outlets
                .viewers
                .look(&mut self.store, self.clock.now(), writes);
        }
    }

    /// Has the add-ons planned again that change hands.
    fn look_at_the_fence(&mut self) {
        let fence = *self.fence.borrow();
        let now = Instant::now();
        for owner in self.store.fence(fence) {
            self.queue.gather(&owner, now, self.options.gathering);
            self.outlets.viewers.touch(&owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::api::{Api, DeleteParams, PostParams};
    use serde_json::{Value, json};

    use crate::controllers::addon::Planning;
    use crate::telemetry::Metrics;
    use api::v1alpha1::{AddOnDeploymentConfig, ClusterManagementAddOn, ManagedClusterAddOn};
    use plan::Action;

    /// What the watches show before they break: one add-on that a placement gives to the cluster `default`.
    fn listed(addon: &ClusterManagementAddOn) -> [Event; Kind::ALL.len()] {
        let meta = |name: &str| {
            let place = "cluster.open-cluster-management.io/placement";
            json!({"name": name, "namespace": "default", "uid": name, "resourceVersion": "1", "labels": {(place): "all"}})
        };
        let there = [
            (
                Kind::Cluster,
                json!({"metadata": {"name": "default", "uid": "default", "resourceVersion": "1"}, "spec": {}}),
            ),
            (
                Kind::Placement,
                json!({"metadata": meta("all"), "spec": {}, "status": {"numberOfSelectedClusters": 1}}),
            ),
            (
                Kind::Decision,
                json!({"metadata": meta("all-1"),
                    "status": {"decisions": [{"clusterName": "default", "reason": ""}]}}),
            ),
            (
                Kind::AddOn,
                serde_json::to_value(addon).expect("an add-on is JSON"),
            ),
        ];
        Kind::ALL.map(|kind| {
            let object = there.iter().find(|(of, _)| *of == kind);
            let objects: Vec<Value> = object.map(|(_, object)| object.clone()).into_iter().collect();
            Event::Listed { kind, objects }
        })
    }

    async fn started() -> (devhub::DevHub, ClusterManagementAddOn) {
        let crds = api::crds();
        let crds = crds
            .into_iter()
            .map(|crd| serde_json::to_value(crd).expect("a CRD is JSON"));
        let builder = crds.fold(devhub::DevHub::builder(), devhub::Builder::crd);
        let hub = builder.start().await.expect("the hub starts");
        let addon = json!({"metadata": {"name": "hello"}, "spec": {"installStrategy":
            {"type": "Placements", "placements": [{"name": "all", "namespace": "default"}]}}});
        let addon: ClusterManagementAddOn = serde_json::from_value(addon).expect("an add-on");
        let addons: Api<ClusterManagementAddOn> = Api::all(hub.client());
        let addon = addons
            .create(&PostParams::default(), &addon)
            .await
            .expect("it is stored");
        (hub, addon)
    }

    async fn driver(
        hub: &devhub::DevHub,
        addon: &ClusterManagementAddOn,
        controllers: Controllers,
    ) -> (Reconciler, mpsc::Receiver<Event>, mpsc::Sender<Event>) {
        let outlets = Outlets {
            facts: Arc::default(),
            progress: broadcast::channel(1).0,
            notifier: None,
            synced: watch::channel(false).0,
            watch_lists: mpsc::unbounded_channel().0,
            relists: BTreeMap::new(),
            viewers: Viewers::new(mpsc::unbounded_channel().1),
        };
        let (sender, events) = mpsc::channel(Kind::ALL.len());
        for event in listed(addon) {
            sender.send(event).await.expect("the loop listens");
        }
        let driver = Reconciler::new(
            hub.client(),
            TideOptions::default(),
            outlets,
            Clock::new(None, Metrics::default()),
            controllers,
            Switches {
                stop: CancellationToken::new(),
                leading: watch::channel(true).1,
                fence: watch::channel(Fence::Open).1,
            },
        );
        (driver, events, sender)
    }

    fn addons() -> Controllers {
        Controllers::from([(Kind::AddOn, Box::<Planning>::default() as Box<dyn Controller>)])
    }

    async fn appears(instances: &Api<ManagedClusterAddOn>) {
        while instances.get_opt("hello").await.expect("an answer").is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn an_own_write_that_no_watch_ever_shows_is_planned_again() {
        let (hub, addon) = started().await;
        let (mut driver, events, _sender) = driver(&hub, &addon, addons()).await;
        let stop = driver.writer.stop.clone();
        // Long enough for the deletion to come before the hub is asked what became of the write.
        driver.patience = Duration::from_secs(2);
        let running = tokio::spawn(driver.run(events));
        let instances: Api<ManagedClusterAddOn> = Api::namespaced(hub.client(), "default");
        let patience = Duration::from_secs(10);
        tokio::time::timeout(patience, appears(&instances))
            .await
            .expect("it is created");
        instances
            .delete("hello", &DeleteParams::default())
            .await
            .expect("a user deletes it");
        tokio::time::timeout(patience, appears(&instances))
            .await
            .expect("it is created again");
        stop.cancel();
        running.await.expect("the loop ends");
        hub.shutdown().await;
    }

    async fn told_by(hub: &devhub::DevHub) -> (ClusterManagementAddOn, Vec<String>) {
        let addons: Api<ClusterManagementAddOn> = Api::all(hub.client());
        let addon = addons.get("hello").await.expect("it is there");
        let object = serde_json::to_value(&addon).expect("an add-on is JSON");
        let said = object["status"]["conditions"].as_array().into_iter().flatten();
        let said = said.map(|one| format!("{} {}", one["type"], one["reason"]).replace('"', ""));
        (addon, said.collect())
    }

    #[tokio::test]
    async fn time_that_is_lost_is_reported_and_nothing_else_is_planned() {
        let (hub, addon) = started().await;
        let (mut driver, mut events, _sender) = driver(&hub, &addon, addons()).await;
        while let Ok(event) = events.try_recv() {
            driver.take_one(event, Instant::now());
        }
        driver.clock = Clock::lost();
        driver.look_at_the_clock();
        driver.start_due();
        while driver.running.join_next().await.is_some() {}
        let (addon, said) = told_by(&hub).await;
        assert_eq!(
            said,
            [
                "Ready ClockUnknown",
                "Reconciling Settled",
                "Stalled ClockUnknown"
            ]
        );
        let instances: Api<ManagedClusterAddOn> = Api::namespaced(hub.client(), "default");
        assert!(instances.get_opt("hello").await.expect("an answer").is_none());
        driver
            .queue
            .finish(&ObjectKey::addon(&"hello".into()), Instant::now());
        let object = serde_json::to_value(&addon).expect("an add-on is JSON");
        let kind = Kind::AddOn;
        driver.take_one(Event::Applied { kind, object }, Instant::now());
        driver.clock.find();
        driver.look_at_the_clock();
        driver.start_due();
        while driver.running.join_next().await.is_some() {}
        assert!(instances.get_opt("hello").await.expect("an answer").is_some());
        let (_, said) = told_by(&hub).await;
        assert_eq!(
            said,
            [
                "Ready Progressing",
                "Reconciling Progressing",
                "Stalled NotStalled"
            ]
        );
        hub.shutdown().await;
    }

    /// A controller of another sort of owner: every namespace is to have a configuration of its name.
    #[derive(Debug)]
    struct OfNamespaces;

    impl Controller for OfNamespaces {
        fn plan(&mut self, store: &mut Store, owner: &Owner, _: Moment) -> Planned {
            let object = ObjectKey::new(Kind::DeploymentConfig, owner.name.clone(), owner.name.clone());
            if store.meta(owner).is_none() || store.meta(&object).is_some() {
                return Planned::Nothing;
            }
            let body = json!({"apiVersion": object.kind.api_version(), "kind": "AddOnDeploymentConfig",
                "metadata": {"name": &*owner.name, "namespace": &*owner.name}, "spec": {}});
            let why = "every namespace has one";
            Planned::Whole(Plan {
                actions: vec![Action::Create {
                    object,
                    body: body.into(),
                    why,
                }],
                ..Plan::default()
            })
        }

        fn owners(&self, _: &Store) -> Vec<Owner> {
            Vec::new()
        }
    }

    #[tokio::test]
    async fn another_sort_of_owner_is_driven_beside_add_ons() {
        let (hub, addon) = started().await;
        let mut controllers = addons();
        controllers.insert(Kind::Namespace, Box::new(OfNamespaces));
        let (mut driver, mut events, _sender) = driver(&hub, &addon, controllers).await;
        while let Ok(event) = events.try_recv() {
            driver.take_one(event, Instant::now());
        }
        let kind = Kind::Namespace;
        let object = json!({"metadata": {"name": "default", "uid": "n", "resourceVersion": "1"}});
        driver.take_one(Event::Applied { kind, object }, Instant::now());
        let owner = ObjectKey::new(kind, "", "default");
        driver.queue.touch(&owner, Instant::now());
        driver.start_due();
        while let Some(done) = driver.running.join_next().await {
            let (owner, applied) = done.expect("it ends");
            driver.settle(&owner, applied);
        }
        let configs: Api<AddOnDeploymentConfig> = Api::namespaced(hub.client(), "default");
        let made = configs.get("default").await.expect("it is made");
        assert_eq!(
            driver.store.awaited(&owner),
            1,
            "its own write has yet to be seen"
        );
        let object = serde_json::to_value(&made).expect("an object is JSON");
        let kind = Kind::DeploymentConfig;
        assert!(
            driver
                .store
                .apply(Event::Applied { kind, object })
                .contains(&owner),
            "it is woken up"
        );
        assert_eq!(driver.store.awaited(&owner), 0);
        hub.shutdown().await;
    }
}
