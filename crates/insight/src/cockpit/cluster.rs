//! One cluster in the picture of a rollout.
//!
//! Decides which word stands for what the plan has decided about it.

use jiff::Timestamp;
use model::engine::{UnitState, Verdict};
use plan::{ClusterOutlook, Health};
use schemars::JsonSchema;
use serde::Serialize;

/// How far a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ClusterState {
    /// It failed.
    Failed,
    /// It took longer than it may.
    TimedOut,
    /// Only a human can change what keeps it from moving.
    Stalled,
    /// On its way.
    Moving,
    /// Successful, and must stay so for some time yet.
    Soaking,
    /// Something beside the rollout keeps it from moving.
    Held,
    /// It waits for its turn.
    Waiting,
    /// The add-on goes from it.
    Leaving,
    /// It keeps what it has because a user wants it so.
    Kept,
    /// It has what it should have.
    Done,
}

impl ClusterState {
    /// Returns it in words.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Stalled => "stalled",
            Self::Moving => "on the way",
            Self::Soaking => "soaking",
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Leaving => "leaving",
            Self::Kept => "kept",
            Self::Done => "done",
        }
    }

    /// Returns whether it is in the way of other clusters or needs an administrator.
    pub const fn is_trouble(self) -> bool {
        match self {
            Self::Failed | Self::TimedOut | Self::Stalled => true,
            Self::Moving
            | Self::Soaking
            | Self::Held
            | Self::Waiting
            | Self::Leaving
            | Self::Kept
            | Self::Done => false,
        }
    }
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterView {
    /// Its name.
    pub name: String,
    /// The wave in which it goes, by its position.
    pub wave: usize,
    /// How far it is.
    pub state: ClusterState,
    /// Why, in one word; "" when there is nothing to say.
    pub reason: String,
    /// The same in a sentence.
    pub message: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// When that ends by itself: a soak, or a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// How much of it is done, where the cluster tells: 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<i64>,
    /// The version that it runs, "" when it is not known.
    pub version: String,
    /// Whether its agent works, or there is nothing to say about that.
    pub healthy: bool,
    /// Whether the hub does not reach it.
    pub offline: bool,
}

/// Returns the word for what the plan has decided about a cluster.
pub(super) fn state(seen: &ClusterOutlook) -> ClusterState {
    let is_stuck = matches!(seen.health, Health::Stalled(_));
    match (seen.health, seen.verdict) {
        (Health::Leaving, _) => ClusterState::Leaving,
        (_, Verdict::Failed) => ClusterState::Failed,
        (_, Verdict::TimedOut) => ClusterState::TimedOut,
        (Health::Kept, _) => ClusterState::Kept,
        (_, Verdict::Soaking) => ClusterState::Soaking,
        // A cluster that waits for its turn waits for that first, whatever is the matter with what it has.
        (_, Verdict::Wait(_)) => ClusterState::Waiting,
        (_, Verdict::Start | Verdict::Going | Verdict::Skipped | Verdict::Held) if is_stuck => {
            ClusterState::Stalled
        }
        (_, Verdict::Start | Verdict::Going) => ClusterState::Moving,
        (_, Verdict::Skipped | Verdict::Held) => ClusterState::Held,
        (_, Verdict::Done) => ClusterState::Done,
    }
}

/// Returns since when a cluster is where it is.
pub(super) fn since(seen: &ClusterOutlook) -> Option<Timestamp> {
    let since = match seen.standing {
        UnitState::InFlight(since)
        | UnitState::Overtaken(since)
        | UnitState::Failed(since)
        | UnitState::Blocked(Some(since))
        | UnitState::Succeeded(since) => Some(since),
        UnitState::ToApply | UnitState::Skipped | UnitState::Held | UnitState::Blocked(None) => seen.since,
    };
    // The epoch stands for a time that was not recorded.
    since.filter(|since| *since != Timestamp::UNIX_EPOCH)
}

/// Clusters, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All of them.
    pub total: usize,
    /// They have what they should have.
    pub done: usize,
    /// On their way.
    pub moving: usize,
    /// Successful, and must stay so for some time yet.
    pub soaking: usize,
    /// They wait for their turn.
    pub waiting: usize,
    /// Something beside the rollout keeps them from moving.
    pub held: usize,
    /// They failed.
    pub failed: usize,
    /// They took longer than they may.
    pub timed_out: usize,
    /// The add-on goes from them.
    pub leaving: usize,
}

impl Counts {
    /// Counts one.
    pub(super) fn add(&mut self, state: ClusterState) {
        let slot = match state {
            ClusterState::Done | ClusterState::Kept => &mut self.done,
            ClusterState::Moving => &mut self.moving,
            ClusterState::Soaking => &mut self.soaking,
            ClusterState::Waiting => &mut self.waiting,
            ClusterState::Held | ClusterState::Stalled => &mut self.held,
            ClusterState::Failed => &mut self.failed,
            ClusterState::TimedOut => &mut self.timed_out,
            ClusterState::Leaving => &mut self.leaving,
        };
        *slot = slot.saturating_add(1);
        self.total = self.total.saturating_add(1);
    }

    /// Returns how many failed or took too long.
    pub const fn failures(&self) -> usize {
        self.failed.saturating_add(self.timed_out)
    }
}
