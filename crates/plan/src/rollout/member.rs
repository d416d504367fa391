//! One instance with its next step.
//!
//! Decides nothing (`members` does).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::hold_message::Notice;
use crate::config::{Desired, Effective};
use crate::settled::Done;
use ::model::engine::{UnitState, Verdict};
use store::{Cluster, Instance, Layering, Reference, Work};

/// What the rollout says about one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has what it should have now.
    Settled,
    /// It may take what it should have now.
    Move,
    /// It keeps its current configuration.
    Hold,
}

/// How far the last change is after it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// It has yet to stay successful, or has failed to.
    Runs,
    /// It is over, or has not begun.
    Over,
}

/// What the rollout has decided about one instance, before that became a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rolled {
    /// The placement that configures it.
    pub home: Option<usize>,
    /// Its decision group there, by its position.
    pub group: usize,
    /// How far it is.
    pub standing: UnitState,
    /// Whether it may move.
    pub verdict: Verdict,
    /// Whether it waits for no approval.
    pub approved: bool,
}

/// One instance in progress.
#[derive(Debug)]
pub(crate) struct Member<'v> {
    /// The instance.
    pub instance: &'v Instance,
    /// Its cluster, if it exists.
    pub cluster: Option<&'v Cluster>,
    /// The works for its cluster.
    pub works: &'v [Work],
    /// Whether it is being removed.
    pub is_leaving: bool,
    /// What it should run with in the end.
    pub effective: Arc<Effective>,
    /// What was decided about it.
    pub rolled: Rolled,
    /// Whether it may move now.
    pub step: Step,
    /// Why it does not get the effective configuration, or not the whole of it.
    pub notice: Option<Arc<Notice>>,
    /// What it is assigned after this plan.
    pub assigned: Cow<'v, [Reference]>,
    /// Which deployment configurations of that its works are made from.
    pub layering: Layering,
    /// The failure that counts in its rollout.
    pub failure: Option<String>,
    /// How long it must stay successful.
    pub soak: Duration,
    /// Whether it took longer than its rollout allows.
    pub timed_out: bool,
    /// Whether its last change has proved itself.
    pub trial: Trial,
    /// Set when the rollout is done with it, and time changes nothing.
    pub done: Option<Done>,
}

impl Member<'_> {
    /// Returns the first assigned configuration whose object cannot be used.
    pub(crate) fn missing(&self) -> Option<&Desired> {
        let mut refs = self.effective.refs.iter();
        refs.find(|desired| desired.fault.is_some() && self.is_assigned(desired))
    }

    /// Returns whether a configuration is what the instance is assigned.
    pub(crate) fn is_assigned(&self, desired: &Desired) -> bool {
        let mut assigned = self.assigned.iter();
        assigned.any(|one| one.config == desired.config && one.desired == desired.hash)
    }
}
