//! What an upgrade says to tools that know no upgrades: `Ready`, `Reconciling` and `Stalled`, as for everything that Tidegate
//! drives.
//!
//! Decides these three, behind the conditions of the proposal. Never green while a cluster is wanted that is not there.

use crate::upgrade::blocked::{Blocked, causes};
use crate::upgrade::pace::Hold;
use crate::upgrade::record::State;
use crate::upgrade::told::{Records, Row, row};
use api::reason::Reason;

/// What the whole upgrade is in one word, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    /// The word of `status.phase`.
    pub(crate) phase: Reason,
    /// What holds every cluster.
    pub(crate) closed: Option<Hold>,
    /// What the hub says when the upgrade itself cannot be written.
    pub(crate) refusal: Option<&'a str>,
    /// Why it does not go on, beside that.
    pub(crate) blocked: Option<&'a Blocked>,
}

impl Whole<'_> {
    /// One that has no meaning.
    pub(crate) const HALTED: Self = Self {
        phase: Reason::Halted,
        closed: None,
        refusal: None,
        blocked: None,
    };
}

/// Returns the three conditions.
pub(crate) fn rows(records: &Records<'_>, whole: Whole<'_>) -> [Row; 3] {
    let is_done = whole.phase == Reason::Complete;
    let is_blocked = whole.blocked.is_some_and(Blocked::is_stalled);
    let is_stalled =
        is_blocked || matches!(whole.phase, Reason::Halted | Reason::Failed) || whole.refusal.is_some();
    let message = message(records, whole);
    let reason = whole.blocked.map_or(whole.phase, Blocked::reason);
    let stalled = if is_stalled { reason } else { Reason::NotStalled };
    [
        row("Ready", is_done, reason, message.clone()),
        row("Reconciling", !is_done && !is_stalled, reason, message.clone()),
        row(
            "Stalled",
            is_stalled,
            stalled,
            if is_stalled { message } else { String::new() },
        ),
    ]
}

fn message(records: &Records<'_>, whole: Whole<'_>) -> String {
    let count = |state: State| records.values().filter(|record| record.state == state).count();
    let (total, done, failed) = (records.len(), count(State::Complete), count(State::Failed));
    let underway = count(State::Initialized).saturating_add(count(State::Partial));
    let mut parts: Vec<String> = Vec::new();
    parts.extend(whole.blocked.map(|blocked| blocked.message().to_owned()));
    parts.push(format!("{done} of {total} clusters are upgraded"));
    if underway > 0 {
        parts.push(format!("{underway} upgrade"));
    }
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    parts.extend(
        whole
            .closed
            .map(|hold| format!("nothing new starts: {}", hold.sentence())),
    );
    parts.extend(causes(records));
    let refused = records
        .iter()
        .find(|(_, record)| record.reason == Some(Reason::WorkRefused));
    parts.extend(
        refused.map(|(name, record)| format!("the hub takes no work for {name}: {}", record.message)),
    );
    parts.extend(
        whole
            .refusal
            .map(|why| format!("the hub takes no change of the upgrade: {why}")),
    );
    parts.join("; ")
}
