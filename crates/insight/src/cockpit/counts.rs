//! Clusters, counted by how far they are.
//!
//! Decides which states are one number.

use schemars::JsonSchema;
use serde::Serialize;

use super::cluster::ClusterState;

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
