//! One instance before its step is decided.
//!
//! Decides what it counts for. Never decides its step (`members`).

use std::sync::Arc;
use std::time::Duration;

use super::hold_message::Notice;
use super::unit_state::UnitStanding;
use crate::config::{Desired, Effective};
use crate::settled::Done;
use ::model::engine::{UnitState, Verdict};
use store::{Instance, Layering, Site};

/// What becomes of edits of an instance's own configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnEdits {
    /// They are rolled out by its rollout.
    Travel,
    /// They pass its rollout by.
    Pass,
    /// They pass it by, and are all that the instance has to take.
    MoveAlone,
}

/// One instance before its step is decided.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(super) struct Candidate<'v> {
    pub(super) instance: &'v Instance,
    pub(super) site: Site<'v>,
    pub(super) is_leaving: bool,
    pub(super) effective: Arc<Effective>,
    /// The placement that configures it.
    pub(super) home: Option<usize>,
    /// What it is to run with now, where that is not the effective configuration.
    pub(super) kept: Option<Vec<Desired>>,
    /// Which deployment configurations of what it is to run with now count.
    pub(super) layering: Layering,
    /// Whether a change of `spec.configuration` is a part of its next step.
    pub(super) is_governed: bool,
    pub(super) is_there: bool,
    pub(super) own: OwnEdits,
    pub(super) settled: bool,
    /// Whether nothing can be made of what it is assigned any more.
    pub(super) is_lost: bool,
    /// Whether it is being updated to content that does not exist.
    pub(super) is_at_rest: bool,
    pub(super) soak: Duration,
    /// Whether changes of its placement wait for checks.
    pub(super) is_checked: bool,
    /// What it says while it waits for a window or for other add-ons.
    pub(super) blocked: Option<Arc<Notice>>,
    /// What it says while what it has to take waits for an approval.
    pub(super) unapproved: Option<Arc<Notice>>,
    pub(super) seen: UnitStanding,
    pub(super) verdict: Verdict,
    /// What it counts for once it is done; absent when that cannot be noted.
    pub(super) counts: Option<Done>,
}

impl Candidate<'_> {
    /// Returns whether it can move at all.
    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Returns whether it has something to take by a turn, and not only what is asked for on the one cluster itself.
    pub(super) fn waits_for_turn(&self) -> bool {
        self.is_there && !self.settled && self.own != OwnEdits::MoveAlone
    }

    /// Returns its decision group in the placement that configures it, as far as that is noted.
    pub(super) fn group(&self) -> Option<usize> {
        let counts = self.counts.filter(|counts| counts.home.is_some())?;
        usize::try_from(counts.group).ok()
    }

    /// Notes that a placement selects it, and in which decision group it is there.
    pub(super) fn note_selected(&mut self, placement: usize, group: usize) {
        let is_home = self.home == Some(placement);
        self.counts = self.counts.take().and_then(|mut counts| {
            if is_home {
                counts.home = Some(u32::try_from(placement).ok()?);
                counts.group = u32::try_from(group).ok()?;
            }
            counts.select(placement).then_some(counts)
        });
    }

    /// Returns what it counts for, if the rollout is done with it and time changes nothing.
    pub(super) fn done(&self) -> Option<Done> {
        let is_done = self.is_there
            && self.settled
            && self.kept.is_none()
            && self.verdict == Verdict::Done
            && self.seen.failure.is_none()
            && self.seen.recheck_at.is_none();
        let mut counts = self.counts.filter(|_| is_done)?;
        if let UnitState::Succeeded(since) = self.seen.standing {
            counts.arrived = self.is_checked.then_some(since);
        }
        Some(counts)
    }

    /// Returns its standing. What it is kept from by others than its placement takes no slot there.
    pub(super) fn standing(&self) -> UnitState {
        match self.seen.standing {
            // What failed with content that a change has yet to replace says nothing about the change.
            UnitState::Succeeded(_) | UnitState::Failed(_) if self.kept.is_some() && self.settled => {
                UnitState::Held
            }
            // It will not arrive: what it keeps was edited before anything was made of it.
            UnitState::InFlight(_) if self.kept.is_some() && self.settled && self.is_lost => UnitState::Held,
            UnitState::ToApply if self.blocked.is_some() => UnitState::Blocked(None),
            UnitState::Overtaken(since) if self.blocked.is_some() => UnitState::Blocked(Some(since)),
            standing @ (UnitState::ToApply
            | UnitState::Overtaken(_)
            | UnitState::InFlight(_)
            | UnitState::Failed(_)
            | UnitState::Succeeded(_)
            | UnitState::Skipped
            | UnitState::Held
            | UnitState::Blocked(_)) => standing,
        }
    }
}
