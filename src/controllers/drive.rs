//! The loop: events into the store, due add-ons into plans, plans into writes, answers into expectations.
//!
//! One writer owns the store. Nothing is planned before every kind was listed once, or while the store has yet to see
//! what the last plan of the add-on wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::FutureExt;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::absence::Absences;
use super::apply::{Applied, Pen, STUBBORN, apply_plan};
use super::cause::root;
use super::clock::{Clock, Trust};
use super::doubts::timeless;
use super::events::Subject;
use super::herald::Herald;
use super::pauses::Pauses;
use super::planning::{Planned, Planner, Planning};
use super::queue::Queue;
use super::second_look::{Unread, look_again};
use super::tide::{Progress, TideOptions};
use super::unkept::Unkept;
use crate::plan::{Action, Plan};
use crate::snapshot::{Completeness, Event, Facts, Kind, Lane, Lookout, Name, ObjectKey, Store};

/// How long the store may take to see an own write, unless told otherwise.
const STALE: Duration = Duration::from_secs(5);
/// Pause after a plan that could not be made or applied at all, or of which a part must not be.
const AFTER_PANIC: Duration = Duration::from_secs(10);
/// Events taken in at once before due add-ons are looked at again.
const BATCH: usize = 1024;
/// How long a plan waits for the first look at configurations that were only just referred to.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// How long writes under way may take when the tide is shut down.
const FAREWELL: Duration = Duration::from_secs(5);

/// Where the loop tells what it knows.
#[derive(Debug)]
pub(super) struct Outlets {
    pub(super) facts: Arc<ArcSwap<Facts>>,
    pub(super) progress: broadcast::Sender<Progress>,
    pub(super) synced: watch::Sender<bool>,
    pub(super) lookouts: mpsc::UnboundedSender<Lookout>,
    pub(super) relists: BTreeMap<Kind, Arc<Notify>>,
}

/// The loop's state.
pub(super) struct Driver {
    pub(super) pen: Pen,
    options: TideOptions,
    outlets: Outlets,
    pub(super) store: Store,
    pub(super) queue: Queue,
    pauses: Pauses,
    listed: BTreeSet<Kind>,
    waiting: BTreeMap<Name, Instant>,
    /// Since when add-ons have configurations that nobody has looked at.
    unseen: BTreeMap<Name, Instant>,
    /// How long the store may take to see an own write.
    pub(super) patience: Duration,
    running: JoinSet<(Name, Option<Applied>)>,
    /// Objects of an add-on that are not as the watches show them.
    doubtful: BTreeMap<Name, BTreeSet<ObjectKey>>,
    looking: JoinSet<(Name, Result<Vec<Event>, Unread>)>,
    pub(super) absences: Absences,
    pub(super) clock: Clock,
    /// Whether it was known what time it is when that was asked last.
    pub(super) trust: Trust,
    /// How many removals of each add-on are held.
    pub(super) held_removals: BTreeMap<Name, usize>,
    planning: Planning,
    /// Whether this replica is the one that writes, and whether it was when that was asked last.
    leading: watch::Receiver<bool>,
    pub(super) led: bool,
}

/// What keeps an add-on from being planned.
enum Held {
    No,
    Until(Instant),
    /// Objects are being read; the add-on stays busy.
    Looking,
}

impl Driver {
    pub(super) fn new(
        client: Client,
        options: TideOptions,
        outlets: Outlets,
        clock: Clock,
        (stop, leading): (CancellationToken, watch::Receiver<bool>),
    ) -> Self {
        let relists = outlets.relists.clone();
        let absences = Absences::new(client.clone(), options.metrics.clone(), relists);
        let herald = Herald::start(client.clone(), options.events, stop.clone());
        let pen = Pen {
            client,
            progress: outlets.progress.clone(),
            herald,
            stop,
            at_once: options.writes_at_once,
            signing_namespace: options.signing_namespace.clone(),
            unkept: Unkept::default(),
            leading: leading.clone(),
            metrics: options.metrics.clone(),
        };
        Self {
            pen,
            store: Store::new(options.settings.clone()),
            options,
            outlets,
            queue: Queue::default(),
            pauses: Pauses::default(),
            listed: BTreeSet::new(),
            waiting: BTreeMap::new(),
            unseen: BTreeMap::new(),
            patience: STALE,
            running: JoinSet::new(),
            doubtful: BTreeMap::new(),
            looking: JoinSet::new(),
            absences,
            trust: clock.trust(),
            clock,
            held_removals: BTreeMap::new(),
            planning: Planning::default(),
            leading,
            led: false,
        }
    }

    /// Returns where others may tell what happened, within the same budget.
    pub(super) fn herald(&self) -> Herald {
        self.pen.herald.clone()
    }

    /// Returns the number of plans that broke an invariant and were not applied.
    pub(super) fn refused_plans(&self) -> Arc<AtomicU64> {
        self.planning.refused()
    }

    /// Runs until the end is asked for, or until no watch is left.
    pub(super) async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        let stop = self.pen.stop.clone();
        let mut trust = self.clock.told();
        loop {
            let next = self.queue.next().filter(|_| self.may_plan());
            let next = next.into_iter().chain(self.absences.next()).min();
            let due = async { tokio::time::sleep_until(next.unwrap_or_else(Instant::now)).await };
            tokio::select! {
                () = stop.cancelled() => break,
                event = events.recv() => {
                    let Some(event) = event else { break };
                    self.take_in(event, &mut events);
                }
                Some(done) = self.running.join_next(), if !self.running.is_empty() => {
                    if let Ok((addon, applied)) = done {
                        self.settle(&addon, applied);
                    }
                }
                Some(done) = self.looking.join_next(), if !self.looking.is_empty() => {
                    if let Ok((addon, seen)) = done {
                        self.see(&addon, seen);
                    }
                }
                Some(read) = self.absences.read(), if self.absences.are_reading() => self.hear(read),
                Ok(()) = self.leading.changed() => {}
                Ok(()) = trust.changed() => {}
                () = due, if next.is_some() => {}
            }
            self.look_out();
            self.look_at_the_clock();
            self.publish();
            self.start_due();
        }
        let rest = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, rest).await.is_err() {
            warn!("writes were still under way at shutdown");
        }
    }

    fn is_synced(&self) -> bool {
        let part = self.options.part;
        let mut watched = Kind::ALL.into_iter().filter(|kind| part.watches(*kind));
        watched.all(|kind| self.listed.contains(&kind))
    }

    /// Whoever does not lead keeps what is due, and is ready to go on from there at once. Whoever does not know what time it is, or
    /// whether what no list shows is gone, would end what has only begun. What does not end by itself is told by plans that say
    /// nothing else.
    fn may_plan(&self) -> bool {
        self.is_synced()
            && *self.leading.borrow()
            && !self.absences.are_open()
            && self.trust != Trust::Doubted
    }

    fn take_in(&mut self, first: Event, events: &mut mpsc::Receiver<Event>) {
        let at = Instant::now() + self.options.coalesce;
        self.take_one(first, at);
        for _ in 0..BATCH {
            let Ok(event) = events.try_recv() else { break };
            self.take_one(event, at);
        }
        for (object, fault) in self.store.take_new_faults() {
            warn!(%object, fault, malformed = self.store.faults().len(), "object skipped");
        }
    }

    pub(super) fn take_one(&mut self, event: Event, at: Instant) {
        let events = match event {
            Event::Listed { kind, objects } => {
                self.listed.insert(kind);
                self.absences.listed(&self.store, kind, objects)
            }
            Event::Withheld { kind } => {
                self.listed.insert(kind);
                vec![Event::Withheld { kind }]
            }
            other => vec![other],
        };
        for addon in events.into_iter().flat_map(|event| self.store.apply(event)) {
            self.queue.touch(&addon, at);
        }
    }

    fn look_out(&mut self) {
        if let Some(lookout) = self.store.take_lookout() {
            // Nobody looks only while the program is stopping.
            let _sent = self.outlets.lookouts.send(lookout).is_ok();
        }
    }

    fn publish(&mut self) {
        let complete = self.is_synced();
        // What nobody watches here, nobody here asks for.
        let unasked = Kind::ALL
            .into_iter()
            .filter(|kind| !self.options.part.watches(*kind));
        let known = Completeness::of(self.listed.iter().copied().chain(unasked));
        if let Some(facts) = self.store.publish(known) {
            self.outlets.facts.store(Arc::new(facts));
        }
        self.pen.metrics.read(complete, self.store.faults().len());
        let leads = *self.leading.borrow();
        self.pen.metrics.leads(leads);
        if leads && !std::mem::replace(&mut self.led, leads) {
            self.store.begin_to_write(self.clock.now());
        }
        self.led = leads;
        self.outlets
            .synced
            .send_if_modified(|synced| complete && !std::mem::replace(synced, complete));
    }

    fn start_due(&mut self) {
        let now = Instant::now();
        if self.is_synced() {
            self.absences.pursue(&self.store, now);
        }
        if !self.may_plan() {
            return;
        }
        self.pauses.sweep(now);
        while let Some(addon) = self.queue.take(now) {
            let started = match self.held(&addon, now) {
                Held::Until(until) => {
                    self.queue.touch(&addon, until);
                    false
                }
                Held::Looking => true,
                Held::No => self.start(&addon, now),
            };
            if !started {
                self.queue.finish(&addon);
            }
        }
    }

    /// A cache that has not seen our own last writes would plan them again, and start more than may be under way.
    fn held(&mut self, addon: &Name, now: Instant) -> Held {
        let doubtful = self.doubtful.remove(addon).unwrap_or_default();
        if !doubtful.is_empty() {
            return self.look(addon, doubtful.into_iter().collect());
        }
        let awaited = self.store.awaited(addon);
        if awaited == 0 {
            self.waiting.remove(addon);
            return self.unseen_until(addon, now).map_or(Held::No, Held::Until);
        }
        let deadline = *self.waiting.entry(addon.clone()).or_insert(now) + self.patience;
        if now < deadline {
            return Held::Until(deadline);
        }
        warn!(%addon, awaited, "own writes were not seen in time; reading them");
        self.look(addon, self.store.awaited_objects(addon))
    }

    fn look(&mut self, addon: &Name, objects: Vec<ObjectKey>) -> Held {
        let (client, addon) = (self.pen.client.clone(), addon.clone());
        self.looking
            .spawn(async move { (addon, look_again(client, objects).await) });
        Held::Looking
    }

    /// What was read counts like what a watch shows. A hub that does not answer is asked again later.
    fn see(&mut self, addon: &Name, seen: Result<Vec<Event>, Unread>) {
        let now = Instant::now();
        self.queue.finish(addon);
        match seen {
            Ok(events) => {
                for event in events {
                    self.take_one(event, now);
                }
                self.store.forget_awaited(addon);
                self.waiting.remove(addon);
                self.queue.touch(addon, now);
            }
            Err(error) => {
                warn!(%addon, error = %root(&error), "cannot read what was written");
                self.waiting.insert(addon.clone(), now);
                self.queue.touch(addon, now + self.patience);
            }
        }
    }

    /// Without the hashes of new references every status would be written twice.
    fn unseen_until(&mut self, addon: &Name, now: Instant) -> Option<Instant> {
        if !self.store.is_unanswered(addon) {
            self.unseen.remove(addon);
            return None;
        }
        let deadline = *self.unseen.entry(addon.clone()).or_insert(now) + FIRST_LOOK;
        (now < deadline).then_some(deadline)
    }

    /// Plans the add-on and starts to write; returns whether anything is being written.
    fn start(&mut self, addon: &Name, now: Instant) -> bool {
        let time = self.clock.now();
        let Some(mut plan) = self.plan(addon, time, now) else {
            return false;
        };
        self.note_held(addon, &plan);
        if !self.absences.confirm(&self.store, addon, &mut plan, now) {
            self.store.reasons_read(addon);
        }
        debug!(%addon, actions = plan.actions.len(), waits = plan.waits.len(), "planned");
        if let Some(at) = plan.recheck_at {
            let pause = Duration::try_from(at.duration_since(time)).unwrap_or_default();
            self.queue.touch(addon, now + pause);
        }
        self.pen.unkept.strip_plan(&mut plan);
        let planned = plan.actions.iter().map(Action::object).collect();
        self.store.keep_troubles(addon, &planned);
        self.leave_paused(addon, &mut plan, now);
        if plan.actions.is_empty() {
            return false;
        }
        let (pen, name) = (self.pen.clone(), addon.clone());
        let known = self.store.meta(&ObjectKey::new(Kind::AddOn, "", addon.clone()));
        let subject = Subject {
            addon: addon.clone(),
            uid: known.map(|meta| meta.uid.clone()),
        };
        self.running.spawn(async move {
            let applied = AssertUnwindSafe(apply_plan(pen, subject, plan))
                .catch_unwind()
                .await;
            (name, applied.ok())
        });
        true
    }

    /// Plans an add-on; a plan that could not be made, or of which a part is left out, is made again soon.
    fn plan(&mut self, addon: &Name, time: Timestamp, now: Instant) -> Option<Plan> {
        let begun = Instant::now();
        let planner = (self.trust == Trust::Lost).then_some(timeless as Planner);
        let planned = self.planning.plan(&mut self.store, addon, time, planner);
        self.pen.metrics.planned(begun.elapsed());
        match &planned {
            Planned::Whole(_) | Planned::Nothing => {}
            Planned::Panicked => self.queue.touch(addon, now + AFTER_PANIC),
            Planned::Part(_) => {
                self.pen.metrics.refused_plan();
                self.queue.touch(addon, now + AFTER_PANIC);
            }
        }
        planned.plan()
    }

    /// Takes out what must not be tried yet, with everything behind it in its lane.
    fn leave_paused(&mut self, addon: &Name, plan: &mut Plan, now: Instant) {
        let mut held: BTreeMap<Lane, Instant> = BTreeMap::new();
        plan.actions.retain(|action| {
            let (object, lane) = (action.object(), action.object().lane());
            if held.contains_key(&lane) {
                return false;
            }
            let until = self.pauses.held_until(object, now);
            held.extend(until.map(|until| (lane, until)));
            until.is_none()
        });
        if let Some(until) = held.into_values().min() {
            self.queue.touch(addon, until);
        }
    }

    fn settle(&mut self, addon: &Name, applied: Option<Applied>) {
        let now = Instant::now();
        self.queue.finish(addon);
        let Some(applied) = applied else {
            tracing::error!(%addon, pause = ?AFTER_PANIC, "applying the plan panicked");
            self.queue.touch(addon, now + AFTER_PANIC);
            return;
        };
        for cluster in &applied.removed {
            self.store.took_away(addon, cluster, self.clock.now());
        }
        for (object, expected) in applied.expected {
            self.pauses.succeed(&object);
            self.store.end_trouble(addon, &object);
            self.store.expect(addon, object, expected);
        }
        for error in &applied.errors {
            let pause = self.pauses.fail(error.object(), error.failure(), now);
            if pause >= STUBBORN {
                let doubtful = self.doubtful.entry(addon.clone()).or_default();
                doubtful.insert(error.object().clone());
            }
            self.queue.touch(addon, now + pause);
            if let Some(why) = error.refusal()
                && (error.is_final() || pause >= STUBBORN)
                && self.store.trouble(addon, error.object().clone(), &why)
            {
                // The conditions should tell, whenever the write is tried again.
                self.queue.touch(addon, now + self.options.coalesce);
            }
            error.tell(addon, pause);
        }
        if self.store.awaited(addon) == 0 {
            // Everything is seen already, so no event will come to wake the add-on.
            self.queue.touch(addon, now + self.options.coalesce);
        } else {
            // Nor may one come at all: what was written can be gone before a watch that broke has listed anew.
            self.waiting.insert(addon.clone(), now);
            self.queue.touch(addon, now + self.patience);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::api::{Api, DeleteParams, PostParams};
    use serde_json::{Value, json};

    use crate::api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
    use crate::plan::{self, Memo};
    use crate::snapshot::View;
    use crate::telemetry::Metrics;

    /// What the watches show before they break: one add-on that a placement gives to the cluster `default`.
    fn listed(addon: &ClusterManagementAddOn) -> [Event; Kind::ALL.len()] {
        let meta = |name: &str| {
            let place = "cluster.open-cluster-management.io/placement";
            json!({"name": name, "namespace": "default", "uid": name, "resourceVersion": "1", "labels": {(place): "all"}})
        };
        Kind::ALL.map(|kind| {
            let object = match kind {
                Kind::Cluster => Some(json!({"metadata": meta("default"), "spec": {}})),
                Kind::Placement => Some(
                    json!({"metadata": meta("all"), "spec": {}, "status": {"numberOfSelectedClusters": 1}}),
                ),
                Kind::Decision => Some(json!({"metadata": meta("all-1"),
                    "status": {"decisions": [{"clusterName": "default", "reason": ""}]}})),
                Kind::AddOn => Some(serde_json::to_value(addon).expect("an add-on is JSON")),
                Kind::DeploymentConfig
                | Kind::Template
                | Kind::HubConfig
                | Kind::Instance
                | Kind::Work
                | Kind::ServiceAccount
                | Kind::Role
                | Kind::RoleBinding
                | Kind::SigningRequest
                | Kind::HubClusterRole
                | Kind::HubRole
                | Kind::Namespace => None,
            };
            let objects: Vec<Value> = object.into_iter().collect();
            Event::Listed { kind, objects }
        })
    }

    async fn started() -> (devhub::DevHub, ClusterManagementAddOn) {
        let crds = crate::api::crds();
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
    ) -> (Driver, mpsc::Receiver<Event>, mpsc::Sender<Event>) {
        let outlets = Outlets {
            facts: Arc::default(),
            progress: broadcast::channel(1).0,
            synced: watch::channel(false).0,
            lookouts: mpsc::unbounded_channel().0,
            relists: BTreeMap::new(),
        };
        let (sender, events) = mpsc::channel(16);
        for event in listed(addon) {
            sender.send(event).await.expect("the loop listens");
        }
        let driver = Driver::new(
            hub.client(),
            TideOptions::default(),
            outlets,
            Clock::new(None, Metrics::default()),
            (CancellationToken::new(), watch::channel(true).1),
        );
        (driver, events, sender)
    }

    /// A planner that gives the add-on to a cluster twice.
    fn broken(view: &View<'_>, now: Timestamp, memo: &mut Memo) -> Plan {
        let mut plan = plan::addon_with(view, now, memo);
        let created = |action: &&Action| matches!(action, Action::Create { .. });
        let twice = plan.actions.iter().find(created).cloned();
        plan.actions.extend(twice);
        plan
    }

    fn conditions(plan: &Plan) -> String {
        let said = plan.actions.iter().find_map(|action| match action {
            Action::Status { object, patch, .. } if object.kind == Kind::AddOn => {
                patch.pointer("/status/conditions")?.as_array()
            }
            _ => None,
        });
        let each = said.into_iter().flatten();
        each.map(|one| format!("{}={} {}", one["type"], one["status"], one["reason"]))
            .collect::<Vec<_>>()
            .join(", ")
            .replace('"', "")
    }

    #[tokio::test]
    async fn what_breaks_an_invariant_is_left_out_and_the_hub_says_so() {
        let (hub, addon) = started().await;
        let (mut driver, mut events, _sender) = driver(&hub, &addon).await;
        driver.planning.planner = broken;
        let (name, refused) = (Name::from("hello"), driver.refused_plans());
        while let Ok(event) = events.try_recv() {
            driver.take_one(event, Instant::now());
        }
        let (time, now) = (driver.clock.now(), Instant::now());
        let plan = driver.plan(&name, time, now).expect("a plan is made");
        assert_ne!(refused.load(std::sync::atomic::Ordering::Relaxed), 0);
        let created = plan
            .actions
            .iter()
            .filter(|action| matches!(action, Action::Create { .. }));
        assert_eq!(created.count(), 1, "the rest is applied");
        let said = conditions(&plan);
        assert!(said.contains("Ready=False PlanRefused"), "{said}");
        assert!(said.contains("Stalled=True PlanRefused"), "{said}");
        let again = driver.queue.next().expect("it is planned again");
        assert!(again <= now + AFTER_PANIC, "soon");
        driver.planning.planner = plan::addon_with;
        let plan = driver.plan(&name, time, now).expect("a plan is made");
        let said = conditions(&plan);
        assert!(said.contains("Stalled=False NotStalled"), "{said}");
        hub.shutdown().await;
    }

    async fn appears(instances: &Api<ManagedClusterAddOn>) {
        while instances.get_opt("hello").await.expect("an answer").is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn an_own_write_that_no_watch_ever_shows_is_planned_again() {
        let (hub, addon) = started().await;
        let (mut driver, events, _sender) = driver(&hub, &addon).await;
        let stop = driver.pen.stop.clone();
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
            .expect("somebody deletes it");
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
    async fn time_that_is_lost_is_told_and_nothing_else_is_planned() {
        let (hub, addon) = started().await;
        let (mut driver, mut events, _sender) = driver(&hub, &addon).await;
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
        driver.queue.finish(&Name::from("hello"));
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
}
