//! Whatever a list does not show is looked for, one object after the other, before it is believed to be gone.
//!
//! Decides when absences must be looked into: after every list, what a list no longer shows and what other objects stand for; and
//! before instances are taken away, the objects that are the reason. Nothing is planned until they were looked for once. An object
//! that cannot be read is read again with growing pauses, and only what depends on it is held (`snapshot`). A list that has left
//! something out is listed again, with growing pauses; doubts about a kind that the hub has taken away are given up. Never looks
//! by itself (`read_again`), and never decides who goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use super::apply_error::root;
use super::looks::{Look, Looks};
use super::read_again::{Found, look_again, look_within};
use crate::telemetry::Metrics;
use plan::{Action, Plan};
use store::{Event, Kind, Name, ObjectKey, Owner, Store};

/// First and longest pause before a hub that does not answer is asked again, and between two lists of a kind.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// So many absences of a kind are looked into one by one; of more, about this many are looked at before the others.
const SAMPLE: usize = 32;
/// How long the hub may think about an object that no list shows: nothing is planned meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a reason for removals that was read stays good.
const CONFIRMED: Duration = Duration::from_secs(30);
/// How long a kind must have been taken away before doubts about it are given up: a hub that is starting denies kinds that it is
/// about to serve.
const TAKEN_AWAY: Duration = Duration::from_mins(1);

/// How often something was tried in vain, and when it is tried next.
#[derive(Debug, Clone, Copy)]
struct Retry {
    at: Instant,
    failures: u32,
}

impl Retry {
    fn after(before: Option<Self>, now: Instant) -> Self {
        let failures = before.map_or(0, |retry| retry.failures);
        let pause = FIRST.saturating_mul(1 << failures.min(8)).min(LONGEST);
        Self {
            at: now + pause,
            failures: failures.saturating_add(1),
        }
    }
}

/// An object that could not be read.
#[derive(Debug, Clone)]
struct Unreadable {
    /// What the hub answers, or what is wrong with the object.
    why: Name,
    /// When it is read again; absent for one that the hub shows, and that the hub would show again as it is.
    retry: Option<Retry>,
}

/// What was read in doubt.
pub(super) enum Read {
    /// Whatever was absent.
    Absent(Look, Found),
    /// What could not be read before.
    Again(Look, Found),
    /// The reasons for removals for an owner.
    Reasons(Owner, Look, Found),
}

/// What is not believed yet.
pub(super) struct Absences {
    client: Client,
    metrics: Metrics,
    /// What is being read, in doubt or for any other reason.
    pub(super) looks: Looks,
    /// Objects that a later list did not show, and that no look has begun to look for.
    missing: BTreeSet<ObjectKey>,
    /// Whether objects are looked for, for the first time since a list has ended.
    looks_for: bool,
    /// Whether a list has ended since it was asked last what must be there.
    due: bool,
    reads: JoinSet<Read>,
    /// What could not be read, with when it is tried again.
    unreadable: BTreeMap<ObjectKey, Unreadable>,
    /// How often that has changed since it was last read.
    news: usize,
    /// Since when what could not be read is being read again.
    retrying: Option<Instant>,
    relists: BTreeMap<Kind, Arc<Notify>>,
    /// Kinds whose list has left something out, until they are listed again; whether a new list was requested.
    lied: BTreeMap<Kind, bool>,
    /// Kinds that the hub has shown and shows no longer, and since when.
    hidden: BTreeMap<Kind, Instant>,
    pauses: BTreeMap<Kind, Retry>,
    /// When kinds are listed again whose skipped objects fit into memory now.
    fitting: BTreeMap<Kind, Instant>,
    /// When decisions are listed again, because placements have more clusters than their decisions name.
    undecided: Option<Retry>,
    /// Reasons for removals that were read, and when.
    confirmed: BTreeMap<Owner, BTreeMap<ObjectKey, Instant>>,
    confirming: BTreeSet<Owner>,
}

impl Absences {
    pub(super) fn new(client: Client, metrics: Metrics, relists: BTreeMap<Kind, Arc<Notify>>) -> Self {
        Self {
            client,
            metrics,
            looks: Looks::default(),
            missing: BTreeSet::new(),
            looks_for: false,
            due: false,
            reads: JoinSet::new(),
            unreadable: BTreeMap::new(),
            news: 0,
            retrying: None,
            relists,
            lied: BTreeMap::new(),
            hidden: BTreeMap::new(),
            pauses: BTreeMap::new(),
            fitting: BTreeMap::new(),
            undecided: None,
            confirmed: BTreeMap::new(),
            confirming: BTreeSet::new(),
        }
    }

    /// Takes in that a list has ended whose objects were told before; returns what is believed of it. What it does not show any more stays
    /// until it was looked for.
    pub(super) fn list_ended(&mut self, store: &Store, kind: Kind, keys: BTreeSet<ObjectKey>) -> Vec<Event> {
        self.shown_again(kind);
        let missing = store.missing(kind, &keys);
        self.listed_again(kind, &keys);
        if missing.is_empty() {
            return vec![Event::ListEnded { kind, keys }];
        }
        self.missing.extend(missing);
        Vec::new()
    }

    /// What a list shows need not be read by its name any more.
    fn listed_again(&mut self, kind: Kind, keys: &BTreeSet<ObjectKey>) {
        self.forget_unreadable(|key, one| match one.retry {
            Some(_) => keys.contains(key),
            None => key.kind == kind && !keys.contains(key),
        });
    }

    /// Takes in what a watch says: what it is about need not be read by its name any more.
    pub(super) fn hear(&mut self, event: &Event) {
        self.looks.hear(event);
        if self.unreadable.is_empty() {
            return;
        }
        if let Event::Applied { kind, object } | Event::Deleted { kind, object } = event {
            let shown = ObjectKey::of(*kind, object);
            self.forget_unreadable(|key, _| *key == shown);
        }
    }

    /// Takes in which objects the store has skipped without an earlier record of them: they are there.
    pub(super) fn skipped(&mut self, store: &Store) {
        let faults = store.faults();
        for (key, why) in faults.iter().filter(|(key, _)| store.meta(key).is_none()) {
            self.cannot_read(key.clone(), why);
        }
    }

    /// Takes in that an object is there and cannot be read whole: what depends on it is held until it can be.
    pub(super) fn cannot_read(&mut self, key: ObjectKey, why: &str) {
        let one = Unreadable {
            why: Name::from(why),
            retry: None,
        };
        let before = self.unreadable.insert(key, one);
        let is_news = before.is_none_or(|before| *before.why != *why);
        self.news += usize::from(is_news);
    }

    /// Records the kinds whose skipped objects fit into memory now: these are listed again, but not repeatedly.
    pub(super) fn may_fit(&mut self, kinds: &BTreeSet<Kind>, now: Instant) {
        self.fitting.retain(|kind, _| kinds.contains(kind));
        for kind in kinds {
            self.fitting.entry(*kind).or_insert(now + LONGEST);
        }
    }

    fn forget_unreadable(&mut self, is_known: impl Fn(&ObjectKey, &Unreadable) -> bool) {
        let before = self.unreadable.len();
        self.unreadable.retain(|key, one| !is_known(key, one));
        self.news += before - self.unreadable.len();
    }

    /// Returns the objects that cannot be read, with the response of the hub, if that has changed since it was last taken.
    pub(super) fn take_unreadable(&mut self) -> Option<BTreeMap<ObjectKey, Name>> {
        let all = self.unreadable.iter();
        (std::mem::take(&mut self.news) > 0)
            .then(|| all.map(|(key, one)| (key.clone(), one.why.clone())).collect())
    }

    fn shown_again(&mut self, kind: Kind) {
        self.due = true;
        self.lied.remove(&kind);
        self.hidden.remove(&kind);
    }

    /// Takes in that the hub no longer shows a kind.
    pub(super) fn hidden(&mut self, kind: Kind, now: Instant) {
        self.hidden.entry(kind).or_insert(now);
    }

    /// Neither a list nor a look tells more of a kind that is taken away, and the others can do without it. What is known of it
    /// stays, and is compared with its next list.
    fn give_up(&mut self, now: Instant) {
        let is_away = |since: &Instant| now.duration_since(*since) >= TAKEN_AWAY;
        let away = self.hidden.iter().filter(|(_, since)| is_away(since));
        for (kind, _) in away {
            self.missing.retain(|key| key.kind != *kind);
            let before = self.unreadable.len();
            self.unreadable.retain(|key, _| key.kind != *kind);
            self.news += before - self.unreadable.len();
            if self.lied.remove(kind).is_some() {
                warn!(
                    kind = kind.address().kind,
                    "a kind with an incomplete list is no longer served; not waiting for it"
                );
                self.metrics.doubts(self.due || !self.lied.is_empty());
            }
        }
    }

    /// Returns whether it is still open what an absence means: nothing may be planned.
    pub(super) fn are_open(&self) -> bool {
        self.due || self.looks_for || !self.lied.is_empty()
    }

    /// Returns when there is something to do although nothing happened.
    pub(super) fn next(&self) -> Option<Instant> {
        let look = self
            .unreadable
            .values()
            .filter_map(|one| Some(one.retry?.at))
            .min();
        let look = look.filter(|_| self.retrying.is_none());
        let waiting = self
            .pauses
            .iter()
            .filter(|(kind, _)| self.lied.get(kind) == Some(&false));
        let undecided = self.undecided.map(|retry| retry.at);
        let hidden = self.lied.keys().filter_map(|kind| self.hidden.get(kind));
        waiting
            .map(|(_, retry)| retry.at)
            .chain(look)
            .chain(undecided)
            .chain(self.fitting.values().copied())
            .chain(hidden.map(|since| *since + TAKEN_AWAY))
            .min()
    }

    /// Reads absent objects, and requests new lists, if they are due.
    pub(super) fn pursue(&mut self, store: &Store, now: Instant) {
        self.give_up(now);
        self.relist(store, now);
        self.try_again(store, now);
        if !self.due || self.looks_for {
            return;
        }
        if self.undecided.is_none() && store.is_undecided() {
            self.undecided = Some(Retry::after(None, now));
        }
        let mut wanted = std::mem::take(&mut self.missing);
        wanted.retain(|key| store.meta(key).is_some());
        wanted.extend(store.unproven());
        // What could not be read is tried again at its own time, and holds no other meanwhile.
        wanted.retain(|key| !self.unreadable.contains_key(key));
        self.due = false;
        if wanted.is_empty() {
            self.metrics.doubts(self.are_open());
            return;
        }
        self.looks_for = true;
        let (client, look) = (self.client.clone(), self.looks.begin(wanted));
        self.reads.spawn(async move {
            let found = look_into(client, look.objects()).await;
            Read::Absent(look, found)
        });
    }

    /// Reads again what could not be read, as far as it is still to be looked for.
    fn try_again(&mut self, store: &Store, now: Instant) {
        let is_due_now = |one: &Unreadable| one.retry.is_some_and(|retry| retry.at <= now);
        let is_due = self.unreadable.values().any(is_due_now);
        if self.retrying.is_some() || !is_due {
            return;
        }
        let unproven = store.unproven();
        self.forget_unreadable(|key, one| {
            one.retry.is_some() && store.meta(key).is_none() && !unproven.contains(key)
        });
        let due = self.unreadable.iter().filter(|(_, one)| is_due_now(one));
        let due: BTreeSet<ObjectKey> = due.map(|(key, _)| key.clone()).collect();
        if due.is_empty() {
            return;
        }
        self.retrying = Some(now);
        let (client, look) = (self.client.clone(), self.looks.begin(due));
        self.reads.spawn(async move {
            let found = look_into(client, look.objects()).await;
            Read::Again(look, found)
        });
    }

    fn relist(&mut self, store: &Store, now: Instant) {
        for (kind, asked) in &mut self.lied {
            let is_due = self.pauses.get(kind).is_none_or(|retry| retry.at <= now);
            if !*asked && is_due {
                *asked = true;
                if let Some(again) = self.relists.get(kind) {
                    again.notify_one();
                }
            }
        }
        for (kind, at) in &mut self.fitting {
            if *at <= now {
                *at = now + LONGEST;
                if let Some(again) = self.relists.get(kind) {
                    again.notify_one();
                }
            }
        }
        if let Some(retry) = self.undecided.filter(|retry| retry.at <= now) {
            self.undecided = store.is_undecided().then(|| Retry::after(Some(retry), now));
            let again = self
                .relists
                .get(&Kind::Decision)
                .filter(|_| self.undecided.is_some());
            if let Some(again) = again {
                again.notify_one();
            }
        }
    }

    /// Returns whether anything is being read.
    pub(super) fn are_reading(&self) -> bool {
        !self.reads.is_empty()
    }

    /// Waits for the end of a reading.
    pub(super) async fn read(&mut self) -> Option<Read> {
        self.reads.join_next().await?.ok()
    }

    /// Takes in what a look has found; returns what the store should see. What a list that ended during the look has not shown is
    /// looked for next.
    pub(super) fn found(&mut self, found: Found, now: Instant) -> Vec<Event> {
        self.looks_for = false;
        // A kind whose list was right since then is listed again without a pause.
        let there: BTreeSet<Kind> = found.events.iter().filter_map(shown).collect();
        self.pauses.retain(|kind, _| there.contains(kind));
        self.answered(found, now)
    }

    /// Takes in what became of objects that could not be read before; returns what the store should see.
    pub(super) fn found_again(&mut self, found: Found, now: Instant) -> Vec<Event> {
        self.retrying = None;
        self.answered(found, now)
    }

    fn answered(&mut self, found: Found, now: Instant) -> Vec<Event> {
        let Found { events, unread } = found;
        let mut first = None;
        for error in &unread {
            let why = Name::from(root(error).to_string());
            let before = self.unreadable.get(&error.object);
            let retry = Retry::after(before.and_then(|before| before.retry), now);
            let retry = Some(retry);
            if before.is_none_or(|before| before.why != why) {
                self.news += 1;
                first = first.or(Some(error));
            }
            self.unreadable
                .insert(error.object.clone(), Unreadable { why, retry });
        }
        if let Some(error) = first {
            warn!(
                object = %error.object, error = %root(error), objects = unread.len(),
                "cannot get objects that are missing from lists; dependent objects are not reconciled"
            );
        }
        let keys: BTreeSet<ObjectKey> = events.iter().filter_map(about).collect();
        self.forget_unreadable(|key, _| keys.contains(key));
        let there: BTreeSet<Kind> = events.iter().filter_map(shown).collect();
        for kind in there {
            warn!(
                kind = kind.address().kind,
                "the API server returned an incomplete list; listing again"
            );
            let retry = Retry::after(self.pauses.get(&kind).copied(), now);
            self.pauses.insert(kind, retry);
            self.lied.insert(kind, false);
        }
        self.metrics.doubts(self.are_open());
        events
    }

    /// Takes out the removals whose reasons have not been read lately, and has these read. Returns whether the plan had removals.
    pub(super) fn confirm(
        &mut self,
        reasons_of: impl Fn() -> BTreeSet<ObjectKey>,
        owner: &Owner,
        plan: &mut Plan,
        now: Instant,
    ) -> bool {
        let known = self.confirmed.entry(owner.clone()).or_default();
        known.retain(|_, at| now.duration_since(*at) < CONFIRMED);
        let (mut reasons, mut open) = (None, BTreeSet::new());
        plan.actions.retain(|action| {
            let Action::Delete { object, .. } = action else {
                return true;
            };
            if object.kind != Kind::Instance {
                return true;
            }
            let common = reasons.get_or_insert_with(&reasons_of);
            let cluster = ObjectKey::new(Kind::Cluster, "", object.namespace.clone());
            let unread = common
                .iter()
                .chain([&cluster])
                .filter(|key| !known.contains_key(*key));
            let unread: Vec<ObjectKey> = unread.cloned().collect();
            let is_read = unread.is_empty();
            open.extend(unread);
            is_read
        });
        if known.is_empty() {
            self.confirmed.remove(owner);
        }
        if open.is_empty() || !self.confirming.insert(owner.clone()) {
            return reasons.is_some();
        }
        info!(%owner, reasons = open.len(), "add-on instances would be removed; checking the reasons again");
        let (client, owner) = (self.client.clone(), owner.clone());
        let look = self.looks.begin(open);
        self.reads.spawn(async move {
            let found = look_again(client, look.objects()).await;
            Read::Reasons(owner, look, found)
        });
        true
    }

    /// Takes in which reasons were read.
    pub(super) fn confirmed(&mut self, owner: &Owner, reasons: &BTreeSet<ObjectKey>, now: Instant) {
        self.confirming.remove(owner);
        let known = self.confirmed.entry(owner.clone()).or_default();
        known.extend(reasons.iter().map(|key| (key.clone(), now)));
    }
}

pub(super) fn about(event: &Event) -> Option<ObjectKey> {
    match event {
        Event::Applied { kind, object }
        | Event::Unreadable { kind, object, .. }
        | Event::Deleted { kind, object } => Some(ObjectKey::of(*kind, object)),
        Event::Listed { .. }
        | Event::ListEnded { .. }
        | Event::Withheld { .. }
        | Event::Hidden { .. }
        | Event::Answered { .. }
        | Event::TypeFaulty { .. } => None,
    }
}

fn shown(event: &Event) -> Option<Kind> {
    match event {
        Event::Applied { kind, .. } | Event::Unreadable { kind, .. } => Some(*kind),
        Event::Deleted { .. }
        | Event::Listed { .. }
        | Event::ListEnded { .. }
        | Event::Withheld { .. }
        | Event::Hidden { .. }
        | Event::Answered { .. }
        | Event::TypeFaulty { .. } => None,
    }
}

/// When many of a kind are absent, a few tell whether its list is wrong as a whole: then the others of the kind need not be read,
/// for it is listed again. They tell as well whether the hub refuses to show any.
async fn look_into(client: Client, wanted: Vec<ObjectKey>) -> Found {
    let mut kinds: BTreeMap<Kind, Vec<ObjectKey>> = BTreeMap::new();
    for key in wanted {
        kinds.entry(key.kind).or_default().push(key);
    }
    let (mut sample, mut others) = (Vec::new(), Vec::new());
    for keys in kinds.into_values() {
        let step = keys.len().div_ceil(SAMPLE);
        for (index, key) in keys.into_iter().enumerate() {
            if index.is_multiple_of(step) {
                sample.push(key);
            } else {
                others.push(key);
            }
        }
    }
    let mut found = look_within(client.clone(), sample, PATIENCE).await;
    let lied: BTreeSet<Kind> = found.events.iter().filter_map(shown).collect();
    let answered: BTreeSet<Kind> = found
        .events
        .iter()
        .filter_map(about)
        .map(|key| key.kind)
        .collect();
    // What is true of a whole sample is true of the others: they are not read, so that silence is not waited for again and again.
    let (mut rest, mut unread) = (Vec::new(), Vec::new());
    for key in others {
        let refused = found.unread.iter().find(|one| one.object.kind == key.kind);
        match refused.filter(|_| !answered.contains(&key.kind)) {
            Some(like) => unread.push(like.of_another(key)),
            None if !lied.contains(&key.kind) => rest.push(key),
            None => {}
        }
    }
    found.unread.append(&mut unread);
    found.extend(look_within(client, rest, PATIENCE).await);
    found
}
