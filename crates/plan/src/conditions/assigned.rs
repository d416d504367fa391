//! The record of the assignment: condition `Assigned`, written in the same status as the references.
//!
//! Decides from when deadlines and soak times count. The condition is always True, and its time moves all the same: to
//! the assignment, then to the moment at which the agent confirmed it, and to the end of a failure within the soak.

use jiff::{SignedDuration, Timestamp};

use super::Wish;
use super::progressing::PROGRESSING;
use super::state::State;
use crate::rollout::{Member, Step};
use ::model::engine::end;
use api::reason::{Class, Reason};
use store::terms::{ASSIGNED, MERGED};
use store::{Condition, Instance, Layering, Reference, Status};

/// So far ahead may the clock of another leader have been.
const AHEAD: SignedDuration = SignedDuration::from_secs(5);
/// So many references are named, and so much of each hash.
const NAMED: usize = 8;
const SHORT: usize = 8;

/// Returns what `Assigned` should say; `None` leaves what stands there.
pub(crate) fn assigned<'a>(member: &Member<'_>, state: &State, now: Timestamp) -> Option<Wish<'a>> {
    let recorded = member.instance.condition(ASSIGNED);
    if let Some(known) = recorded.filter(|known| is_ahead(known, now) && member.step != Step::Move) {
        return Some(again(known, now));
    }
    let reason = if state.is_done() {
        Reason::ConfigurationsConfirmed
    } else {
        Reason::ConfigurationsAssigned
    };
    let since = match (member.step, recorded) {
        (Step::Move, _) => now,
        (Step::Hold, _) => return None,
        (Step::Settled, Some(known)) if state.is_done() => {
            let is_new = *known.reason != Reason::ConfigurationsConfirmed || ends_trouble(member, now);
            is_new.then_some(now)?
        }
        // A program that knows the kind of a configuration may have noted another hash.
        (Step::Settled, Some(known)) => (*known.message != *message(&member.assigned)).then_some(now)?,
        // Another program assigned it, or a version of this one that kept no record.
        (Step::Settled, None) => {
            let is_open = member.assigned.iter().any(|reference| !reference.is_applied());
            is_open.then(|| assigned_at(member.instance, now))?
        }
    };
    let wish = Wish::new(ASSIGNED, Status::True, reason, message(&member.assigned));
    Some(wish.since(since))
}

/// Returns how the deployment configurations of what is assigned count, where that is not that the first alone does.
pub(crate) fn counting<'a>(member: &Member<'_>) -> Option<Wish<'a>> {
    let message = "works are made from every AddOnDeploymentConfig in status.configReferences, each for what those before it leave open";
    let wish = || Wish::new(MERGED, Status::True, Reason::LayersMerged, message);
    (member.layering == Layering::Merge).then(wish)
}

/// A time that lies ahead was written by a clock that was wrong; deadlines and soak times would wait for
/// it, for years if need be.
fn is_ahead(recorded: &Condition, now: Timestamp) -> bool {
    let since = recorded.since();
    since.is_some_and(|since| since.duration_since(now) > AHEAD)
}

/// The record, as if it were made now.
fn again<'a>(recorded: &Condition, now: Timestamp) -> Wish<'a> {
    let reason = if *recorded.reason == Reason::ConfigurationsConfirmed {
        Reason::ConfigurationsConfirmed
    } else {
        Reason::ConfigurationsAssigned
    };
    Wish::new(ASSIGNED, Status::True, reason, recorded.message.to_string()).since(now)
}

/// Returns whether a success ends a trouble that began before the soak was over.
fn ends_trouble(member: &Member<'_>, now: Timestamp) -> bool {
    let Some(before) = member.instance.condition(PROGRESSING) else {
        return false;
    };
    let soaked = end(confirmed_at(member.instance), member.soak);
    let is_early = || soaked.is_none_or(|end| before.since().is_none_or(|since| since < end));
    Reason::word_is(&before.reason, Class::Failed)
        || (before.status == Status::True && now > confirmed_at(member.instance) && is_early())
}

/// Returns whether the agent has yet to confirm what was assigned last. That the hashes say so is not enough: what goes back to
/// the configuration that was confirmed before the last one may run with either.
pub(crate) fn is_open(instance: &Instance) -> bool {
    let recorded = instance.condition(ASSIGNED);
    recorded.is_some_and(|recorded| *recorded.reason == Reason::ConfigurationsAssigned)
}

/// Returns since when an instance is assigned what it is assigned.
pub(crate) fn assigned_at(instance: &Instance, now: Timestamp) -> Timestamp {
    let recorded = instance.condition(ASSIGNED).and_then(Condition::since);
    let running = || {
        let progressing = instance.condition(PROGRESSING)?;
        progressing.since().filter(|_| progressing.status == Status::True)
    };
    recorded.or_else(running).unwrap_or(now)
}

/// Returns since when the agent has confirmed what is assigned, as far as a condition records it.
pub(crate) fn confirmed_at(instance: &Instance) -> Timestamp {
    let since = |kind: &str| instance.condition(kind).and_then(Condition::since);
    since(ASSIGNED)
        .or_else(|| since(PROGRESSING))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

fn message(assigned: &[Reference]) -> String {
    let mut words: Vec<String> = assigned.iter().take(NAMED).map(word).collect();
    let others = assigned.len().saturating_sub(NAMED);
    if others > 0 {
        words.push(format!("and {others} more"));
    }
    words.join(", ")
}

fn word(reference: &Reference) -> String {
    let config = &reference.config;
    let slash = if config.namespace.is_empty() { "" } else { "/" };
    let hash = reference.desired.get(..SHORT).unwrap_or(&reference.desired);
    let hash = if hash.is_empty() { "unknown" } else { hash };
    format!(
        "{} {}{slash}{} {hash}",
        config.of.resource, config.namespace, config.name
    )
}
