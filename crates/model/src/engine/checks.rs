//! The checks of a course: whether its units may go on, and which checks count as failures.
//!
//! Decides nothing about a single check (`rollout_check`). Never decides which stage waits (`stages.rs`).

use jiff::Timestamp;

use crate::{Check, CheckVerdict, Name};

/// The checks that the units of a course wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    /// Each of them.
    pub each: Vec<Check>,
    /// By stage, the positions of the checks that units of the stage must pass before the next stage starts; empty if all stages
    /// have all checks.
    pub of_stages: Vec<Vec<usize>>,
    /// When the first unit of the change started, if one has: an earlier result is no failure of the change.
    pub started: Option<Timestamp>,
}

/// A check that has not passed: its name, and what it says.
pub type Unmet = (Name, CheckVerdict);

impl Checks {
    fn of(&self, stage: usize) -> impl Iterator<Item = &Check> {
        let own = self.of_stages.get(stage);
        let each = self.each.iter().enumerate();
        let each = each.filter(move |(at, _)| own.is_none_or(|own| own.contains(at)));
        each.map(|(_, check)| check)
    }

    /// Returns the checks of a stage that have not passed since a time.
    pub(super) fn unmet(&self, stage: usize, since: Option<Timestamp>, now: Timestamp) -> Vec<Unmet> {
        let each = self.of(stage);
        let each = each.map(|check| (check.name.clone(), check.verdict(since, now)));
        each.filter(|(_, verdict)| *verdict != CheckVerdict::Passed)
            .collect()
    }

    /// Returns the checks of a stage that have failed since the change started: name and message.
    pub(super) fn failed(&self, stage: usize, now: Timestamp) -> Vec<(Name, Name)> {
        let unmet = self.started.map(|started| self.unmet(stage, Some(started), now));
        let failed = unmet
            .into_iter()
            .flatten()
            .filter_map(|(name, verdict)| match verdict {
                CheckVerdict::Failed(message) => Some((name, message)),
                CheckVerdict::Passed | CheckVerdict::Unknown(_) => None,
            });
        failed.collect()
    }

    /// Returns when time alone changes a result.
    pub(super) fn changes_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.each.iter().filter_map(|check| check.changes_at(now)).min()
    }
}
