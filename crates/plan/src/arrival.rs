//! How long what is merely not there yet counts as on its way.
//!
//! Decides when an absence becomes a matter for humans. Delivery tools apply one object after the other and give up at the first
//! `Stalled`, so an absence is told as `Reconciling` for `Settings::arrival_grace`, counted from the moment at which it was seen:
//! that is the time of the condition. A new generation is something new to wait for. Never decides what is absent.

use jiff::{SignedDuration, Timestamp};

use super::conditions::Wish;
use store::{Condition, Settings, Status};

/// Reasons that an object ends which is yet to come, or an answer of the hub.
const ABSENCES: [&str; 6] = [
    "ConfigurationKindNotServed",
    "ConfigurationNotFound",
    "InvalidVersion",
    "PlacementNotFound",
    "ReadFailed",
    // A role that is bound comes with the template, or after it.
    "SetPermissionFailed",
];

/// An absence that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Since when.
    since: Timestamp,
    /// When a human has to act.
    pub(super) until: Timestamp,
}

impl Arrival {
    /// Returns the wait for what `reason` says is absent; nothing when it is no absence, or has been waited for.
    pub(super) fn of(
        reason: &str,
        (conditions, generation): (&[Condition], i64),
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Self> {
        let stated = |kind: &str| {
            let mut true_ones = conditions.iter().filter(|one| one.status == Status::True);
            true_ones.find(|one| {
                *one.kind == *kind && is_absence(&one.reason) && one.generation() == Some(generation)
            })
        };
        if !is_absence(reason) || stated("Stalled").is_some() {
            return None;
        }
        let since = stated("Reconciling").and_then(Condition::since).unwrap_or(now);
        let grace = SignedDuration::try_from(settings.arrival_grace).unwrap_or(SignedDuration::MAX);
        let until = since.checked_add(grace).unwrap_or(Timestamp::MAX);
        (now < until).then_some(Self { since, until })
    }

    /// Returns the condition that says so.
    pub(super) fn wish<'a>(self, reason: &'static str, message: &'a str) -> Wish<'a> {
        Wish::new("Reconciling", Status::True, reason, message).since(self.since)
    }
}

fn is_absence(reason: &str) -> bool {
    ABSENCES.contains(&reason)
}
