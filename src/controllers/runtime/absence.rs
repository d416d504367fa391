//! Whatever a list does not show is looked for, one object after the other, before anybody believes that it is gone.
//!
//! Decides when absences must be looked into: after every list, what a list no longer shows and what other objects stand for; and
//! before instances are taken away, the objects that are the reason. Nothing is planned meanwhile. A list that has left something
//! out is asked for anew, with growing pauses. Never looks by itself (`second_look`), and never decides who goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use super::error_root::root;
use super::read_again::{Unread, look_again};
use crate::telemetry::Metrics;
use plan::{Action, Plan};
use snapshot::{Event, Kind, ObjectKey, Owner, Store};

/// First and longest pause before a hub that does not answer is asked again, and between two lists of a kind.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// So many absences are looked into one by one; of more, this many are looked at before the others.
const SAMPLE: usize = 32;
/// How long a reason for removals that was read stays good.
const CONFIRMED: Duration = Duration::from_secs(30);

/// What was found out.
type Found = Result<Vec<Event>, Unread>;

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

/// What was read in doubt.
pub(super) enum Read {
    /// Whatever was absent.
    Absent(Found),
    /// The reasons for removals for an owner.
    Reasons(Owner, BTreeSet<ObjectKey>, Found),
}

/// What is not believed yet.
pub(super) struct Absences {
    client: Client,
    metrics: Metrics,
    /// Objects that a later list did not show.
    missing: BTreeSet<ObjectKey>,
    /// Whether a list has ended since it was asked last what must be there.
    due: bool,
    looks: bool,
    reads: JoinSet<Read>,
    retry: Option<Retry>,
    relists: BTreeMap<Kind, Arc<Notify>>,
    /// Kinds whose list has left something out, until they are listed anew; whether that was asked for.
    lied: BTreeMap<Kind, bool>,
    pauses: BTreeMap<Kind, Retry>,
    /// When decisions are listed anew, because placements have more clusters than their decisions name.
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
            missing: BTreeSet::new(),
            due: false,
            looks: false,
            reads: JoinSet::new(),
            retry: None,
            relists,
            lied: BTreeMap::new(),
            pauses: BTreeMap::new(),
            undecided: None,
            confirmed: BTreeMap::new(),
            confirming: BTreeSet::new(),
        }
    }

    /// Takes in a list; returns what is believed of it. What it does not show any more stays until it was looked for.
    pub(super) fn listed(&mut self, store: &Store, kind: Kind, objects: Vec<Value>) -> Vec<Event> {
        self.due = true;
        self.lied.remove(&kind);
        let missing = store.missing_from(kind, &objects);
        if missing.is_empty() {
            return vec![Event::Listed { kind, objects }];
        }
        self.missing.extend(missing);
        objects
            .into_iter()
            .map(|object| Event::Applied { kind, object })
            .collect()
    }

    /// Takes in that a list has ended whose objects were told before; returns what is believed of it.
    pub(super) fn list_ended(&mut self, store: &Store, kind: Kind, keys: BTreeSet<ObjectKey>) -> Vec<Event> {
        self.due = true;
        self.lied.remove(&kind);
        let missing = store.missing(kind, &keys);
        if missing.is_empty() {
            return vec![Event::ListEnded { kind, keys }];
        }
        self.missing.extend(missing);
        Vec::new()
    }

    /// Returns whether nobody knows yet what an absence means: nothing may be planned.
    pub(super) fn are_open(&self) -> bool {
        self.due || self.looks || !self.lied.is_empty()
    }

    /// Returns when there is something to do although nothing happened.
    pub(super) fn next(&self) -> Option<Instant> {
        let look = self
            .retry
            .map(|retry| retry.at)
            .filter(|_| self.due && !self.looks);
        let waiting = self
            .pauses
            .iter()
            .filter(|(kind, _)| self.lied.get(kind) == Some(&false));
        let undecided = self.undecided.map(|retry| retry.at);
        waiting
            .map(|(_, retry)| retry.at)
            .chain(look)
            .chain(undecided)
            .min()
    }

    /// Looks for what is absent, and asks for new lists, where that is due.
    pub(super) fn pursue(&mut self, store: &Store, now: Instant) {
        self.relist(store, now);
        let is_due = self.retry.is_none_or(|retry| retry.at <= now);
        if !self.due || self.looks || !is_due {
            return;
        }
        if self.undecided.is_none() && store.is_undecided() {
            self.undecided = Some(Retry::after(None, now));
        }
        self.missing.retain(|key| store.meta(key).is_some());
        let wanted: Vec<ObjectKey> = self.missing.iter().cloned().chain(store.unproven()).collect();
        self.due = false;
        if wanted.is_empty() {
            self.retry = None;
            return;
        }
        self.looks = true;
        let client = self.client.clone();
        self.reads
            .spawn(async move { Read::Absent(look_into(client, wanted).await) });
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

    /// Takes in what a look has found; returns what the store should see.
    pub(super) fn found(&mut self, found: Found, now: Instant) -> Vec<Event> {
        self.looks = false;
        let events = match found {
            Ok(events) => events,
            Err(error) => {
                let retry = Retry::after(self.retry, now);
                warn!(
                    object = %error.object, error = %root(&error), pause = ?(retry.at - now),
                    "cannot find out whether objects are gone that no list shows; nothing is planned"
                );
                (self.due, self.retry) = (true, Some(retry));
                self.metrics.doubts(true);
                return Vec::new();
            }
        };
        self.retry = None;
        self.missing.clear();
        let there: BTreeSet<Kind> = events.iter().filter_map(shown).collect();
        self.metrics.doubts(!there.is_empty());
        self.pauses.retain(|kind, _| there.contains(kind));
        for kind in there {
            warn!(
                kind = kind.address().kind,
                "a list has left out objects that are there; listing anew"
            );
            let retry = Retry::after(self.pauses.get(&kind).copied(), now);
            self.pauses.insert(kind, retry);
            self.lied.insert(kind, false);
        }
        events
    }

    /// Takes out of a plan the removals whose reasons nobody has read lately, and reads them. Returns whether the plan had any.
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
        info!(%owner, reasons = open.len(), "instances would go; reading the reasons once more");
        let (client, owner) = (self.client.clone(), owner.clone());
        self.reads.spawn(async move {
            let found = look_again(client, open.iter().cloned().collect()).await;
            Read::Reasons(owner, open, found)
        });
        true
    }

    /// Takes in that reasons were read; returns what the store should see, or the reason that cannot be read.
    pub(super) fn confirmed(
        &mut self,
        owner: &Owner,
        reasons: BTreeSet<ObjectKey>,
        found: Found,
        now: Instant,
    ) -> Found {
        self.confirming.remove(owner);
        let events = found?;
        let known = self.confirmed.entry(owner.clone()).or_default();
        known.extend(reasons.into_iter().map(|key| (key, now)));
        Ok(events)
    }
}

fn shown(event: &Event) -> Option<Kind> {
    match event {
        Event::Applied { kind, .. } => Some(*kind),
        Event::Deleted { .. }
        | Event::Listed { .. }
        | Event::ListEnded { .. }
        | Event::Withheld { .. }
        | Event::Answered { .. }
        | Event::TypeFaulty { .. } => None,
    }
}

/// When thousands are absent, a few tell whether the list is wrong as a whole: then the others need not be read.
async fn look_into(client: Client, wanted: Vec<ObjectKey>) -> Found {
    if wanted.len() > SAMPLE {
        let step = wanted.len().div_ceil(SAMPLE);
        let sample = wanted.iter().step_by(step).cloned().collect();
        let events = look_again(client.clone(), sample).await?;
        if events.iter().any(|event| shown(event).is_some()) {
            return Ok(events);
        }
    }
    look_again(client, wanted).await
}
