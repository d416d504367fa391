//! One wave in the picture of a rollout: clusters that are updated together.
//!
//! The types, and the computation of batches.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::approval::WaveApproval;
use super::cluster::Counts;

/// State of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum WaveState {
    /// All of its clusters are done.
    Done,
    /// Its clusters are being updated.
    Open,
    /// It waits for waves before it.
    Waiting,
    /// Too many clusters have failed, or the change was rejected or rolled back.
    Stopped,
    /// It is paused.
    Paused,
    /// It is waiting for approval.
    Unapproved,
}

/// Clusters that are updated together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// Name: a decision group, or a description of the clusters.
    pub name: String,
    /// The placement, as `namespace/name`; "" if the clusters are not selected by a placement.
    pub placement: String,
    /// Whether it is a mandatory group: it is updated first and tolerates no failure.
    pub mandatory: bool,
    /// State.
    pub state: WaveState,
    /// Numbers of clusters by state.
    pub counts: Counts,
    /// Maximum number of clusters that are updated at the same time; absent if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The number of batches, and the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches: Option<Batches>,
    /// Maximum number of failures; absent if failures do not stop the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerated: Option<usize>,
    /// Number of failures that count; for all waves if they share the limit.
    pub failures: usize,
    /// How long a cluster must stay successful, in seconds.
    pub soak_seconds: u64,
    /// Deadline of a cluster in seconds; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<u64>,
    /// State of its approval; absent if none is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<WaveApproval>,
    /// Names of the first clusters that it waits for, or "".
    pub waits_for: String,
    /// When its next cluster continues without an action.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub next_at: Option<Timestamp>,
    /// Estimated end, if it can be computed; absent if the wave is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<WaveEta>,
}

/// The estimated end of a wave, with the same basis as that of the rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaveEta {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Whether it is a lower bound, because no update was observed.
    pub at_least: bool,
}

impl WaveEta {
    /// Returns the end of a wave whose clusters end after these durations; `None` if one of them is unknown, or if nothing is known but
    /// that it is not over.
    pub(super) fn of(
        ends: impl Iterator<Item = Option<Duration>>,
        at_least: bool,
        now: Timestamp,
    ) -> Option<Self> {
        let last = ends.collect::<Option<Vec<Duration>>>()?.into_iter().max()?;
        if at_least && last.is_zero() {
            return None;
        }
        let at = now.checked_add(SignedDuration::try_from(last).ok()?).ok()?;
        Some(Self { at, at_least })
    }
}

/// Batches of a wave with a limit of clusters that are updated at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Batches {
    /// The current batch; 1 is the first.
    pub current: usize,
    /// Number of batches, if no cluster fails.
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
