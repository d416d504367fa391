//! What goes wrong on a cluster while a change arrives there, and after it has arrived.
//!
//! Decides which reports are failures: a work that could not be applied, an agent that calls itself degraded, manifests
//! that could not be made, and an agent that is not available although its work is applied; the last one is for the
//! caller to be patient about. Never counts what was said about an earlier assignment.

use jiff::Timestamp;

use crate::conditions::assigned::is_open;
use crate::conditions::available::AVAILABLE;
use crate::conditions::manifest_applied::{HOSTING_MANIFEST_APPLIED, MANIFEST_APPLIED};
use crate::conditions::progressing::{apply_failure, carries};
use crate::work::deployed_works;
use api::names::conditions::DEGRADED;
use store::{Condition, Instance, Status, View, Work};

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A failure, since when, and the words of the condition that reports it.
    Failed(Timestamp, String),
    /// The agent is not available; this is ordinary while it starts.
    Unavailable(Timestamp, String),
}

impl Trouble {
    /// Returns since when.
    pub(super) fn since(&self) -> Timestamp {
        match self {
            Self::Failed(since, _) | Self::Unavailable(since, _) => *since,
        }
    }
}

/// What the conditions of an instance complain about.
#[derive(Default)]
struct Complaints<'a> {
    degraded: Option<&'a Condition>,
    manifests: Option<&'a Condition>,
    unavailable: Option<&'a Condition>,
}

impl<'a> Complaints<'a> {
    fn of(instance: &'a Instance) -> Self {
        let mut found = Self::default();
        let is_hosted = !instance.hosting_cluster.is_empty();
        for condition in &instance.conditions {
            match (&*condition.kind, condition.status) {
                (DEGRADED, Status::True) => found.degraded = Some(condition),
                (MANIFEST_APPLIED, Status::False) => found.manifests = Some(condition),
                (HOSTING_MANIFEST_APPLIED, Status::False) if is_hosted => found.manifests = Some(condition),
                (AVAILABLE, Status::False) => found.unavailable = Some(condition),
                _ => {}
            }
        }
        found
    }
}

/// Returns what goes wrong while an instance has not confirmed what it was assigned at `assigned`.
pub(super) fn under_way(
    view: &View<'_>,
    instance: &Instance,
    deployed: bool,
    assigned: Timestamp,
) -> Option<Trouble> {
    let works = || deployed_works(view, instance);
    let carried = |work: &&Work| carries(work, &instance.references);
    if let Some(work) = works().filter(|work| says(work, Status::False)).find(carried) {
        return Some(Trouble::Failed(assigned, apply_failure(work)));
    }
    let complaints = Complaints::of(instance);
    let is_new = |condition: &&Condition| condition.since().is_some_and(|since| since >= assigned);
    if let Some(condition) = complaints.manifests.filter(|_| !deployed).filter(is_new) {
        return Some(failed(condition, assigned));
    }
    if let Some(condition) = complaints.degraded.filter(is_new) {
        return Some(failed(condition, assigned));
    }
    let said = complaints.degraded.or(complaints.unavailable)?;
    // What was said before counts as soon as the agent runs with the new content, and still says so.
    let mut here = works().peekable();
    let is_applied = here.peek().is_some()
        && here.all(|work| says(work, Status::True) && carries(work, &instance.references));
    if !is_applied {
        return None;
    }
    Some(match complaints.degraded {
        Some(condition) => failed(condition, assigned),
        None => Trouble::Unavailable(began(said, assigned), words(said)),
    })
}

/// Returns what goes wrong after an instance has confirmed what it was assigned.
pub(super) fn after_success(instance: &Instance, deployed: bool) -> Option<Trouble> {
    let complaints = Complaints::of(instance);
    let epoch = Timestamp::UNIX_EPOCH;
    // Of who goes back to what was confirmed before, its works say so first: this program's own word is that of before.
    let is_old = deployed && is_open(instance);
    let failures = [complaints.degraded, complaints.manifests.filter(|_| !is_old)];
    let first = failures
        .into_iter()
        .flatten()
        .min_by_key(|condition| condition.since());
    first.map(|condition| failed(condition, epoch)).or_else(|| {
        let condition = complaints.unavailable?;
        Some(Trouble::Unavailable(began(condition, epoch), words(condition)))
    })
}

fn says(work: &Work, status: Status) -> bool {
    let signal = work.applied.as_ref();
    signal.is_some_and(|signal| signal.current && signal.status == status)
}

fn failed(condition: &Condition, assigned: Timestamp) -> Trouble {
    Trouble::Failed(began(condition, assigned), words(condition))
}

fn began(condition: &Condition, assigned: Timestamp) -> Timestamp {
    condition.since().map_or(assigned, |since| since.max(assigned))
}

fn words(condition: &Condition) -> String {
    let said = if condition.message.is_empty() {
        &condition.reason
    } else {
        &condition.message
    };
    match &*condition.kind {
        DEGRADED => format!("degraded: {said}"),
        AVAILABLE => format!("not available: {said}"),
        _ => said.to_string(),
    }
}
