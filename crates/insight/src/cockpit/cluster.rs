//! One cluster in the picture of a rollout.
//!
//! Maps the states of the plan to the states of the picture.

use jiff::Timestamp;
use model::engine::{UnitState, Verdict};
use plan::{ClusterOutlook, Health};
use schemars::JsonSchema;
use serde::Serialize;

use super::health::is_done_unwell;

/// State of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum ClusterState {
    /// It failed.
    Failed,
    /// It exceeded progressDeadline.
    TimedOut,
    /// It is blocked until an administrator acts.
    Stalled,
    /// It is being updated.
    Moving,
    /// It has the new version and uses no slot; its post-upgrade action is running.
    Finishing,
    /// It is successful, and its soak time is not over.
    Soaking,
    /// It is blocked by something other than the rollout.
    Held,
    /// It is waiting for its update.
    Waiting,
    /// The add-on is being removed from it.
    Leaving,
    /// It intentionally keeps its configuration.
    Kept,
    /// It is up to date.
    Done,
}

impl ClusterState {
    /// Returns the state for people.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Stalled => "stalled",
            Self::Moving => "updating",
            Self::Finishing => "finishing",
            Self::Soaking => "soaking",
            Self::Held => "blocked",
            Self::Waiting => "waiting",
            Self::Leaving => "leaving",
            Self::Kept => "kept",
            Self::Done => "done",
        }
    }

    /// Returns whether it blocks other clusters or needs an administrator.
    pub const fn is_trouble(self) -> bool {
        match self {
            Self::Failed | Self::TimedOut | Self::Stalled => true,
            Self::Moving
            | Self::Finishing
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
    /// Position of its wave.
    pub wave: usize,
    /// State.
    pub state: ClusterState,
    /// Reason, or "".
    pub reason: String,
    /// Message of the reason.
    pub message: String,
    /// Time since which it is in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// End of its soak time, or its deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// Progress from 0 to 100, if the cluster reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<i64>,
    /// The version that it runs, or "".
    pub version: String,
    /// Whether its agent is healthy, or its health is not reported.
    pub healthy: bool,
    /// Whether it is not available to the hub.
    pub offline: bool,
}

impl ClusterView {
    /// Returns whether it waits for an agent that reports a problem, or has the new content and such an agent.
    pub(crate) fn has_agent_problem(&self) -> bool {
        let waits = matches!(self.state, ClusterState::Moving | ClusterState::TimedOut);
        !self.offline && (waits && !self.reason.is_empty() || is_done_unwell(self))
    }

    /// Returns whether the cluster is fine, and its state: the order in which clusters are listed.
    pub const fn attention(&self) -> (bool, ClusterState) {
        (self.healthy && !self.state.is_trouble(), self.state)
    }
}

/// Returns the state for the decision of the plan.
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

/// Returns since when a cluster is in its state; since when it is not ready, if its agent does not work.
pub(super) fn since(seen: &ClusterOutlook) -> Option<Timestamp> {
    let since = match seen.standing {
        _ if matches!(
            seen.health,
            Health::Unavailable | Health::Unreachable | Health::Stalled(_)
        ) =>
        {
            seen.since
        }
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

/// Numbers of clusters; each cluster is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All of them.
    pub total: usize,
    /// Up to date.
    pub done: usize,
    /// Being updated.
    pub moving: usize,
    /// They have the new version, and their post-upgrade action is running.
    pub finishing: usize,
    /// It is successful, and its soak time is not over.
    pub soaking: usize,
    /// Waiting for their update.
    pub waiting: usize,
    /// Blocked by something other than the rollout.
    pub held: usize,
    /// They failed.
    pub failed: usize,
    /// They exceeded progressDeadline.
    pub timed_out: usize,
    /// The add-on is being removed from them.
    pub leaving: usize,
}

impl Counts {
    /// Counts one.
    pub(super) fn add(&mut self, state: ClusterState) {
        let slot = match state {
            ClusterState::Done | ClusterState::Kept => &mut self.done,
            ClusterState::Moving => &mut self.moving,
            ClusterState::Finishing => &mut self.finishing,
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

    /// Returns how many failed or timed out.
    pub const fn failures(&self) -> usize {
        self.failed.saturating_add(self.timed_out)
    }
}
