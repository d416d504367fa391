//! What a cluster says that keeps what it has.
//!
//! Decides the words. They depend on the strategy and on what is waited for, never on how far other clusters are: ten
//! thousand waiting statuses must not change whenever one cluster gets ahead.

use std::time::Duration;

use jiff::SignedDuration;

use super::engine::{Course, Hold, Rest};
use crate::snapshot::{Name, terms};

/// Whom a notice is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum Attention {
    /// A human has to act.
    Act,
    /// It only takes time, or the end of a pause.
    Wait,
    /// It is meant to be so.
    Meant,
}

/// Why a cluster keeps what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) struct Notice {
    /// Reason of `Configured`.
    pub reason: &'static str,
    /// Message of `Configured`.
    pub message: Name,
    /// The same in the plan, which may be more precise: nobody stores it.
    pub wait: Name,
    /// Whom it is for.
    pub attention: Attention,
}

impl Notice {
    fn new(reason: &'static str, attention: Attention, message: String) -> Self {
        let message = Name::from(message);
        Self {
            reason,
            wait: Name::from(&*message),
            message,
            attention,
        }
    }

    /// The strategy of `what` has no meaning.
    pub(super) fn fault(what: &str, fault: &str) -> Self {
        let message =
            format!("the rollout strategy of {what} has no meaning, the cluster keeps what it has: {fault}");
        Self::new("RolloutStrategyInvalid", Attention::Act, message)
    }

    /// Nobody knows the decision groups of the placement.
    pub(super) fn undecided(what: &str) -> Self {
        let message = format!("{what} is not decided: nobody knows whose turn it is");
        Self::new("PlacementNotDecided", Attention::Wait, message)
    }

    /// The change is only for the clusters of `what`.
    pub(super) fn outside(what: &str) -> Self {
        let message = format!(
            "changes of spec.configuration only reach the clusters of {what}; this one keeps what it has"
        );
        Self::new("OutsideRollout", Attention::Meant, message)
    }

    /// The cluster is not there.
    pub(super) fn gone() -> Self {
        let message = "the ManagedCluster does not exist or is being deleted".to_owned();
        Self::new("ClusterNotFound", Attention::Wait, message)
    }

    /// What the engine has the clusters of `what` wait for.
    pub(super) fn waiting(what: &str, course: &Course, hold: Hold) -> Self {
        let wait = |reason, message| Self::new(reason, Attention::Wait, message);
        match hold {
            Hold::Paused => wait(
                "RolloutPaused",
                format!(
                    "the rollout of {what} is paused by the annotation {}",
                    terms::PAUSED
                ),
            ),
            Hold::Failures => wait(
                "TooManyFailures",
                format!("the rollout of {what} has stopped: more clusters failed than it tolerates"),
            ),
            Hold::Group => wait(
                "WaitingForGroup",
                format!(
                    "waits for decision groups of {what} that go first{}",
                    soaking(course)
                ),
            ),
            Hold::Slot => wait("WaitingForSlot", slot(what, course)),
            Hold::Soak => Self {
                wait: Name::from(format!(
                    "waits for a slot in the rollout of {what}: clusters that have succeeded keep it for {}",
                    length(course.soak)
                )),
                ..wait("WaitingForSlot", slot(what, course))
            },
        }
    }
}

fn slot(what: &str, course: &Course) -> String {
    let limited = match course.rest {
        Rest::Within(_) => "only so many clusters change at once",
        Rest::GroupByGroup => "its group is not open",
    };
    format!(
        "waits for a slot in the rollout of {what}: {limited}{}",
        soaking(course)
    )
}

fn soaking(course: &Course) -> String {
    if course.soak.is_zero() {
        return String::new();
    }
    format!(", and each must stay successful for {}", length(course.soak))
}

fn length(length: Duration) -> String {
    SignedDuration::try_from(length).map_or_else(|_| "ever".to_owned(), |length| format!("{length:#}"))
}
