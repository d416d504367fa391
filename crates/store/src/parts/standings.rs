//! How the add-ons stand on their clusters, counted as their statuses change: a whole fleet is never counted again.
//!
//! Decides what a status means for a count, from the conditions alone: so every reader of the hub counts the same, whichever
//! add-on manager wrote them. Never decides what a status should be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::reason::{Class, Reason};
use model::Name;

use crate::record::{Condition, Instance, Status};
use crate::store::Store;
use crate::terms;

/// How an add-on stands on one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It has what it should have, and its agent works.
    Ready,
    /// It has, and its agent does not work.
    Unavailable,
    /// It has, and it is not known whether its agent works.
    Unreachable,
    /// It is in progress.
    Moving,
    /// It waits: for its turn, or for something that is not there.
    Waiting,
    /// It waits until a user resumes the rollout.
    Paused,
    /// It waits until a user approves the change.
    Unapproved,
    /// It has failed, or only a user can change it.
    Failed,
    /// It is being deleted.
    Leaving,
    /// No condition tells how it stands.
    Unknown,
}

/// How far a cluster is with what it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Headway {
    /// It has it.
    Done,
    /// It is in progress.
    Moving,
    /// It waits.
    Waiting,
    /// It has failed.
    Failed,
}

impl Headway {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Done, Self::Moving, Self::Waiting, Self::Failed];

    /// Returns it in one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Moving => "moving",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }
}

impl Standing {
    /// Every one.
    pub const ALL: [Self; 10] = [
        Self::Ready,
        Self::Unavailable,
        Self::Unreachable,
        Self::Moving,
        Self::Waiting,
        Self::Paused,
        Self::Unapproved,
        Self::Failed,
        Self::Leaving,
        Self::Unknown,
    ];

    /// Returns it in one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Unavailable => "unavailable",
            Self::Unreachable => "unreachable",
            Self::Moving => "moving",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Unapproved => "unapproved",
            Self::Failed => "failed",
            Self::Leaving => "leaving",
            Self::Unknown => "unknown",
        }
    }

    /// Returns how far its cluster is; absent where the add-on is being deleted or no condition tells how it stands.
    pub const fn headway(self) -> Option<Headway> {
        match self {
            Self::Ready | Self::Unavailable | Self::Unreachable => Some(Headway::Done),
            Self::Moving => Some(Headway::Moving),
            Self::Waiting | Self::Paused | Self::Unapproved => Some(Headway::Waiting),
            Self::Failed => Some(Headway::Failed),
            Self::Leaving | Self::Unknown => None,
        }
    }

    /// Reads how an instance stands from its conditions: the roll-up where there is one, and else what OCM's own manager writes.
    pub fn of(instance: &Instance) -> Self {
        if instance.meta.deleting {
            return Self::Leaving;
        }
        let is = |kind: &str, status: Status| instance.condition(kind).filter(|one| one.status == status);
        if is("Stalled", Status::True).is_some() {
            return Self::Failed;
        }
        if let Some(under_way) = is("Reconciling", Status::True) {
            return Self::on_the_way(&under_way.reason);
        }
        match instance.condition("Ready") {
            Some(ready) if ready.status == Status::True => Self::Ready,
            Some(ready) if *ready.reason == Reason::Unavailable => Self::Unavailable,
            Some(_) => Self::Unreachable,
            None => Self::without_roll_up(instance),
        }
    }

    fn on_the_way(reason: &str) -> Self {
        if Reason::word_is(reason, Class::UnderWay) {
            Self::Moving
        } else if *reason == Reason::WaitingForApproval {
            Self::Unapproved
        } else if Reason::word_is(reason, Class::Suspended) {
            Self::Paused
        } else {
            Self::Waiting
        }
    }

    fn without_roll_up(instance: &Instance) -> Self {
        match instance.condition("Progressing") {
            Some(one) if Reason::word_is(&one.reason, Class::Failed) => return Self::Failed,
            Some(one) if one.status == Status::True => return Self::Moving,
            Some(one) if !Reason::word_is(&one.reason, Class::Succeeded) => {
                return Self::on_the_way(&one.reason);
            }
            Some(_) | None => {}
        }
        match instance.condition("Available").map(|one| one.status) {
            Some(Status::True) => Self::Ready,
            Some(Status::False) => Self::Unavailable,
            Some(Status::Unknown) => Self::Unreachable,
            None => Self::Unknown,
        }
    }

    const fn place(self) -> usize {
        self as usize
    }
}

/// What the instances of one add-on count for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    standings: [usize; Standing::ALL.len()],
    versions: BTreeMap<Name, usize>,
}

impl Tally {
    /// Returns how many instances stand how.
    pub fn standings(&self) -> impl Iterator<Item = (Standing, usize)> {
        Standing::ALL.into_iter().zip(self.standings)
    }

    /// Returns how many clusters are how far.
    pub fn headway(&self) -> impl Iterator<Item = (Headway, usize)> {
        Headway::ALL.into_iter().map(|headway| {
            let those = self
                .standings()
                .filter(|(standing, _)| standing.headway() == Some(headway));
            (headway, those.map(|(_, count)| count).sum())
        })
    }

    /// Returns how many instances run each version; those that name none are left out.
    pub fn versions(&self) -> impl Iterator<Item = (&Name, usize)> {
        self.versions.iter().map(|(version, count)| (version, *count))
    }

    fn is_empty(&self) -> bool {
        self.standings.iter().all(|count| *count == 0)
    }

    fn add(&mut self, instance: &Instance) {
        if let Some(count) = self.standings.get_mut(Standing::of(instance).place()) {
            *count = count.saturating_add(1);
        }
        if !instance.current_version.is_empty() {
            let count = self.versions.entry(instance.current_version.clone()).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn remove(&mut self, instance: &Instance) {
        if let Some(count) = self.standings.get_mut(Standing::of(instance).place()) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.versions.get_mut(&instance.current_version) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.versions.remove(&instance.current_version);
            }
        }
    }
}

/// What has arrived on a cluster, and how long after it was assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// The add-on.
    pub addon: Name,
    /// The time from the assignment to the agent's word, as both were recorded.
    pub took: Duration,
}

/// The tallies of all add-ons, and what has changed since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct Standings {
    tallies: BTreeMap<Name, Tally>,
    changed: BTreeSet<Name>,
    arrived: Vec<Arrived>,
}

impl Standings {
    /// Notes an instance in place of what it was before.
    pub(crate) fn note(&mut self, addon: &Name, before: Option<&Instance>, now: Option<&Instance>) {
        let counts_the_same = |(old, new): (&Instance, &Instance)| {
            Standing::of(old) == Standing::of(new) && old.current_version == new.current_version
        };
        self.arrived
            .extend(before.zip(now).and_then(|(before, now)| arrival(before, now)));
        if before.zip(now).is_some_and(counts_the_same) {
            return;
        }
        let tally = self.tallies.entry(addon.clone()).or_default();
        if let Some(before) = before {
            tally.remove(before);
        }
        if let Some(now) = now {
            tally.add(now);
        }
        if tally.is_empty() {
            self.tallies.remove(addon);
        }
        if !self.changed.contains(addon) {
            self.changed.insert(addon.clone());
        }
    }
}

/// Whether an agent confirms what was assigned: the condition that records it turns, and its time moves.
fn arrival(before: &Instance, now: &Instance) -> Option<Arrived> {
    let recorded = |instance: &Instance, reason: Reason| {
        let one: &Condition = instance.condition(terms::ASSIGNED)?;
        one.since().filter(|_| *one.reason == reason)
    };
    let assigned = recorded(before, Reason::ConfigurationsAssigned)?;
    let confirmed = recorded(now, Reason::ConfigurationsConfirmed)?;
    let took = Duration::try_from(confirmed.duration_since(assigned)).unwrap_or_default();
    Some(Arrived {
        addon: now.addon.clone(),
        took,
    })
}

impl Store {
    /// Takes the add-ons whose tally has changed since the last call; `None` for one that has no instance any more.
    pub fn take_tallies(&mut self) -> Vec<(Name, Option<Tally>)> {
        let changed = std::mem::take(&mut self.standings.changed);
        let tallies = &self.standings.tallies;
        let each = changed.into_iter().map(|addon| {
            let tally = tallies.get(&addon).cloned();
            (addon, tally)
        });
        each.collect()
    }

    /// Takes what agents have confirmed since the last call.
    pub fn take_arrivals(&mut self) -> Vec<Arrived> {
        std::mem::take(&mut self.standings.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;
    use crate::kind::Kind;
    use serde_json::{Value, json};

    fn instance(cluster: &str, version: &str, conditions: &[(&str, &str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status, words)| {
                let (reason, time) = words.split_once('@').unwrap_or((words, "00"));
                let time = format!("2026-11-25T00:00:{time}Z");
                json!({"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": time})
            })
            .collect();
        json!({"metadata": {"name": "hello", "namespace": cluster, "uid": cluster, "resourceVersion": "1"}, "spec": {},
            "status": {"conditions": conditions, "currentVersion": version}})
    }

    fn applied(store: &mut Store, object: Value) {
        let kind = Kind::Instance;
        store.apply(Event::Applied { kind, object });
    }

    /// What an add-on with one instance of these conditions counts as.
    fn standing(conditions: &[(&str, &str, &str)]) -> &'static str {
        let mut store = Store::default();
        applied(&mut store, instance("c1", "", conditions));
        let tallies = store.take_tallies();
        let (_, tally) = tallies.first().expect("one add-on");
        let tally = tally.as_ref().expect("it has an instance");
        let found = tally.standings().find(|(_, count)| *count == 1);
        found.expect("it counts once").0.word()
    }

    #[test]
    fn a_status_is_read_in_our_words_and_in_those_of_ocm() {
        type Said = [(&'static str, &'static str, &'static str)];
        let rows: [(&Said, &str); 15] = [
            (&[], "unknown"),
            (&[("Available", "True", "")], "ready"),
            (&[("Available", "Unknown", "")], "unreachable"),
            (&[("Progressing", "True", "Progressing")], "moving"),
            (
                &[("Progressing", "False", "Completed"), ("Available", "False", "")],
                "unavailable",
            ),
            (&[("Progressing", "False", "Failed")], "failed"),
            (&[("Progressing", "False", "ConfigurationUnsupported")], "waiting"),
            (
                &[
                    ("Ready", "True", "Ready"),
                    ("Reconciling", "False", "Settled"),
                    ("Stalled", "False", "NotStalled"),
                ],
                "ready",
            ),
            (
                &[
                    ("Ready", "False", "Upgrading"),
                    ("Reconciling", "True", "Upgrading"),
                ],
                "moving",
            ),
            (
                &[
                    ("Ready", "False", "WaitingForSlot"),
                    ("Reconciling", "True", "WaitingForSlot"),
                ],
                "waiting",
            ),
            (
                &[
                    ("Ready", "False", "RolloutPaused"),
                    ("Reconciling", "True", "RolloutPaused"),
                ],
                "paused",
            ),
            (
                &[
                    ("Ready", "False", "WaitingForApproval"),
                    ("Reconciling", "True", "WaitingForApproval"),
                ],
                "unapproved",
            ),
            (
                &[
                    ("Ready", "False", "Unavailable"),
                    ("Reconciling", "False", "Settled"),
                ],
                "unavailable",
            ),
            (&[("Ready", "False", "AvailabilityUnknown")], "unreachable"),
            (
                &[
                    ("Ready", "False", "UpgradeFailed"),
                    ("Stalled", "True", "UpgradeFailed"),
                ],
                "failed",
            ),
        ];
        for (conditions, expected) in rows {
            assert_eq!(standing(conditions), expected, "{conditions:?}");
        }
    }

    #[test]
    fn an_instance_counts_once_wherever_it_goes_and_a_quiet_one_changes_nothing() {
        let mut store = Store::default();
        let ready = [("Ready", "True", "Ready")];
        for cluster in ["c1", "c2", "c3"] {
            applied(&mut store, instance(cluster, "v1", &ready));
        }
        let told = |store: &mut Store| {
            let tallies = store.take_tallies();
            let lines = tallies.iter().map(|(addon, tally)| {
                let Some(tally) = tally else {
                    return format!("{addon} gone");
                };
                let headway = tally
                    .headway()
                    .map(|(headway, count)| format!("{} {count}", headway.word()));
                let versions = tally
                    .versions()
                    .map(|(version, count)| format!("{version} {count}"));
                let words: Vec<String> = headway.chain(versions).collect();
                format!("{addon} {}", words.join(", "))
            });
            lines.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            told(&mut store),
            "hello done 3, moving 0, waiting 0, failed 0, v1 3"
        );
        applied(
            &mut store,
            instance(
                "c2",
                "v1",
                &[("Ready", "True", "Ready"), ("Available", "True", "x")],
            ),
        );
        assert_eq!(told(&mut store), "", "nothing that counts has changed");
        applied(
            &mut store,
            instance("c2", "v2", &[("Reconciling", "True", "Upgrading")]),
        );
        assert_eq!(
            told(&mut store),
            "hello done 2, moving 1, waiting 0, failed 0, v1 2, v2 1"
        );
        for cluster in ["c1", "c2", "c3"] {
            let object = instance(cluster, "", &[]);
            let kind = Kind::Instance;
            store.apply(Event::Deleted { kind, object });
        }
        assert_eq!(told(&mut store), "hello gone");
    }

    #[test]
    fn an_arrival_is_the_time_from_the_assignment_to_the_agents_word() {
        let mut store = Store::default();
        let open = [("Assigned", "True", "ConfigurationsAssigned@10")];
        let confirmed = [("Assigned", "True", "ConfigurationsConfirmed@25")];
        applied(&mut store, instance("c1", "", &confirmed));
        assert!(
            store.take_arrivals().is_empty(),
            "what stood there already is no arrival"
        );
        applied(&mut store, instance("c1", "", &open));
        applied(&mut store, instance("c1", "", &confirmed));
        applied(&mut store, instance("c1", "", &confirmed));
        let arrived = Arrived {
            addon: "hello".into(),
            took: Duration::from_secs(15),
        };
        assert_eq!(store.take_arrivals(), [arrived]);
        assert!(store.take_arrivals().is_empty());
    }
}
