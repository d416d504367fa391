//! Quiet instances: those about which a plan has nothing to say, now or later, until something about them changes.
//!
//! Decides what is quiet, and counts the quiet ones in place of looking at them again: for the engine, for the status of the
//! add-on and for its health. Never decides when they have to be looked at again (`memo.rs`).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::census::InstanceTally;
use super::types::Plan;
use ::model::engine::DoneUnits;
use store::{Kind, Name};

/// So many placements can be told apart; instances that others select are never quiet.
const PLACEMENTS: u32 = u64::BITS;

/// What a rollout says about an instance with which it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Done {
    /// The placement that configures it.
    pub home: Option<u32>,
    /// Its decision group there.
    pub group: u32,
    /// The placements that select it, one bit for each.
    selected: u64,
    /// When it arrived, where checks ask.
    pub arrived: Option<Timestamp>,
    /// Whether `spec.configuration` reaches it by its own rollout.
    pub rolling: bool,
}

impl Done {
    /// Notes that a placement selects the instance; returns whether that can be noted.
    pub(super) fn select(&mut self, placement: usize) -> bool {
        let bit = u32::try_from(placement).ok().filter(|bit| *bit < PLACEMENTS);
        self.selected |= bit.map_or(0, |bit| 1 << bit);
        bit.is_some()
    }
}

/// What a quiet instance counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quiet {
    done: Done,
    /// Whether its cluster is reachable.
    reachable: bool,
}

impl Quiet {
    /// Returns what an instance counts for that is done and healthy; `None` for one that the add-on's status names.
    pub(super) fn of(done: Done, standing: InstanceTally) -> Option<Self> {
        let reachable = match standing {
            InstanceTally::Ready => true,
            InstanceTally::Unreachable => false,
            InstanceTally::Kept { .. }
            | InstanceTally::Unavailable
            | InstanceTally::Moving
            | InstanceTally::Leaving { .. }
            | InstanceTally::Waiting(_)
            | InstanceTally::Stalled(_) => return None,
        };
        Some(Self { done, reachable })
    }
}

/// The instances that a plan does not look at, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Others(BTreeMap<Quiet, usize>);

impl Others {
    pub(super) fn add(&mut self, quiet: Quiet) {
        let count = self.0.entry(quiet).or_default();
        *count = count.saturating_add(1);
    }

    pub(super) fn remove(&mut self, quiet: Quiet) {
        if let Some(count) = self.0.get_mut(&quiet) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.0.remove(&quiet);
            }
        }
    }

    fn count(&self, is_one: impl Fn(&Quiet) -> bool) -> usize {
        let those = self.0.iter().filter(|(quiet, _)| is_one(quiet));
        those.map(|(_, count)| *count).sum()
    }

    /// Returns how many a placement selects.
    pub(super) fn selected(&self, placement: usize) -> usize {
        let mut mask = Done::default();
        mask.select(placement);
        self.count(|quiet| quiet.done.selected & mask.selected != 0)
    }

    /// Returns how many a placement configures, by decision group.
    pub(super) fn configured(&self, placement: usize) -> BTreeMap<usize, DoneUnits> {
        let mut groups = BTreeMap::new();
        for (quiet, count) in &self.0 {
            if quiet.done.home.is_some_and(|home| home as usize == placement) {
                let group: &mut DoneUnits = groups.entry(quiet.done.group as usize).or_default();
                group.count = group.count.saturating_add(*count);
                group.latest = group.latest.max(quiet.done.arrived);
            }
        }
        groups
    }

    /// Returns how many `spec.configuration` reaches by its own rollout.
    pub(super) fn rolling(&self) -> usize {
        self.count(|quiet| quiet.done.rolling)
    }

    /// Returns how many are ready.
    pub(super) fn ready(&self) -> usize {
        self.count(|quiet| quiet.reachable)
    }

    /// Returns how many are not reachable.
    pub(super) fn unreachable(&self) -> usize {
        self.count(|quiet| !quiet.reachable)
    }
}

/// What a plan has found out about the clusters that it looked at.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Instances that seem to be quiet, in order of their clusters.
    pub quiet: Vec<(Name, Quiet)>,
    /// Clusters with something else to see to; they are not quiet, whatever they seem.
    pub loud: BTreeSet<Name>,
}

impl Heard {
    /// Notes what the plan does or waits for.
    pub(super) fn note(&mut self, plan: &Plan) {
        for action in &plan.actions {
            let object = action.object();
            let cluster = if object.kind == Kind::Cluster {
                &object.name
            } else {
                &object.namespace
            };
            self.note_loud(cluster);
        }
        for wait in &plan.waits {
            if let Some(cluster) = &wait.cluster {
                self.note_loud(cluster);
            }
        }
    }

    /// Notes that a cluster is not quiet.
    pub(super) fn note_loud(&mut self, cluster: &Name) {
        if !cluster.is_empty() && !self.loud.contains(cluster) {
            self.loud.insert(cluster.clone());
        }
    }
}
