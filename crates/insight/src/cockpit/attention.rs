//! The order in which rollouts need an administrator.
//!
//! Decides it from the phase and the health, for every page and every program.

use schemars::JsonSchema;
use serde::Serialize;

use super::health::HealthState;
use super::phase::Phase;

/// How soon a rollout needs an administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    /// Whether an administrator must act.
    pub group: AttentionGroup,
    /// Position in the order of attention: the smallest first.
    pub order: u8,
}

/// Whether an administrator must act on a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum AttentionGroup {
    /// It failed, stopped or is paused, waits for an approval, or is not healthy.
    NeedsAttention,
    /// It continues without an administrator.
    InProgress,
    /// Nothing is left to do.
    Complete,
}

impl Attention {
    /// Returns the attention that a rollout with this phase and health needs.
    pub const fn of(phase: Phase, health: HealthState) -> Self {
        let by_phase = match phase {
            Phase::Failed => 0,
            Phase::Stopped => 1,
            Phase::Unapproved => 2,
            Phase::Paused => 4,
            Phase::Progressing | Phase::Deleting => 5,
            Phase::Waiting => 6,
            Phase::Done | Phase::Empty | Phase::NotManaged => 7,
        };
        let by_health = match health {
            HealthState::Degraded => 3,
            HealthState::Suspended => 4,
            HealthState::Progressing => 5,
            HealthState::Unknown | HealthState::Healthy => 7,
        };
        let order = if by_phase < by_health { by_phase } else { by_health };
        let group = match order {
            0..=4 => AttentionGroup::NeedsAttention,
            5 | 6 => AttentionGroup::InProgress,
            _ => AttentionGroup::Complete,
        };
        Self { group, order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_come_first_and_healthy_rollouts_last() {
        let rows = [
            (Phase::Failed, HealthState::Degraded),
            (Phase::Stopped, HealthState::Degraded),
            (Phase::Unapproved, HealthState::Suspended),
            (Phase::Done, HealthState::Degraded),
            (Phase::Paused, HealthState::Suspended),
            (Phase::Progressing, HealthState::Progressing),
            (Phase::Waiting, HealthState::Unknown),
            (Phase::Done, HealthState::Healthy),
        ];
        let orders = rows.map(|(phase, health)| Attention::of(phase, health));
        assert!(orders.is_sorted(), "{orders:?}");
        let needs = orders.map(|one| one.group == AttentionGroup::NeedsAttention);
        assert_eq!(needs, [true, true, true, true, true, false, false, false]);
        assert_eq!(orders[7].group, AttentionGroup::Complete);
    }
}
