//! The record of the assignment: condition `Assigned`, written in the same status as the references.
//!
//! Decides since when an instance is assigned what it is assigned. Its time moves with every assignment, although its
//! status stays True: deadlines and soak times count from it.

use jiff::Timestamp;

use super::members::{Member, Step};
use crate::plan::conditions::Wish;
use crate::plan::judge::PROGRESSING;
use crate::snapshot::{Instance, Reference, Status};

const ASSIGNED: &str = "Assigned";
/// So many references are named, and so much of each hash.
const NAMED: usize = 8;
const SHORT: usize = 8;

/// Returns what `Assigned` should say; `None` leaves what stands there.
pub(in crate::plan) fn assigned<'a>(member: &Member<'_>, now: Timestamp) -> Option<Wish<'a>> {
    let since = match member.step {
        Step::Move => now,
        // Another program assigned it, or a version of this one that did not keep a record.
        Step::Settled if member.instance.condition(ASSIGNED).is_none() => {
            let is_open = member.assigned.iter().any(|reference| !reference.is_applied());
            is_open.then(|| assigned_at(member.instance, now))?
        }
        Step::Settled | Step::Hold => return None,
    };
    let wish = Wish::new(
        ASSIGNED,
        Status::True,
        "ConfigurationsAssigned",
        message(&member.assigned),
    );
    Some(wish.since(since))
}

/// Returns since when an instance is assigned what it is assigned.
pub(super) fn assigned_at(instance: &Instance, now: Timestamp) -> Timestamp {
    let recorded = instance.condition(ASSIGNED).and_then(|condition| condition.since);
    let running = || {
        let progressing = instance.condition(PROGRESSING)?;
        progressing.since.filter(|_| progressing.status == Status::True)
    };
    recorded.or_else(running).unwrap_or(now)
}

/// Returns since when the agent has confirmed what is assigned, as far as anybody recorded it.
pub(super) fn confirmed_at(instance: &Instance) -> Timestamp {
    let since = |kind: &str| instance.condition(kind).and_then(|condition| condition.since);
    let latest = since(ASSIGNED).max(since(PROGRESSING));
    latest.unwrap_or(Timestamp::UNIX_EPOCH)
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
    format!("{} {}{slash}{} {hash}", config.of.resource, config.namespace, config.name)
}
