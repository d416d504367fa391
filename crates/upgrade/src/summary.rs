//! What an upgrade says to tools that know no upgrades: `Ready`, `Reconciling` and `Stalled`, as for everything that Tidegate
//! drives.
//!
//! Decides these three, behind the conditions of the proposal. Never green while a cluster is wanted that is not there.

use crate::pace::Hold;
use crate::record::State;
use crate::told::{Records, Row, row};

/// What the whole upgrade is in one word, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    /// The word of `status.phase`.
    pub(crate) phase: &'static str,
    /// What holds every cluster.
    pub(crate) closed: Option<Hold>,
    /// What the hub says when the upgrade itself cannot be written.
    pub(crate) refusal: Option<&'a str>,
}

impl Whole<'_> {
    /// One that has no meaning.
    pub(crate) const HALTED: Self = Self {
        phase: "Halted",
        closed: None,
        refusal: None,
    };
}

/// Returns the three conditions.
pub(crate) fn rows(records: &Records<'_>, whole: Whole<'_>) -> [Row; 3] {
    let is_done = whole.phase == "Complete";
    let is_stalled = matches!(whole.phase, "Halted" | "Failed") || whole.refusal.is_some();
    let message = message(records, whole);
    let stalled = if is_stalled { whole.phase } else { "NotStalled" };
    [
        row("Ready", is_done, whole.phase, message.clone()),
        row(
            "Reconciling",
            !is_done && !is_stalled,
            whole.phase,
            message.clone(),
        ),
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
    let mut parts = vec![format!("{done} of {total} clusters are upgraded")];
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
    let refused = records.iter().find(|(_, record)| record.reason == "WorkRefused");
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
