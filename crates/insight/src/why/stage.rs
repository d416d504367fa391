//! How far the instances of an add-on are in a rollout.
//!
//! Decides from conditions and references whether an instance waits, moves, must stay successful, has failed or is done, and until when.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::conditions::PlannedCondition;
use super::context::Context;
use api::names::conditions as types;
use api::reason::{Class, Reason};
use model::engine::is_promoted;
use model::{Pace, ProgressDeadline};
use store::{Instance, PlacementUse, Reference, Status, View};

/// Condition that tells since when an instance is assigned what it has.
const ASSIGNED: &str = "Assigned";

/// How far an instance is in a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting,
    Going,
    /// It is done, and has to stay so until then.
    Soaking(Timestamp),
    Failed,
    Done,
}

/// The stage of each instance, by cluster.
#[derive(Debug, Default)]
pub(super) struct Stages(BTreeMap<String, Stage>);

impl Stages {
    /// Collects stages, by cluster.
    pub(super) fn collect(each: impl Iterator<Item = (String, Stage)>) -> Self {
        Self(each.collect())
    }

    /// The clusters of which `is_one` is true and that are at such a stage.
    pub(super) fn at<'s>(
        &'s self,
        is_one: impl Fn(&str) -> bool + 's,
        wanted: impl Fn(Stage) -> bool + 's,
    ) -> impl Iterator<Item = (&'s str, Stage)> {
        let all = self.0.iter().map(|(cluster, stage)| (cluster.as_str(), *stage));
        all.filter(move |(cluster, stage)| wanted(*stage) && is_one(cluster))
    }
}

impl Context<'_> {
    /// How far each instance is.
    pub(super) fn stages(&self) -> &Stages {
        self.stages.get_or_init(|| {
            let each = self.view.instances().map(|instance| {
                let cluster = instance.cluster.to_string();
                let stage = stage(self, instance);
                (cluster, stage)
            });
            Stages::collect(each)
        })
    }
}

pub(super) fn stage(case: &Context<'_>, instance: &Instance) -> Stage {
    let words = case.conditions.words(instance);
    let find = |kind: &str| words.iter().find(|word| word.kind == kind);
    let reason = |kind: &str| find(kind).map_or("", |word| word.reason.as_str());
    if Reason::word_is(reason(types::CONFIGURED), Class::Turn) {
        return Stage::Waiting;
    }
    if *reason(types::STALLED) == Reason::ProgressDeadlineExceeded
        || Reason::word_is(reason(types::PROGRESSING), Class::Failed)
    {
        return Stage::Failed;
    }
    let runs = find(types::PROGRESSING).is_some_and(|word| word.status == Status::True);
    if runs || !instance.references.iter().all(Reference::is_applied) {
        return Stage::Going;
    }
    let soak = case
        .home(&instance.cluster)
        .and_then(|home| pace(&case.view, home))
        .map(|pace| pace.soak.length())
        .unwrap_or_default();
    let promoted = case
        .home(&instance.cluster)
        .and_then(|home| case.view.rollout().promoted_at(&home.namespace, &home.name));
    let end = find(ASSIGNED)
        .filter(|word| *word.reason == Reason::ConfigurationsConfirmed)
        .filter(|word| {
            !word
                .since
                .is_some_and(|since| is_promoted(promoted, since, case.now))
        })
        .filter(|_| !soak.is_zero())
        .and_then(|word| end(word.since?, soak));
    match end {
        Some(end) if case.now < end => Stage::Soaking(end),
        Some(_) | None => Stage::Done,
    }
}

/// Returns how patient the rollout of a placement is.
fn pace(view: &View<'_>, used: &PlacementUse) -> Option<Pace> {
    let strategy = view.strategy(used);
    strategy.ok().map(|strategy| strategy.pace)
}

/// Returns since when an instance is under way to what it is assigned; nothing when it is there, or the time is unknown.
pub(super) fn under_way_since(words: &[PlannedCondition]) -> Option<Timestamp> {
    let assigned = words.iter().find(|word| word.kind == ASSIGNED)?;
    assigned
        .since
        .filter(|_| *assigned.reason != Reason::ConfigurationsConfirmed)
}

/// Returns when a cluster that is under way since then counts as late.
pub(super) fn deadline(view: &View<'_>, used: &PlacementUse, since: Timestamp) -> Option<Timestamp> {
    match pace(view, used)?.deadline {
        ProgressDeadline::After(length) => end(since, length),
        ProgressDeadline::None => None,
    }
}

/// Times on the hub have whole seconds, rounded down: what began within one counts from its end.
fn end(since: Timestamp, length: Duration) -> Option<Timestamp> {
    let begin = since.checked_add(SignedDuration::from_secs(1)).ok()?;
    begin.checked_add(length).ok()
}
