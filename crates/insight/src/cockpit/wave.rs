//! One wave in the picture of a rollout: clusters that go together.
//!
//! Holds its shape, and decides how its batches are counted.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::approval::WaveApproval;
use super::cluster::Counts;

/// How far a wave is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum WaveState {
    /// All of its clusters are done.
    Done,
    /// Its clusters move.
    Open,
    /// It waits for waves before it.
    Waiting,
    /// Too many clusters have failed.
    Stopped,
    /// A user has paused it.
    Paused,
    /// A user has to approve of the change before it goes on.
    Unapproved,
}

/// Clusters that go together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// What it is called: a decision group, or what all of it has in common.
    pub name: String,
    /// The placement, as `namespace/name`; "" where none gives the clusters.
    pub placement: String,
    /// Whether it goes first and tolerates no failure.
    pub mandatory: bool,
    /// How far it is.
    pub state: WaveState,
    /// Its clusters, counted.
    pub counts: Counts,
    /// How many may move at once; absent where all may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// How many batches that makes, and which one goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches: Option<Batches>,
    /// How many may fail; absent where failures stop nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerated: Option<usize>,
    /// How many of those count against it: of all waves where they share a budget.
    pub failures: usize,
    /// How long a cluster must stay successful, in seconds.
    pub soak_seconds: u64,
    /// How long a cluster may take, in seconds; absent where it may take indefinitely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<u64>,
    /// How it stands with its approval; absent where none is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<WaveApproval>,
    /// The clusters that it waits for, the first of them by name; "" while it waits for none.
    pub waits_for: String,
    /// When the next of its clusters gets on by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub next_at: Option<Timestamp>,
}

/// Batches of a wave of which only so many clusters may move at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Batches {
    /// The one that goes: 1 is the first.
    pub current: usize,
    /// How many there are, if no cluster fails.
    pub total: usize,
}

impl Batches {
    /// Returns the batches of so many clusters.
    pub(super) fn of(limit: Option<usize>, counts: &Counts) -> Option<Self> {
        let limit = limit.filter(|limit| *limit > 0 && *limit < counts.total)?;
        let total = counts.total.div_ceil(limit);
        let ended = counts.done.saturating_add(counts.failures());
        let over = ended.checked_div(limit).unwrap_or_default();
        Some(Self {
            current: over.saturating_add(1).min(total),
            total,
        })
    }
}
