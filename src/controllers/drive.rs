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
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::apply::{Applied, ApplyError, Pen, apply_plan};
use super::audit::Audit;
use super::cause::root;
use super::events::Subject;
use super::herald::Herald;
use super::pauses::Pauses;
use super::queue::Queue;
use super::second_look::look_again;
use super::tide::{Progress, TideOptions};
use super::unkept::Unkept;
use crate::plan::{self, Action, Memo, Plan};
use crate::snapshot::{Completeness, Event, Facts, Kind, Lane, Lookout, Name, ObjectKey, Store, View};

/// How long the store may take to see an own write, unless told otherwise.
const STALE: Duration = Duration::from_secs(5);
/// From which pause on a write that fails again and again is worth a warning, whatever the reason.
const STUBBORN: Duration = Duration::from_secs(1);
/// Pause after a plan that could not be made or applied at all, or must not be.
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
}

/// The loop's state.
pub(super) struct Driver {
    pen: Pen,
    options: TideOptions,
    outlets: Outlets,
    store: Store,
    queue: Queue,
    pauses: Pauses,
    listed: BTreeSet<Kind>,
    waiting: BTreeMap<Name, Instant>,
    /// Since when add-ons have configurations that nobody has looked at.
    unseen: BTreeMap<Name, Instant>,
    /// How long the store may take to see an own write.
    patience: Duration,
    running: JoinSet<(Name, Option<Applied>)>,
    /// Objects of an add-on that are not as the watches show them.
    doubtful: BTreeMap<Name, BTreeSet<ObjectKey>>,
    looking: JoinSet<(Name, Result<Vec<Event>, kube::Error>)>,
    audit: Audit,
    /// What the last plan of each add-on found out.
    memos: BTreeMap<Name, Memo>,
    /// Always the planner; tests put bugs in here.
    planner: Planner,
    /// Whether this replica is the one that writes.
    leading: watch::Receiver<bool>,
}

/// What keeps an add-on from being planned.
enum Held {
    No,
    Until(Instant),
    /// Objects are being read; the add-on stays busy.
    Looking,
}

/// What makes plans.
type Planner = fn(&View<'_>, Timestamp, &mut Memo) -> Plan;

impl Driver {
    pub(super) fn new(
        client: Client,
        options: TideOptions,
        outlets: Outlets,
        (stop, leading): (CancellationToken, watch::Receiver<bool>),
    ) -> Self {
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
            store: Store::new(options.settings),
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
            audit: Audit::default(),
            memos: BTreeMap::new(),
            planner: plan::addon_with,
            leading,
        }
    }

    /// Returns where others may tell what happened, within the same budget.
    pub(super) fn herald(&self) -> Herald {
        self.pen.herald.clone()
    }

    /// Returns the number of plans that broke an invariant and were not applied.
    pub(super) fn refused_plans(&self) -> Arc<AtomicU64> {
        self.audit.refused()
    }

    /// Runs until the end is asked for, or until no watch is left.
    pub(super) async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        let stop = self.pen.stop.clone();
        loop {
            let next = self.queue.next().filter(|_| self.may_plan());
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
                Ok(()) = self.leading.changed() => {}
                () = due, if next.is_some() => {}
            }
            self.look_out();
            self.publish();
            self.start_due();
        }
        let rest = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, rest).await.is_err() {
            warn!("writes were still under way at shutdown");
        }
    }

    fn is_synced(&self) -> bool {
        self.listed.len() == Kind::ALL.len()
    }

    /// Whoever does not lead keeps what is due, and is ready to go on from there at once.
    fn may_plan(&self) -> bool {
        self.is_synced() && *self.leading.borrow()
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

    fn take_one(&mut self, event: Event, at: Instant) {
        if let Event::Listed { kind, .. } = &event {
            self.listed.insert(*kind);
        }
        for addon in self.store.apply(event) {
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
        let known = Completeness::of(self.listed.iter().copied());
        if let Some(facts) = self.store.publish(known) {
            self.outlets.facts.store(Arc::new(facts));
        }
        self.pen.metrics.read(complete, self.store.faults().len());
        self.pen.metrics.leads(*self.leading.borrow());
        self.outlets
            .synced
            .send_if_modified(|synced| complete && !std::mem::replace(synced, complete));
    }

    fn start_due(&mut self) {
        if !self.may_plan() {
            return;
        }
        let now = Instant::now();
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
    fn see(&mut self, addon: &Name, seen: Result<Vec<Event>, kube::Error>) {
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
        let time = Timestamp::now();
        let Some(mut plan) = self.plan(addon, time, now) else {
            return false;
        };
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

    /// A bug in the planning of one add-on must not end that of the others, and what it would write must not be written. What
    /// a bad plan has found out is not believed either: the memo goes with it.
    fn plan(&mut self, addon: &Name, time: Timestamp, now: Instant) -> Option<Plan> {
        let mut memo = self.memos.remove(addon).unwrap_or_default();
        let view = self.store.view(addon)?;
        let (planner, audit) = (self.planner, &mut self.audit);
        let begun = Instant::now();
        let made = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let plan = planner(&view, time, &mut memo);
            audit.passes(&view, &plan, &memo, time).then_some((plan, memo))
        }));
        if made.is_err() {
            tracing::error!(%addon, pause = ?AFTER_PANIC, "planning panicked");
        }
        self.pen.metrics.planned(begun.elapsed());
        let Some((plan, memo)) = made.ok().flatten() else {
            self.pen.metrics.refused_plan();
            self.queue.touch(addon, now + AFTER_PANIC);
            return None;
        };
        if let Some(change) = memo.change() {
            self.store.forget_changes(addon, change);
        }
        self.memos.insert(addon.clone(), memo);
        Some(plan)
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
        for (object, expected) in applied.expected {
            self.pauses.succeed(&object);
            self.store.end_trouble(addon, &object);
            self.store.expect(addon, object, expected);
        }
        for error in &applied.errors {
            let pause = self.pauses.fail(error.object(), now);
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
            match error {
                ApplyError::Conflict { object } | ApplyError::Hidden { object } if pause < STUBBORN => {
                    debug!(%addon, %object, ?pause, "planning again after a conflict");
                }
                ApplyError::Conflict { .. } | ApplyError::Hidden { .. } | ApplyError::NoChange { .. } => {
                    warn!(%addon, %error, ?pause, "will retry");
                }
                ApplyError::Sign { source, .. } => {
                    warn!(%addon, %error, cause = %source, ?pause, "will retry");
                }
                ApplyError::Write { source, .. } => {
                    warn!(%addon, %error, cause = %root(&**source), ?pause, "will retry");
                }
            }
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
        };
        let (sender, events) = mpsc::channel(16);
        for event in listed(addon) {
            sender.send(event).await.expect("the loop listens");
        }
        let driver = Driver::new(
            hub.client(),
            TideOptions::default(),
            outlets,
            (CancellationToken::new(), watch::channel(true).1),
        );
        (driver, events, sender)
    }

    /// A planner that gives the add-on to a cluster twice.
    fn broken(view: &View<'_>, now: Timestamp, memo: &mut Memo) -> Plan {
        let mut plan = plan::addon_with(view, now, memo);
        let twice = plan.actions.first().cloned();
        plan.actions.extend(twice);
        plan
    }

    #[tokio::test]
    async fn a_plan_that_breaks_an_invariant_is_not_applied_and_made_again_later() {
        let (hub, addon) = started().await;
        let (mut driver, mut events, _sender) = driver(&hub, &addon).await;
        driver.planner = broken;
        let refused = driver.refused_plans();
        while let Ok(event) = events.try_recv() {
            driver.take_one(event, Instant::now());
        }
        driver.start_due();
        assert_eq!(refused.load(std::sync::atomic::Ordering::Relaxed), 1);
        assert!(driver.running.is_empty(), "nothing is written");
        let again = driver.queue.next().expect("it is planned again");
        assert!(again > Instant::now() + AFTER_PANIC / 2, "not at once");
        driver.planner = plan::addon_with;
        driver.queue.touch(&Name::from("hello"), Instant::now());
        driver.start_due();
        assert_eq!(driver.running.len(), 1, "a sound plan is applied");
        while driver.running.join_next().await.is_some() {}
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
}
