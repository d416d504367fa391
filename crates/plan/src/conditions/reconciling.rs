//! How long an object that does not exist yet may still be created.
//!
//! Delivery tools apply one object after the other and stop at the first `Stalled` object, so an absence is reported as `Reconciling`
//! for `Settings::arrival_grace` and then as `Stalled`. The time counts from the condition that reported the absence first; a new
//! generation starts it again.

use jiff::{SignedDuration, Timestamp};

use super::Wish;
use api::reason::{Class, Reason};
use store::{Condition, Settings, Status};

/// An absence that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Since when.
    since: Timestamp,
    /// When a user has to act.
    pub(crate) until: Timestamp,
}

impl Arrival {
    /// Returns the wait for what `reason` says is absent; nothing when it is no absence, or has been waited for.
    pub(crate) fn of(
        reason: Reason,
        conditions: &[Condition],
        generation: i64,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Self> {
        let stated = |kind: &str| {
            let mut true_ones = conditions.iter().filter(|one| one.status == Status::True);
            true_ones.find(|one| {
                *one.kind == *kind
                    && Reason::word_is(&one.reason, Class::Absence)
                    && one.generation() == Some(generation)
            })
        };
        if !reason.is(Class::Absence) || stated("Stalled").is_some() {
            return None;
        }
        let since = stated("Reconciling").and_then(Condition::since).unwrap_or(now);
        let grace = SignedDuration::try_from(settings.arrival_grace).unwrap_or(SignedDuration::MAX);
        let until = since.checked_add(grace).unwrap_or(Timestamp::MAX);
        (now < until).then_some(Self { since, until })
    }

    /// Returns the condition that says so.
    pub(crate) fn wish(self, reason: Reason, message: &str) -> Wish<'_> {
        Wish::new("Reconciling", Status::True, reason, message).since(self.since)
    }
}
