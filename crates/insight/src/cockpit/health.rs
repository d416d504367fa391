//! The health of a rollout.
//!
//! Decides the word from `Ready`, `Reconciling` and `Stalled` as the controllers write them, and from the clusters of the picture:
//! the word is never better than these conditions, and never `Healthy` while a cluster is not.

use api::reason::{Class, Reason};
use schemars::JsonSchema;
use serde::Serialize;

use super::cluster::{ClusterState, ClusterView};
use super::line::Tone;
use super::phase::Phase;

/// Health; the values are those of Argo CD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum HealthState {
    /// `Ready` is True, and every cluster is ready.
    Healthy,
    /// It is progressing.
    Progressing,
    /// It is paused, or waits for an approval.
    Suspended,
    /// A placement, a cluster or the rollout needs an administrator, or a cluster is not available.
    Degraded,
    /// No controller reports it.
    #[default]
    Unknown,
}

impl HealthState {
    /// Returns its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Progressing => "Progressing",
            Self::Suspended => "Suspended",
            Self::Degraded => "Degraded",
            Self::Unknown => "Unknown",
        }
    }

    pub(super) const fn tone(self) -> Tone {
        match self {
            Self::Healthy => Tone::Good,
            Self::Progressing => Tone::Moving,
            Self::Suspended => Tone::Soaking,
            Self::Degraded => Tone::Bad,
            Self::Unknown => Tone::Faint,
        }
    }
}

/// Health of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutHealth {
    /// Health state.
    pub state: HealthState,
    /// The reason of the condition that decides it; `ClustersUnhealthy` where only clusters do.
    pub reason: String,
    /// The message of that condition.
    pub message: String,
    /// Whether `Stalled` is True: nothing changes until an administrator acts.
    pub stalled: bool,
    /// How many clusters failed, are stalled, or have an agent that does not work.
    pub unhealthy: usize,
    /// Number of clusters that are not available.
    pub offline: usize,
}

/// A condition as the picture needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated<'a> {
    pub(super) kind: &'a str,
    pub(super) is_true: bool,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

/// The three conditions that sum a rollout up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SummaryConditions<'a> {
    ready: Option<Stated<'a>>,
    reconciling: Option<Stated<'a>>,
    stalled: Option<Stated<'a>>,
}

impl<'a> SummaryConditions<'a> {
    pub(super) fn of(all: impl Iterator<Item = Stated<'a>>) -> Self {
        let mut found = Self::default();
        for one in all {
            match one.kind {
                "Ready" => found.ready = Some(one),
                "Reconciling" => found.reconciling = Some(one),
                "Stalled" => found.stalled = Some(one),
                _ => {}
            }
        }
        found
    }

    /// Returns `Stalled` where it is True.
    pub(super) fn stalled(&self) -> Option<Stated<'a>> {
        self.stalled.filter(|one| one.is_true)
    }

    /// Returns `Reconciling` where it is True.
    pub(super) fn reconciling(&self) -> Option<Stated<'a>> {
        self.reconciling.filter(|one| one.is_true)
    }

    /// Returns how well a rollout with these conditions and clusters runs.
    pub(super) fn health(&self, clusters: &[ClusterView]) -> RolloutHealth {
        let offline = clusters.iter().filter(|one| is_offline(one)).count();
        let unhealthy = clusters.iter().filter(|one| is_unhealthy(one)).count();
        let is_well = unhealthy == 0 && offline == 0;
        let (state, told) = match (self.stalled(), self.reconciling(), self.ready) {
            (Some(stalled), _, _) => (HealthState::Degraded, Some(stalled)),
            (None, Some(waits), ready) if !is_well => (HealthState::Degraded, ready.or(Some(waits))),
            (None, Some(waits), _) if Reason::word_is(waits.reason, Class::Suspended) => {
                (HealthState::Suspended, Some(waits))
            }
            (None, Some(waits), _) => (HealthState::Progressing, Some(waits)),
            (None, None, Some(ready)) if ready.is_true && is_well && clusters.iter().any(is_underway) => {
                (HealthState::Progressing, Some(ready))
            }
            (None, None, Some(ready)) if ready.is_true && is_well => (HealthState::Healthy, Some(ready)),
            (None, None, Some(ready)) => (HealthState::Degraded, Some(ready)),
            (None, None, None) => (HealthState::Unknown, None),
        };
        // A condition that is True does not name what is wrong with single clusters.
        let is_silent =
            state == HealthState::Degraded && told.is_some_and(|one| one.kind == "Ready" && one.is_true);
        RolloutHealth {
            state,
            reason: if is_silent {
                "ClustersUnhealthy".to_owned()
            } else {
                told.map_or_else(String::new, |one| one.reason.to_owned())
            },
            message: told.map_or_else(String::new, |one| one.message.to_owned()),
            stalled: self.stalled().is_some(),
            unhealthy,
            offline,
        }
    }
}

/// Returns whether the rollout is not over on a cluster.
fn is_underway(cluster: &ClusterView) -> bool {
    matches!(
        cluster.state,
        ClusterState::Moving | ClusterState::Finishing | ClusterState::Soaking
    )
}

/// Returns whether a cluster is not reachable, and nothing else is known to be wrong with it.
fn is_offline(cluster: &ClusterView) -> bool {
    !cluster.state.is_trouble() && !cluster.healthy && cluster.offline
}

/// Returns whether a cluster failed or is stalled, or its agent is not healthy.
fn is_unhealthy(cluster: &ClusterView) -> bool {
    cluster.state.is_trouble() || (!cluster.healthy && !cluster.offline)
}

impl RolloutHealth {
    /// Returns it for a rollout in this phase: clusters on which the add-on is being installed have no conditions yet.
    pub(super) fn in_phase(self, phase: Phase) -> Self {
        let state = match (self.state, phase) {
            (HealthState::Healthy, Phase::Progressing) => HealthState::Progressing,
            (state, _) => state,
        };
        Self { state, ..self }
    }

    /// Returns that no controller sums the rollout up.
    pub(super) fn unknown(reason: &str, message: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..Self::default()
        }
    }

    /// Returns it in a line: `Degraded (PlacementNotFound): placement default/all does not exist`.
    pub(super) fn told(&self) -> String {
        let word = self.state.word();
        let is_worth_a_word = matches!(self.state, HealthState::Degraded | HealthState::Unknown);
        match (self.reason.as_str(), self.message.as_str()) {
            (_, message) if message.is_empty() || !is_worth_a_word => word.to_owned(),
            ("", message) => format!("{word}: {message}"),
            (reason, message) => format!("{word} ({reason}): {message}"),
        }
    }
}

fn is_well(cluster: &ClusterView) -> bool {
    cluster.healthy && !cluster.state.is_trouble()
}

/// Returns whether a cluster has what it should have and is not well.
pub(super) fn is_done_unwell(cluster: &ClusterView) -> bool {
    matches!(
        cluster.state,
        ClusterState::Done | ClusterState::Kept | ClusterState::Soaking
    ) && !is_well(cluster)
}
