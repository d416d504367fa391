//! The instances of an add-on, counted: who is ready, who is not, and why.
//!
//! Decides the message of the add-on's own conditions: causes with their number and the first clusters of each. Stays bounded
//! whatever the number of clusters is.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::install::Holding;
use super::settled::Others;
use super::short_list::ShortList;
use api::reason::{Class, Reason};
use store::Name;

/// What an instance runs with that is meant to keep its current configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// What stands on the hub.
    There,
    /// What was edited or deleted there: its works cannot be made again.
    Gone,
}

/// How one instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstanceTally {
    /// It has what it should have, and its agent works.
    Ready,
    /// It has what it is meant to keep: a change of `spec.configuration` is not for it, or it is back after an undone rollout and
    /// runs with content that is no longer on the hub. Its cluster may be unreachable.
    Kept {
        /// Whether its agent works.
        reachable: bool,
        /// What it runs with.
        content: Content,
    },
    /// It has what it should have; its cluster is not reachable.
    Unreachable,
    /// It has what it should have, but its agent does not work.
    Unavailable,
    /// On the way.
    Moving,
    /// It keeps its current configuration until its turn comes, for this reason.
    Waiting(Reason),
    /// Only a user can change it: the reason.
    Stalled(Reason),
    /// It is being deleted, and not gone yet.
    Leaving {
        /// Whether its cluster is reachable.
        reachable: bool,
    },
}

/// The wanted clusters that have no instance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Newcomers {
    /// How many there are.
    pub all: usize,
    /// How many of them get theirs with this plan.
    pub made: usize,
}

/// The wanted clusters whose instance the hub refuses to create.
#[derive(Debug, Default)]
pub(crate) struct Unmade {
    clusters: ShortList,
    /// What the hub says about the first of them.
    why: Option<Name>,
}

impl Unmade {
    /// Adds a cluster, and what the hub says.
    pub(crate) fn add(&mut self, cluster: &Name, why: &Name) {
        self.clusters.add(cluster);
        self.why.get_or_insert_with(|| why.clone());
    }

    /// Returns clusters and cause in one sentence, if there are any.
    pub(super) fn told(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        let (count, clusters) = (self.clusters.count(), &self.clusters);
        Some(format!("{count} rejected by the hub: {clusters} ({why})"))
    }
}

/// Whether time alone changes the rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// Something ends by itself: a soak time, a deadline, or the installation of a new instance.
    Runs,
    /// Nothing does.
    Stands,
}

/// Instances, counted one after the other.
#[derive(Debug, Default)]
pub(super) struct Census {
    total: usize,
    ready: usize,
    unreachable: usize,
    unavailable: ShortList,
    /// Those that need the user to act, by reason.
    stalled: BTreeMap<Reason, ShortList>,
    /// How many keep their current configuration by intention; they count as ready.
    kept: usize,
    /// Those of them whose content is no longer on the hub.
    orphaned: ShortList,
    /// Those that are being installed, updated or rolled back.
    moving: ShortList,
    /// Those that wait for their turn in the rollout, by reason.
    waiting: BTreeMap<Reason, ShortList>,
    /// Those that are being deleted.
    leaving: ShortList,
    /// How many of them are on clusters that are not reachable: nothing waits for them.
    lost: usize,
    missing: Newcomers,
    /// Those whose instance the hub refuses to create.
    pub(super) unmade: Unmade,
    /// The removals that are held.
    pub(super) holding: Holding,
}

impl Census {
    /// Returns the count before any instance has reported: `others` are quiet.
    pub(super) fn new(missing: Newcomers, others: &Others) -> Self {
        let (ready, unreachable) = (others.ready(), others.unreachable());
        Self {
            total: missing.all.saturating_add(ready).saturating_add(unreachable),
            ready,
            unreachable,
            missing,
            ..Self::default()
        }
    }

    /// Counts one instance.
    pub(super) fn add(&mut self, cluster: &Name, standing: InstanceTally) {
        self.total = self.total.saturating_add(1);
        match standing {
            InstanceTally::Ready => self.ready = self.ready.saturating_add(1),
            InstanceTally::Kept { reachable, content } => {
                let count = if reachable {
                    &mut self.ready
                } else {
                    &mut self.unreachable
                };
                *count = count.saturating_add(1);
                self.kept = self.kept.saturating_add(1);
                if content == Content::Gone {
                    self.orphaned.add(cluster);
                }
            }
            InstanceTally::Waiting(reason) => self.waiting.entry(reason).or_default().add(cluster),
            InstanceTally::Unreachable => self.unreachable = self.unreachable.saturating_add(1),
            InstanceTally::Unavailable => self.unavailable.add(cluster),
            InstanceTally::Stalled(reason) => self.stalled.entry(reason).or_default().add(cluster),
            InstanceTally::Moving => self.moving.add(cluster),
            InstanceTally::Leaving { reachable } => {
                self.leaving.add(cluster);
                self.lost = self.lost.saturating_add(usize::from(!reachable));
            }
        }
    }

    /// Returns whether no cluster has the add-on, gets it, or loses it.
    pub(super) fn is_empty(&self) -> bool {
        self.total == 0 && self.holding.all() == 0
    }

    /// Returns whether any instance needs the user to act.
    pub(super) fn has_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Returns whether the agent of any instance does not work.
    pub(super) fn has_unavailable(&self) -> bool {
        !self.unavailable.is_empty()
    }

    /// Returns how many are not installed, updated or removed yet, and do not need the user to act.
    pub(super) fn open(&self) -> usize {
        let waiting: usize = self.waiting.values().map(ShortList::count).sum();
        self.moving
            .count()
            .saturating_add(self.going())
            .saturating_add(waiting)
            .saturating_add(self.missing.all)
    }

    /// How many are being removed from clusters that are reachable.
    fn going(&self) -> usize {
        self.leaving.count().saturating_sub(self.lost)
    }

    /// Returns whether anything still changes without a user: an instance is in progress, or waits for something that time ends.
    pub(super) fn goes_on(&self, time: Time) -> bool {
        let has_made = !self.moving.is_empty() || self.missing.made > 0 || self.going() > 0;
        let mut reasons = self.waiting.keys();
        has_made || (time == Time::Runs && reasons.any(|reason| !reason.is(Class::Brake)))
    }

    /// Returns the one reason for which all open instances wait, if only a user ends it.
    pub(super) fn brake(&self) -> Option<Reason> {
        let count = |reason: Reason| self.waiting.get(&reason).map_or(0, ShortList::count);
        let held = |reason: Reason| match count(reason) {
            0 => 0,
            own if reason == Reason::WaitingForApproval => own.saturating_add(count(Reason::WaitingForGroup)),
            own => own,
        };
        let open = self.open();
        let mut brakes = self.waiting.keys().filter(|reason| reason.is(Class::Brake));
        brakes.find(|reason| open > 0 && held(**reason) == open).copied()
    }

    /// Returns the number of clusters in each state; beside the total, each cluster is in one count.
    pub(super) fn counted(&self) -> Value {
        let all = |causes: &BTreeMap<Reason, ShortList>| causes.values().map(ShortList::count).sum::<usize>();
        json!({
            "total": self.total,
            "ready": self.ready,
            "progressing": self.moving.count().saturating_add(self.missing.all),
            "waiting": all(&self.waiting),
            "stalled": all(&self.stalled),
            "unavailable": self.unavailable.count(),
            "unreachable": self.unreachable,
            "leaving": self.leaving.count(),
        })
    }

    /// Returns everything in one line.
    pub(super) fn message(&self) -> String {
        let held = self.holding.all();
        let ready = if self.total == 0 && held > 0 {
            "0 clusters are selected".to_owned()
        } else {
            format!("{} of {} clusters are ready", self.ready, self.total)
        };
        let held = (held > 0).then(|| {
            let verb = if held == 1 { "removal is" } else { "removals are" };
            format!("{held} {verb} delayed")
        });
        let number = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let parts = [
            Some(ready),
            causes("stalled", &self.stalled),
            few("not available", &self.unavailable),
            few("in progress", &self.moving),
            causes("waiting", &self.waiting),
            few("being deleted", &self.leaving),
            number(self.missing.all, "without a ManagedClusterAddOn"),
            self.unmade.told(),
            number(self.unreachable, "unreachable"),
            held,
            number(self.kept, "outside of the rollout"),
            few("with content that is no longer on the hub", &self.orphaned),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(". ")
    }
}

fn few(what: &str, few: &ShortList) -> Option<String> {
    (!few.is_empty()).then(|| format!("{} {what}: {few}", few.count()))
}

/// Every cause with its number and its first clusters, the most frequent first.
fn causes(what: &str, all: &BTreeMap<Reason, ShortList>) -> Option<String> {
    let total: usize = all.values().map(ShortList::count).sum();
    let mut sorted: Vec<(&Reason, &ShortList)> = all.iter().collect();
    sorted.sort_by_key(|(reason, few)| (std::cmp::Reverse(few.count()), **reason));
    let each = sorted
        .into_iter()
        .map(|(reason, few)| format!("{reason} ({}): {few}", few.count()));
    (total > 0).then(|| format!("{total} {what}: {}", each.collect::<Vec<_>>().join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(standings: &[InstanceTally]) -> String {
        let mut census = Census::default();
        for (n, standing) in (1..).zip(standings) {
            census.add(&Name::from(format!("c{n}")), *standing);
        }
        census.message()
    }

    #[test]
    fn causes_stand_with_their_number_and_their_first_clusters() {
        use InstanceTally::{Kept, Leaving, Moving, Ready, Stalled, Unavailable, Unreachable, Waiting};
        let missing = Stalled(Reason::ConfigurationNotFound);
        let gone = Leaving { reachable: true };
        let rows: [(&[InstanceTally], &str); 8] = [
            (
                &[Ready, gone, Leaving { reachable: false }],
                "1 of 3 clusters are ready. 2 being deleted: c2, c3",
            ),
            (&[Ready, Ready], "2 of 2 clusters are ready"),
            (
                &[missing; 6],
                "0 of 6 clusters are ready. 6 stalled: ConfigurationNotFound (6): c1, c2, c3, …",
            ),
            (
                &[Stalled(Reason::UpgradeFailed), missing, missing],
                "0 of 3 clusters are ready. 3 stalled: ConfigurationNotFound (2): c2, c3; UpgradeFailed (1): c1",
            ),
            (
                &[
                    Ready,
                    Moving,
                    Waiting(Reason::WaitingForSlot),
                    Waiting(Reason::RolloutPaused),
                    Waiting(Reason::WaitingForSlot),
                ],
                "1 of 5 clusters are ready. 1 in progress: c2. 3 waiting: WaitingForSlot (2): c3, c5; RolloutPaused (1): c4",
            ),
            (&[Ready, Unreachable], "1 of 2 clusters are ready. 1 unreachable"),
            (
                &[Ready, Unavailable],
                "1 of 2 clusters are ready. 1 not available: c2",
            ),
            (
                &[Kept {
                    reachable: true,
                    content: Content::Gone,
                }],
                "1 of 1 clusters are ready. 1 outside of the rollout. 1 with content that is no longer on the hub: c1",
            ),
        ];
        for (standings, expected) in rows {
            assert_eq!(told(standings), expected);
        }
    }

    #[test]
    fn beside_the_total_each_cluster_is_in_one_count() {
        use InstanceTally::{Leaving, Moving, Ready, Stalled, Unavailable, Unreachable, Waiting};
        let mut census = Census::new(Newcomers { all: 2, made: 1 }, &Others::default());
        let leaving = Leaving { reachable: false };
        let each = [
            Ready,
            Moving,
            Waiting(Reason::WaitingForSlot),
            Waiting(Reason::WaitingForGroup),
            Stalled(Reason::UpgradeFailed),
            Unavailable,
            Unreachable,
            leaving,
        ];
        for standing in each {
            census.add(&Name::from("c"), standing);
        }
        assert_eq!(
            census.counted(),
            json!({"total": 10, "ready": 1, "progressing": 3, "waiting": 2, "stalled": 1, "unavailable": 1,
                "unreachable": 1, "leaving": 1})
        );
    }

    #[test]
    fn the_message_stays_short_whatever_the_fleet() {
        assert!(
            told(&vec![
                InstanceTally::Stalled(Reason::ConfigurationNotFound);
                10_000
            ])
            .len()
                < 250
        );
    }
}
