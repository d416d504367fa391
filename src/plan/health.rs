//! The conditions of the add-on itself: one roll-up over all its clusters, for people and for delivery tools.
//!
//! Decides `Ready`, `Reconciling`, `Stalled` and, where the lifecycle annotation deserves a word, `Managed`. Stays bounded
//! whatever the number of clusters is, and never removes what other programs wrote.

use std::borrow::Cow;

use jiff::Timestamp;

use super::conditions::{Wish, merge};
use super::install::{Known, Wanted};
use super::note::{Grade, Note};
use super::quiet::Others;
use super::types::{Wait, WaitOn};
use crate::snapshot::{Condition, InstallStrategy, Lifecycle, Name, Status, View};

const READY: &str = "Ready";
const RECONCILING: &str = "Reconciling";
const STALLED: &str = "Stalled";
const MANAGED: &str = "Managed";
/// How many clusters a message names.
const NAMED: usize = 3;

/// How one instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has what it should have, and its agent works.
    Ready,
    /// It has what it should have; nobody can reach its cluster.
    Unreachable,
    /// It has what it should have, but its agent does not work.
    Unavailable,
    /// On the way.
    Moving,
    /// Only a human can change it.
    Stalled,
}

/// Instances, counted one after the other.
#[derive(Debug, Default)]
pub(super) struct Health<'v> {
    total: usize,
    ready: usize,
    unreachable: usize,
    unavailable: Tail<'v>,
    stalled: Tail<'v>,
}

/// A number of clusters, the first of them by name.
#[derive(Debug, Default)]
struct Tail<'v> {
    count: usize,
    named: Vec<&'v Name>,
}

impl<'v> Tail<'v> {
    fn add(&mut self, cluster: &'v Name) {
        self.count = self.count.saturating_add(1);
        if self.named.len() < NAMED {
            self.named.push(cluster);
        }
    }

    fn say(&self, what: &str) -> Option<String> {
        let named: Vec<&str> = self.named.iter().map(|name| &***name).collect();
        let more = if self.count > self.named.len() {
            ", …"
        } else {
            ""
        };
        (self.count > 0).then(|| format!("{} {what} ({}{more})", self.count, named.join(", ")))
    }
}

impl<'v> Health<'v> {
    /// Returns the count before any instance has reported: `missing` clusters have none yet, and `others` are quiet.
    pub(super) fn new(missing: usize, others: &Others) -> Self {
        let (ready, unreachable) = (others.ready(), others.unreachable());
        Self {
            total: missing.saturating_add(ready).saturating_add(unreachable),
            ready,
            unreachable,
            ..Self::default()
        }
    }

    /// Counts one instance.
    pub(super) fn add(&mut self, cluster: &'v Name, standing: Standing) {
        self.total = self.total.saturating_add(1);
        match standing {
            Standing::Ready => self.ready = self.ready.saturating_add(1),
            Standing::Unreachable => self.unreachable = self.unreachable.saturating_add(1),
            Standing::Unavailable => self.unavailable.add(cluster),
            Standing::Stalled => self.stalled.add(cluster),
            Standing::Moving => {}
        }
    }

    fn moving(&self) -> usize {
        let settled = [
            self.ready,
            self.unreachable,
            self.unavailable.count,
            self.stalled.count,
        ];
        self.total.saturating_sub(settled.iter().sum())
    }

    fn message(&self) -> String {
        let ready = format!("{} of {} clusters are ready", self.ready, self.total);
        let unreachable = (self.unreachable > 0).then(|| format!("{} not reachable", self.unreachable));
        let parts = [
            Some(ready),
            self.stalled.say("stalled"),
            self.unavailable.say("not available"),
            unreachable,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// What the add-on's own conditions should be, and what to tell a spectator when that changes.
#[derive(Debug)]
pub(super) struct Verdict<'v> {
    /// `status.conditions`
    pub conditions: Cow<'v, [Condition]>,
    /// The change, if it is one.
    pub note: Option<Note>,
}

/// Returns the conditions of an add-on that the hub manages.
pub(super) fn managed<'v>(
    view: &View<'v>,
    wanted: &Wanted<'_>,
    health: &Health<'_>,
    now: Timestamp,
) -> Verdict<'v> {
    let fault = fault(view, wanted);
    let message = health.message();
    let running = running(wanted, health, &message);
    let mut wishes = rollup(health, fault.as_ref(), running.as_ref(), &message).to_vec();
    if view.addon.lifecycle == Lifecycle::Empty {
        wishes.push(Wish::new(
            MANAGED,
            Status::True,
            "EmptyLifecycle",
            "the lifecycle annotation has no value and is read as if it were absent; remove it",
        ));
    }
    let note = note(view, &wishes);
    let conditions = stated(view, &wishes, now);
    Verdict { conditions, note }
}

/// Returns the conditions of an add-on that manages itself: only that it does.
pub(super) fn unmanaged<'v>(view: &View<'v>, now: Timestamp) -> Verdict<'v> {
    let said = match &view.addon.lifecycle {
        Lifecycle::Own(value) => format!("{:?}", &**value),
        Lifecycle::Empty | Lifecycle::Managed => "empty".to_owned(),
    };
    let message = format!(
        "the lifecycle annotation is {said}, so the add-on manages itself; remove the annotation to let the hub manage it"
    );
    let wishes = [Wish::new(MANAGED, Status::False, "SelfManaged", message)];
    Verdict {
        conditions: stated(view, &wishes, now),
        note: None,
    }
}

/// What is wrong with the add-on itself and only a human can change: reason and message.
fn fault(view: &View<'_>, wanted: &Wanted<'_>) -> Option<(&'static str, String)> {
    let say = |on: WaitOn| Wait::addon(on).to_string();
    match &view.addon.strategy {
        InstallStrategy::Manual | InstallStrategy::Labels(Some(_)) => None,
        InstallStrategy::Labels(None) => Some(("LabelSelectorMissing", say(WaitOn::NoLabelSelector))),
        InstallStrategy::BadLabels(why) => {
            Some(("LabelSelectorInvalid", say(WaitOn::LabelSelector(why.clone()))))
        }
        InstallStrategy::Other(kind) => Some((
            "InstallStrategyUnknown",
            say(WaitOn::InstallStrategy(kind.clone())),
        )),
        InstallStrategy::Placements => {
            let missing = wanted
                .placements
                .iter()
                .find(|selected| selected.known == Known::NoPlacement)?;
            let (namespace, name) = (missing.by.namespace.clone(), missing.by.name.clone());
            Some(("PlacementNotFound", say(WaitOn::Placement(namespace, name))))
        }
    }
}

/// What only takes time: a placement whose clusters nobody has decided yet, or clusters on the way.
fn running(wanted: &Wanted<'_>, health: &Health<'_>, message: &str) -> Option<(&'static str, String)> {
    let mut selected = wanted.placements.iter();
    if let Some(one) = selected.find(|one| one.known == Known::NoDecision) {
        let on = WaitOn::Decision(one.by.namespace.clone(), one.by.name.clone());
        return Some(("DecisionNotFound", format!("{}; {message}", Wait::addon(on))));
    }
    (health.moving() > 0).then(|| ("Progressing", message.to_owned()))
}

/// Whatever can be known is good: a cluster that nobody can reach does not keep the whole add-on from being ready.
fn rollup<'a>(
    health: &Health<'_>,
    fault: Option<&'a (&'static str, String)>,
    running: Option<&'a (&'static str, String)>,
    message: &'a str,
) -> [Wish<'a>; 3] {
    let stalled = match fault {
        Some((reason, why)) => Wish::new(STALLED, Status::True, reason, why.as_str()),
        None if health.stalled.count > 0 => Wish::new(STALLED, Status::True, "ClustersStalled", message),
        None => Wish::new(STALLED, Status::False, "NotStalled", ""),
    };
    let reconciling = match running {
        Some((reason, why)) => Wish::new(RECONCILING, Status::True, reason, why.as_str()),
        None => Wish::new(RECONCILING, Status::False, "Settled", ""),
    };
    let ready = match (fault, running) {
        (Some((reason, why)), _) => Wish::new(READY, Status::False, reason, format!("{why}; {message}")),
        (None, _) if health.stalled.count > 0 => Wish::new(READY, Status::False, "ClustersStalled", message),
        (None, Some((reason, why))) => Wish::new(READY, Status::False, reason, why.as_str()),
        (None, None) if health.unavailable.count > 0 => {
            Wish::new(READY, Status::False, "ClustersUnavailable", message)
        }
        (None, None) => Wish::new(READY, Status::True, "Ready", message),
    };
    [ready, reconciling, stalled]
}

/// Only another reason of `Ready` is worth a word; numbers change all the time.
fn note(view: &View<'_>, wishes: &[Wish<'_>]) -> Option<Note> {
    let ready = wishes.iter().find(|wish| wish.kind() == READY)?;
    let before = view.addon.conditions.iter().find(|one| &*one.kind == READY);
    if before.is_some_and(|before| *before.reason == *ready.reason()) {
        return None;
    }
    let fine =
        ready.status() == Status::True || ["Progressing", "DecisionNotFound"].contains(&ready.reason());
    Some(Note::AddOn {
        addon: view.addon.name.clone(),
        grade: if fine { Grade::Normal } else { Grade::Warning },
        reason: ready.reason(),
        message: ready.message().to_owned(),
    })
}

/// Merges the wishes; conditions of ours that have nothing to say any more are dropped.
fn stated<'v>(view: &View<'v>, wishes: &[Wish<'_>], now: Timestamp) -> Cow<'v, [Condition]> {
    let (observed, generation) = (&view.addon.conditions, Some(view.addon.meta.generation));
    let is_over = |condition: &Condition| {
        [READY, RECONCILING, STALLED, MANAGED].contains(&&*condition.kind)
            && !wishes.iter().any(|wish| *wish.kind() == *condition.kind)
    };
    if !observed.iter().any(is_over) {
        return merge(observed, wishes, generation, now);
    }
    let kept: Vec<Condition> = observed.iter().filter(|one| !is_over(one)).cloned().collect();
    Cow::Owned(merge(&kept, wishes, generation, now).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(standings: &[Standing]) -> String {
        let names: Vec<Name> = (1..=standings.len()).map(|n| format!("c{n}").into()).collect();
        let mut health = Health::default();
        for (name, standing) in names.iter().zip(standings) {
            health.add(name, *standing);
        }
        let message = health.message();
        let wanted = Wanted::default();
        let running = running(&wanted, &health, &message);
        let wishes = rollup(&health, None, running.as_ref(), &message);
        let each = wishes.map(|wish| format!("{}={} {}", wish.kind(), wish.status().as_str(), wish.reason()));
        format!("{} | {message}", each.join(", "))
    }

    #[test]
    fn done_moving_and_stalled_are_told_apart() {
        use Standing::{Moving, Ready, Stalled, Unavailable, Unreachable};
        let rows: [(&[Standing], &str); 7] = [
            (
                &[],
                "Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled | 0 of 0 clusters are ready",
            ),
            (
                &[Ready, Ready],
                "Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled | 2 of 2 clusters are ready",
            ),
            (
                &[Ready, Unreachable],
                "Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled | 1 of 2 clusters are ready, 1 not reachable",
            ),
            (
                &[Ready, Moving],
                "Ready=False Progressing, Reconciling=True Progressing, Stalled=False NotStalled | 1 of 2 clusters are ready",
            ),
            (
                &[Ready, Unavailable],
                "Ready=False ClustersUnavailable, Reconciling=False Settled, Stalled=False NotStalled | 1 of 2 clusters are ready, 1 not available (c2)",
            ),
            (
                &[Stalled, Moving],
                "Ready=False ClustersStalled, Reconciling=True Progressing, Stalled=True ClustersStalled | 0 of 2 clusters are ready, 1 stalled (c1)",
            ),
            (
                &[Stalled; 5],
                "Ready=False ClustersStalled, Reconciling=False Settled, Stalled=True ClustersStalled | 0 of 5 clusters are ready, 5 stalled (c1, c2, c3, …)",
            ),
        ];
        for (standings, expected) in rows {
            assert_eq!(counted(standings), expected);
        }
    }

    #[test]
    fn the_message_stays_short_whatever_the_fleet() {
        assert!(counted(&[Standing::Stalled; 10_000]).len() < 250);
    }
}
