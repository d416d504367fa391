//! How far one instance is, for the engine.
//!
//! Decides what counts as failed: what `health.rs` calls a failure, and an agent that stays unavailable for longer than a
//! start takes. What was successful for as long as it had to be stays so, whatever happens to it later. Where only the deadline
//! is a failure, nothing but the clock counts.

use std::time::Duration;

use jiff::Timestamp;

use super::health::{Trouble, after_success, under_way};
use crate::conditions::assigned::{assigned_at, confirmed_at, is_open};
use crate::conditions::progressing::{PROGRESSING, is_confirmed};
use ::model::engine::{UnitState, end, is_promoted};
use api::reason::{Class, Reason};
use store::{Failures, Instance, Reference, View};

/// How long an instance must stay successful.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Soak {
    pub length: Duration,
    /// An instance that had succeeded before this need not stay so any longer.
    pub promoted: Option<Timestamp>,
}

impl Soak {
    /// Returns whether the soak of who succeeded then was over when something began.
    fn is_over(&self, since: Timestamp, began: Timestamp, now: Timestamp) -> bool {
        let is_promoted = is_promoted(self.promoted, since, now);
        let has_passed = end(since, self.length).is_some_and(|end| began >= end);
        has_passed || (is_promoted && self.promoted.is_some_and(|at| began > at))
    }

    /// Returns how long an instance that succeeded then must stay so: no longer at all once it is promoted.
    pub(super) fn of(&self, since: Timestamp, now: Timestamp) -> Duration {
        if is_promoted(self.promoted, since, now) {
            return Duration::ZERO;
        }
        self.length
    }
}

/// How far an instance is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnitStanding {
    /// Its standing.
    pub standing: UnitState,
    /// The failure, in the words of the condition that reports it.
    pub failure: Option<String>,
    /// When unavailability becomes a failure.
    pub recheck_at: Option<Timestamp>,
}

impl UnitStanding {
    pub(super) fn at(standing: UnitState) -> Self {
        Self {
            standing,
            failure: None,
            recheck_at: None,
        }
    }
}

/// Returns how far an instance is that has everything it is assigned.
pub(super) fn seen(
    view: &View<'_>,
    instance: &Instance,
    deployed: bool,
    soak: &Soak,
    now: Timestamp,
) -> UnitStanding {
    let startup = view.settings().startup;
    let only_late = view.settings().failures == Failures::Deadline;
    if !instance.references.iter().all(Reference::is_applied) || is_unheard(view, instance, deployed) {
        let since = assigned_at(instance, now);
        if only_late {
            return UnitStanding::at(UnitState::InFlight(since));
        }
        return match under_way(view, instance, deployed, since) {
            // What the last plan found out by making the manifests stands there; this one has yet to make them.
            None if has_failed(instance) => UnitStanding::at(UnitState::Failed(since)),
            None => UnitStanding::at(UnitState::InFlight(since)),
            Some(trouble) => judged(trouble, since, startup, now),
        };
    }
    let since = confirmed_at(instance);
    let Some(trouble) = after_success(instance, deployed).filter(|_| !only_late) else {
        return UnitStanding::at(UnitState::Succeeded(since));
    };
    let began = trouble.since();
    if began > since && soak.is_over(since, began, now) {
        return UnitStanding::at(UnitState::Succeeded(since));
    }
    // A deadline that the success has met must not hit the trouble after it.
    judged(trouble, began.max(since), startup, now)
}

/// Whether an instance went back to what it had confirmed, and its agent has not yet said so of the present works.
fn is_unheard(view: &View<'_>, instance: &Instance, deployed: bool) -> bool {
    is_open(instance) && !is_confirmed(view, instance, deployed)
}

fn has_failed(instance: &Instance) -> bool {
    let progressing = instance.condition(PROGRESSING);
    progressing.is_some_and(|condition| Reason::word_is(&condition.reason, Class::Failed))
}

fn judged(trouble: Trouble, since: Timestamp, startup: Duration, now: Timestamp) -> UnitStanding {
    match trouble {
        Trouble::Failed(_, words) => UnitStanding {
            failure: Some(words),
            ..UnitStanding::at(UnitState::Failed(since))
        },
        Trouble::Unavailable(began, words) => {
            let recheck_at = end(began.max(since), startup);
            if recheck_at.is_some_and(|end| now >= end) {
                return UnitStanding {
                    failure: Some(words),
                    ..UnitStanding::at(UnitState::Failed(since))
                };
            }
            UnitStanding {
                recheck_at,
                ..UnitStanding::at(UnitState::InFlight(since))
            }
        }
    }
}
