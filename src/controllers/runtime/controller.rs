//! What drives one kind of owner.
//!
//! Decides nothing: a controller says what should be written for an owner, the runtime says when, writes it and waits until it is
//! seen. A controller has no client, no queue and no clock.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::telemetry::{Fact, Open, TraceMetrics};
use plan::Plan;
use store::{Name, ObjectKey, Owner, Store};

/// When a plan is made.
#[derive(Debug, Clone, Copy)]
pub(in crate::controllers) struct Moment {
    /// The hub's time.
    pub time: Timestamp,
    /// Whether that is known: what has begun must not end by a time that is not known.
    pub is_known: bool,
}

/// What became of planning an owner.
#[derive(Debug)]
pub(in crate::controllers) enum Planned {
    /// A plan.
    Whole(Plan),
    /// The owner is not known.
    Nothing,
    /// The planner panicked.
    Panicked,
}

impl Planned {
    /// Returns what may be written.
    pub(super) fn plan(self) -> Option<Plan> {
        match self {
            Self::Whole(plan) => Some(plan),
            Self::Nothing | Self::Panicked => None,
        }
    }

    /// Ends the span of a pass: what was planned for which kind, and how much there is to write.
    pub(super) fn trace(&self, open: Open, owner: &Owner, traces: &TraceMetrics) {
        let Some(tracer) = traces.tracer() else { return };
        let (outcome, plan) = match self {
            Self::Whole(plan) => ("whole", Some(plan)),
            Self::Nothing => ("nothing", None),
            Self::Panicked => ("broken", None),
        };
        let count = |count: usize| Fact::Number(i64::try_from(count).unwrap_or(i64::MAX));
        let facts = vec![
            ("tidegate.kind", Fact::Word(owner.kind.word())),
            ("tidegate.outcome", Fact::Word(outcome)),
            (
                "tidegate.actions",
                count(plan.map_or(0, |plan| plan.actions.len())),
            ),
            ("tidegate.waits", count(plan.map_or(0, |plan| plan.waits.len()))),
        ];
        tracer.done(open, "plan", facts);
    }
}

pub(in crate::controllers) trait Controller: Send + std::fmt::Debug {
    /// Returns what should be written for an owner.
    fn plan(&mut self, store: &mut Store, owner: &Owner, at: Moment) -> Planned;

    /// Returns every owner that it plans for.
    fn owners(&self, store: &Store) -> Vec<Owner>;

    /// Returns the objects that must be read again before anything is taken away for an owner: the reasons for it.
    fn reasons(&self, store: &Store, owner: &Owner) -> BTreeSet<ObjectKey> {
        let _ = store;
        BTreeSet::from([owner.clone()])
    }

    /// Takes note that instances were taken away from clusters.
    fn removed(&mut self, store: &mut Store, owner: &Owner, clusters: &[Name], at: Timestamp) {
        let _ = (store, owner, clusters, at);
    }
}
