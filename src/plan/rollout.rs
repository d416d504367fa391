//! Who may move to the effective configuration now.
//!
//! Type `All` moves everybody at once. The other types are known by name and *hold* their clusters, with a wait that says
//! so: a change that asked for care must never travel without it. Budgets, soak and decision groups enter here.

use std::borrow::Cow;
use std::sync::Arc;

use super::config::{Configs, Desired, Effective};
use super::install::Wanted;
use crate::snapshot::{Applied, ClusterConfigs, ConfigRef, Instance, Name, Reference, RolloutKind, View};

/// What the rollout says about one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It has what it should have.
    Settled,
    /// It may take the effective configuration now.
    Move,
    /// It keeps what it has, because of a rollout type that is not driven.
    Hold(RolloutKind),
}

/// One instance on its way.
#[derive(Debug)]
pub(super) struct Member<'v> {
    /// The instance.
    pub instance: &'v Instance,
    /// What it should run with in the end.
    pub effective: Arc<Effective>,
    /// Whether it may move now.
    pub step: Step,
    /// What it is assigned after this plan.
    pub assigned: Cow<'v, [Reference]>,
}

impl Member<'_> {
    /// Returns the first assigned configuration whose object cannot be used.
    pub(super) fn missing(&self) -> Option<&Desired> {
        let is_assigned = |desired: &Desired| {
            let mut assigned = self.assigned.iter();
            assigned.any(|one| one.config == desired.config && one.desired == desired.hash)
        };
        let mut faulty = self
            .effective
            .refs
            .iter()
            .filter(|desired| desired.fault.is_some());
        faulty.find(|desired| is_assigned(desired))
    }
}

/// Returns every instance with its next step, in order of clusters.
pub(super) fn next<'v>(view: &View<'v>, wanted: &Wanted<'v>, configs: &Configs<'v>) -> Vec<Member<'v>> {
    let member = |(instance, effective): &(&'v Instance, Arc<Effective>)| {
        let step = step(view, wanted, instance, effective);
        let old = &instance.references;
        let assigned = match &step {
            Step::Settled if is_exact(old, &effective.refs) => Cow::Borrowed(old.as_slice()),
            Step::Settled | Step::Move => Cow::Owned(assign(old, &effective.refs)),
            Step::Hold(_) => held(view, old, effective),
        };
        Member {
            instance,
            effective: Arc::clone(effective),
            step,
            assigned,
        }
    };
    configs.instances.iter().map(member).collect()
}

fn step(view: &View<'_>, wanted: &Wanted<'_>, instance: &Instance, effective: &Effective) -> Step {
    if is_settled(&instance.references, &effective.refs) {
        return Step::Settled;
    }
    let at_once = view.settings().cluster_configs == ClusterConfigs::AtOnce;
    if at_once && effective.moves_at_once(&instance.references) {
        return Step::Move;
    }
    match strategy(view, wanted, &instance.cluster) {
        RolloutKind::All => Step::Move,
        held @ (RolloutKind::Progressive
        | RolloutKind::ProgressivePerGroup
        | RolloutKind::RollingUpdateWithPlacement
        | RolloutKind::Other(_)) => Step::Hold(held.clone()),
    }
}

/// A cluster of a placement follows the placement's strategy; the strategy of the default configurations counts as well,
/// because a placement inherits them.
fn strategy<'v>(view: &View<'v>, wanted: &Wanted<'v>, cluster: &Name) -> &'v RolloutKind {
    let home = wanted
        .home
        .get(cluster)
        .and_then(|index| wanted.placements.get(*index));
    match home {
        Some(selected) if selected.by.rollout != RolloutKind::All => &selected.by.rollout,
        Some(_) | None => &view.addon.configuration_rollout,
    }
}

/// A cluster that waits keeps what it has; the content of its own configurations may have changed all the same.
fn held<'v>(view: &View<'_>, old: &'v [Reference], effective: &Effective) -> Cow<'v, [Reference]> {
    let refreshed = match view.settings().cluster_configs {
        ClusterConfigs::AtOnce => effective.refreshed(old),
        ClusterConfigs::Rollout => None,
    };
    refreshed.map_or(Cow::Borrowed(old), Cow::Owned)
}

fn is_settled(references: &[Reference], refs: &[Desired]) -> bool {
    references.len() == refs.len()
        && references.iter().zip(refs).all(|(reference, desired)| {
            reference.config == desired.config && reference.desired == desired.hash
        })
}

/// Returns whether nothing is left to write in the references of a settled instance.
fn is_exact(references: &[Reference], refs: &[Desired]) -> bool {
    references.iter().zip(refs).all(|(reference, desired)| {
        let same = |generation| generation == reference.generation;
        reference.exact && desired.generation.is_none_or(same)
    })
}

fn assign(old: &[Reference], refs: &[Desired]) -> Vec<Reference> {
    let noted = |desired: &Desired| {
        let before = old.iter().find(|reference| reference.config == desired.config);
        before.map_or(0, |reference| reference.generation)
    };
    refs.iter()
        .enumerate()
        .map(|(index, desired)| Reference {
            config: desired.config.clone(),
            desired: desired.hash.clone(),
            applied: carried(old, refs, index),
            generation: desired.generation.unwrap_or_else(|| noted(desired)),
            exact: true,
        })
        .collect()
}

/// What the agent confirmed for the same object; where an object took another's place, what it confirmed for that one, so
/// that "from what" stays visible until the change has arrived.
fn carried(old: &[Reference], refs: &[Desired], index: usize) -> Option<Applied> {
    let desired = refs.get(index)?;
    if let Some(same) = old.iter().find(|reference| reference.config == desired.config) {
        return same.applied.clone();
    }
    let is_new = |config: &ConfigRef| !old.iter().any(|reference| reference.config == *config);
    let rank = refs
        .iter()
        .take(index)
        .filter(|earlier| earlier.config.of == desired.config.of && is_new(&earlier.config))
        .count();
    let is_gone = |reference: &&Reference| !refs.iter().any(|desired| desired.config == reference.config);
    let replaced = old
        .iter()
        .filter(|reference| reference.config.of == desired.config.of)
        .filter(is_gone);
    replaced
        .skip(rank)
        .map(|reference| reference.applied.clone())
        .next()
        .flatten()
}
