//! The manager under test, as a process: a store of its own fed by watches, the planner, an applier with preconditions, backoff
//! and expectations, in the same order as `controllers/runtime/reconciler`.
//!
//! It observes the hub only with watches and the responses to its writes. A crash replaces it with a new one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use plan::{self, Action, Plan, Revision};
use serde_json::{Value, json};
use store::{Event, Expected, Kind, Name, ObjectKey, Settings, Store, WriteQueue};

use super::hub::{Hub, Object, Part, Refusal, text};
use super::memos::Memos;
use super::mutant::{Mutant, misread, prune_hand_made};
use super::tables::contradiction;

/// How long events are gathered.
const COALESCE: SignedDuration = SignedDuration::from_millis(100);
/// How long the store may take to see an own write.
const PATIENCE: SignedDuration = SignedDuration::from_secs(5);

/// A watch of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    /// Place in the history, absent until a list was read.
    at: Option<usize>,
    /// Whether it has lost an event and must list again some time.
    pub(crate) lame: bool,
}

/// What may go wrong with the answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// As the hub gives it.
    Honest,
    /// 409, 429 or 500, and nothing is written.
    Refused,
    /// 500 or no answer at all, but it is written.
    Lost,
}

/// A write as it was tried, for those who watch over it.
#[derive(Debug)]
pub(crate) struct Tried {
    /// The write.
    pub(crate) action: Action,
    /// The object before it.
    pub(crate) before: Option<Object>,
    /// What the hub did.
    pub(crate) result: Result<(), Refusal>,
    /// Whether it received a revision that this process had written itself.
    pub(crate) met_own: bool,
    /// What the process saw when it planned it.
    pub(crate) seen: Arc<Seen>,
}

/// The users' objects as the process had seen them at the time of a plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(pub(crate) BTreeMap<ObjectKey, Object>);

#[derive(Debug)]
struct Run {
    groups: Vec<VecDeque<Action>>,
    hub: VecDeque<Action>,
    expected: Vec<(ObjectKey, Expected)>,
    failed: Vec<ObjectKey>,
    seen: Arc<Seen>,
}

/// The process.
#[derive(Debug)]
pub(crate) struct Manager {
    pub(crate) store: Store,
    pub(crate) watches: BTreeMap<Kind, Watch>,
    due: BTreeMap<Name, Timestamp>,
    running: BTreeMap<Name, Run>,
    waiting: BTreeMap<Name, Timestamp>,
    pauses: BTreeMap<ObjectKey, (Timestamp, u32)>,
    acknowledged: BTreeMap<ObjectKey, String>,
    seen: Seen,
    memos: Memos,
    mutant: Mutant,
}

impl Manager {
    pub(crate) fn start(settings: Settings, mutant: Mutant) -> Self {
        Self {
            store: Store::new(settings),
            watches: Kind::ALL
                .into_iter()
                .map(|kind| (kind, Watch::default()))
                .collect(),
            due: BTreeMap::new(),
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            pauses: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            seen: Seen::default(),
            memos: Memos::default(),
            mutant,
        }
    }

    /// Returns the kinds whose watch has events.
    pub(crate) fn pending(&self, hub: &Hub) -> Vec<Kind> {
        let tells = |kind: Kind, watch: &Watch| watch.at.is_none_or(|at| at < hub.history(kind));
        let watches = self.watches.iter();
        watches
            .filter(|(kind, watch)| tells(**kind, watch))
            .map(|(kind, _)| *kind)
            .collect()
    }

    /// Breaks a watch: it will list again.
    pub(crate) fn break_watch(&mut self, kind: Kind) {
        self.watches.insert(kind, Watch::default());
    }

    /// Returns whether a watch continues with an event, not with a list.
    pub(crate) fn is_streaming(&self, kind: Kind) -> bool {
        self.watches[&kind].at.is_some()
    }

    /// Loses the next event of a watch, which keeps going for a while.
    pub(crate) fn lose(&mut self, kind: Kind) {
        if let Some(watch) = self.watches.get_mut(&kind) {
            watch.at = watch.at.map(|at| at + 1);
            watch.lame = true;
        }
    }

    /// Delivers the next event of a kind, or a list that is `behind` events old.
    pub(crate) fn deliver(&mut self, hub: &Hub, kind: Kind, behind: usize) {
        let length = hub.history(kind);
        let (event, next) = match self.watches[&kind].at {
            Some(at) => (hub.event(kind, at), at + 1),
            None => (
                hub.list(kind, length.saturating_sub(behind)),
                length.saturating_sub(behind),
            ),
        };
        if let Some(watch) = self.watches.get_mut(&kind) {
            watch.at = Some(next);
        }
        self.take_in(event, hub.now);
    }

    /// Delivers the last event of a kind again.
    pub(crate) fn repeat(&mut self, hub: &Hub, kind: Kind) {
        if let Some(at) = self.watches[&kind].at.filter(|at| *at > 0) {
            self.take_in(hub.event(kind, at - 1), hub.now);
        }
    }

    fn take_in(&mut self, event: Event, now: Timestamp) {
        self.remember(&event);
        let event = match misread(event, self.mutant) {
            Event::Listed { kind, objects } if self.mutant == Mutant::ForgetAbsent => {
                // Every object is taken in, but nothing is found missing.
                let mut objects = objects;
                let last = objects.pop();
                for object in objects {
                    let touched = self.store.apply(Event::Applied { kind, object });
                    for owner in &touched {
                        self.touch(&owner.name, now + COALESCE);
                    }
                }
                let Some(object) = last else { return };
                Event::Applied { kind, object }
            }
            other => other,
        };
        for owner in self.store.apply(event) {
            self.touch(&owner.name, now + COALESCE);
        }
    }

    /// Keeps the users' objects as they came, for the watchdogs: they do not trust the store's decoding.
    fn remember(&mut self, event: &Event) {
        let is_watched = |kind: &Kind| {
            matches!(
                kind,
                Kind::AddOn | Kind::Placement | Kind::Decision | Kind::Cluster
            )
        };
        let key = |kind: Kind, object: &Value| {
            let place = (
                text(object, "/metadata/namespace"),
                text(object, "/metadata/name"),
            );
            ObjectKey::new(kind, place.0, place.1)
        };
        match event {
            Event::Applied { kind, object } if is_watched(kind) => {
                self.seen.0.insert(key(*kind, object), Arc::new(object.clone()));
            }
            Event::Deleted { kind, object } if is_watched(kind) => {
                self.seen.0.remove(&key(*kind, object));
            }
            Event::Listed { kind, objects } if is_watched(kind) => {
                self.seen.0.retain(|known, _| known.kind != *kind);
                for object in objects {
                    self.seen.0.insert(key(*kind, object), Arc::new(object.clone()));
                }
            }
            _ => {}
        }
    }

    fn touch(&mut self, addon: &Name, at: Timestamp) {
        let due = self.due.entry(addon.clone()).or_insert(at);
        *due = (*due).min(at);
    }

    /// Returns the add-ons that would be planned now.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<Name> {
        let is_synced = self.watches.values().all(|watch| watch.at.is_some());
        let due = self
            .due
            .iter()
            .filter(|(addon, at)| **at <= now && !self.running.contains_key(*addon));
        due.filter(|_| is_synced)
            .map(|(addon, _)| addon.clone())
            .collect()
    }

    /// Returns when the next add-on is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let idle = self
            .due
            .iter()
            .filter(|(addon, _)| !self.running.contains_key(*addon));
        idle.map(|(_, at)| *at).min()
    }

    /// Returns whether anything is being written.
    pub(crate) fn is_writing(&self) -> bool {
        !self.running.is_empty()
    }

    /// Plans an add-on that is due, checks the plan, and begins to write. Returns how many writes there are.
    pub(crate) fn plan(&mut self, hub: &Hub, addon: &Name) -> Result<usize, String> {
        let now = hub.now;
        self.due.remove(addon);
        if let Some(until) = self.held_until(hub, addon) {
            self.touch(addon, until);
            return Ok(0);
        }
        let Some(view) = self.store.view(addon) else {
            return Ok(0);
        };
        let (mut plan, planned) = self.memos.plan(&view, now)?;
        if self.mutant == Mutant::PruneHandMade {
            prune_hand_made(&view, &mut plan);
        }
        if let Some(broken) = oracle::check(&view, &plan, now).first() {
            return Err(format!("invariant: {broken}"));
        }
        plan.actions.iter().try_for_each(contradiction)?;
        if let Some(at) = plan.recheck_at.filter(|_| self.mutant != Mutant::ForgetRecheck) {
            self.touch(addon, at.max(now));
        }
        if let Some(change) = planned {
            self.store.forget_changes(&ObjectKey::addon(addon), change);
        }
        self.leave_paused(addon, &mut plan, now);
        self.begin(addon, plan.actions);
        Ok(self.running.get(addon).map_or(0, |run| {
            run.hub.len() + run.groups.iter().map(VecDeque::len).sum::<usize>()
        }))
    }

    fn held_until(&mut self, hub: &Hub, addon: &Name) -> Option<Timestamp> {
        if self.mutant == Mutant::ForgetExpectations || self.store.awaited(&ObjectKey::addon(addon)) == 0 {
            self.waiting.remove(addon);
            return None;
        }
        let now = hub.now;
        let deadline = *self.waiting.entry(addon.clone()).or_insert(now) + PATIENCE;
        if now < deadline {
            return Some(deadline);
        }
        for object in self.store.awaited_objects(&ObjectKey::addon(addon)) {
            self.look(hub, &object);
        }
        // The watch is behind the list, and still delivers older revisions.
        self.acknowledged.clear();
        self.store.forget_awaited(&ObjectKey::addon(addon));
        self.waiting.remove(addon);
        None
    }

    /// Reads an object that no watch has shown in time.
    fn look(&mut self, hub: &Hub, key: &ObjectKey) {
        let event = match hub.get(key) {
            Some(object) => Event::Applied {
                kind: key.kind,
                object: (**object).clone(),
            },
            None => Event::Deleted {
                kind: key.kind,
                object: json!({"metadata": {"namespace": &*key.namespace, "name": &*key.name}}),
            },
        };
        self.take_in(event, hub.now);
    }

    fn leave_paused(&mut self, addon: &Name, plan: &mut Plan, now: Timestamp) {
        let mut held: BTreeMap<WriteQueue, Timestamp> = BTreeMap::new();
        plan.actions.retain(|action| {
            let (object, lane) = (action.object(), action.object().lane());
            if held.contains_key(&lane) {
                return false;
            }
            let until = self
                .pauses
                .get(object)
                .map(|pause| pause.0)
                .filter(|until| *until > now);
            held.extend(until.map(|until| (lane, until)));
            until.is_none()
        });
        if let Some(until) = held.into_values().min() {
            self.touch(addon, until);
        }
    }

    fn begin(&mut self, addon: &Name, actions: Vec<Action>) {
        let mut groups: BTreeMap<WriteQueue, VecDeque<Action>> = BTreeMap::new();
        for action in actions {
            groups
                .entry(action.object().lane())
                .or_default()
                .push_back(action);
        }
        let hub = groups.remove(&(Name::from(""), None)).unwrap_or_default();
        if hub.is_empty() && groups.is_empty() {
            return;
        }
        let run = Run {
            groups: groups.into_values().collect(),
            hub,
            expected: Vec::new(),
            failed: Vec::new(),
            seen: Arc::new(self.seen.clone()),
        };
        self.running.insert(addon.clone(), run);
    }

    /// Tries one of the writes under way; `choice` says which of those that may come next. An add-on whose writes are over is
    /// settled instead.
    pub(crate) fn write(&mut self, hub: &mut Hub, choice: usize, answer: Answer) -> Option<Tried> {
        let addons: Vec<Name> = self.running.keys().cloned().collect();
        let addon = addons[choice % addons.len()].clone();
        let run = self.running.get_mut(&addon)?;
        run.groups.retain(|group| !group.is_empty());
        let index = choice % run.groups.len().max(1);
        let next = match run.groups.get_mut(index) {
            Some(group) => group.pop_front(),
            None => run.hub.pop_front(),
        };
        let Some(mut action) = next else {
            self.settle(&addon, hub.now);
            return None;
        };
        // As in the applier: a second write to an object is based on the first.
        let newest = run
            .expected
            .iter()
            .rev()
            .find(|(known, _)| known == action.object());
        if let (Some((_, Expected::Version(version))), Some(before)) = (newest.cloned(), action.before_mut())
        {
            before.version = version;
        }
        let seen = Arc::clone(&run.seen);
        let object = action.object().clone();
        let before = hub.get(&object).cloned();
        let version = |object: &Value| text(object, "/metadata/resourceVersion").to_owned();
        let own = self.acknowledged.get(&object);
        let is_own = before
            .as_ref()
            .is_some_and(|before| own == Some(&version(before)));
        let result = match answer {
            Answer::Refused => Err(Refusal::Conflict),
            Answer::Honest | Answer::Lost => send(hub, &action, self.mutant),
        };
        let heard = if answer == Answer::Lost {
            Err(Refusal::Conflict)
        } else {
            result.clone()
        };
        let met_own = answer == Answer::Honest && is_own && result.as_ref().err() == Some(&Refusal::Conflict);
        if let (Ok(Expected::Version(version)), Some(run)) = (&heard, self.running.get_mut(&addon)) {
            self.acknowledged.insert(object.clone(), version.to_string());
            run.expected.push((object, Expected::Version(version.clone())));
        } else if let (Ok(gone), Some(run)) = (&heard, self.running.get_mut(&addon)) {
            run.expected.push((object, gone.clone()));
        } else if let Some(run) = self.running.get_mut(&addon) {
            run.failed.push(object);
            match run.groups.get_mut(index) {
                Some(group) => group.clear(),
                None => run.hub.clear(),
            }
        }
        Some(Tried {
            action,
            before,
            result: result.map(|_| ()),
            met_own,
            seen,
        })
    }

    /// Returns a write that would come next, as one that was sent before the process died.
    pub(crate) fn last_words(&mut self, choice: usize) -> Option<(Action, Arc<Seen>)> {
        let run = self.running.values_mut().next()?;
        run.groups.retain(|group| !group.is_empty());
        let index = choice % run.groups.len().max(1);
        let group = run.groups.get_mut(index).unwrap_or(&mut run.hub);
        Some((group.pop_front()?, Arc::clone(&run.seen)))
    }

    fn settle(&mut self, addon: &Name, now: Timestamp) {
        let Some(run) = self.running.remove(addon) else {
            return;
        };
        for (object, expected) in run.expected {
            self.pauses.remove(&object);
            self.store.expect(&ObjectKey::addon(addon), object, expected);
        }
        for object in run.failed {
            if self.mutant == Mutant::ForgetFailures {
                continue;
            }
            let failures = self.pauses.get(&object).map_or(0, |pause| pause.1);
            let length = SignedDuration::from_millis(100 * (1 << failures.min(11)));
            self.pauses.insert(object, (now + length, failures + 1));
            self.touch(addon, now + length);
        }
        if self.mutant == Mutant::ForgetExpectations || self.mutant == Mutant::ForgetFailures {
            return;
        }
        if self.store.awaited(&ObjectKey::addon(addon)) == 0 {
            self.touch(addon, now + COALESCE);
        } else {
            self.waiting.insert(addon.clone(), now);
            self.touch(addon, now + PATIENCE);
        }
    }
}

/// Sends a write as the applier does.
pub(crate) fn send(hub: &mut Hub, action: &Action, mutant: Mutant) -> Result<Expected, Refusal> {
    let guard = |before: &'_ Revision| (mutant != Mutant::IgnorePreconditions).then(|| before.clone());
    let version = |object: &Object| Expected::Version(text(object, "/metadata/resourceVersion").into());
    match action {
        Action::Create { object, body, .. } => hub
            .create(object.kind, body.value())
            .map(|object| version(&object)),
        Action::Replace {
            object,
            before,
            patch,
            ..
        } => hub
            .patch(object, &patch.value(), Part::Main, guard(before).as_ref())
            .map(|stored| match hub.get(object) {
                Some(_) => version(&stored),
                None => Expected::Removed(before.uid.clone()),
            }),
        Action::Status {
            object,
            before,
            patch,
            ..
        } => hub
            .patch(object, &patch.value(), Part::Status, guard(before).as_ref())
            .map(|object| version(&object)),
        // No agent asks for a certificate here.
        Action::Certify { .. } => Err(Refusal::Forbidden),
        Action::Delete { object, before, .. } => match hub.delete(object, guard(before).as_ref()) {
            Ok(()) | Err(Refusal::NotFound) => Ok(Expected::Gone(before.uid.clone())),
            Err(refusal) => Err(refusal),
        },
    }
}
