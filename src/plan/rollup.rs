//! The status of the add-on itself: default references and the progression of every placement.
//!
//! Decides counters and the moment at which a placement is done. Stays bounded whatever the number of clusters is.

use jiff::Timestamp;

use super::conditions::{Wish, merge};
use super::config::{Configs, Effective};
use super::install::{Known, Selected, Wanted};
use super::judge::PROGRESSING;
use super::rollout::{Member, Step};
use super::state::{Outcome, State};
use super::types::not_driven;
use crate::snapshot::{
    Applied, Condition, ConfigRef, InstallStrategy, Name, Offer, Progression, ProgressionReference,
    RolloutKind, Status, View,
};

/// What the status of the add-on should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// `defaultconfigReferences`
    pub defaults: Vec<(ConfigRef, Name)>,
    /// `installProgressions`; absent leaves what stands there.
    pub progressions: Option<Vec<Progression>>,
    /// `supportedVersions` and `defaultVersion`; absent leaves what stands there.
    pub versions: Option<(Vec<Name>, Name)>,
}

/// Clusters of one placement, counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Count {
    selected: usize,
    configured: usize,
    progressing: usize,
    done: usize,
    failed: usize,
    held: usize,
}

/// Clusters of every placement, counted one after the other: ten thousand reports need not live at the same time.
#[derive(Debug)]
pub(super) struct Tally {
    counts: Vec<Count>,
}

impl Tally {
    /// Returns the tally of the wanted clusters, before any of them has reported.
    pub(super) fn new(wanted: &Wanted<'_>) -> Self {
        let selected = |selected: &Selected<'_>| Count {
            selected: selected.clusters.len(),
            ..Count::default()
        };
        let mut counts: Vec<Count> = wanted.placements.iter().map(selected).collect();
        for index in wanted.home.values() {
            if let Some(count) = counts.get_mut(*index) {
                count.configured = count.configured.saturating_add(1);
            }
        }
        Self { counts }
    }

    /// Counts one instance for the placement that configures it.
    pub(super) fn add(&mut self, wanted: &Wanted<'_>, member: &Member<'_>, state: &State) {
        let home = wanted.home.get(&member.instance.cluster);
        let Some(count) = home.and_then(|index| self.counts.get_mut(*index)) else {
            return;
        };
        let slot = match (&member.step, state) {
            (Step::Hold(_), _) => &mut count.held,
            (_, State::Phase(_, Outcome::Succeeded)) => &mut count.done,
            (_, State::Phase(_, Outcome::Failed(_))) => &mut count.failed,
            (
                _,
                State::Phase(_, Outcome::Running(_))
                | State::Unsupported(_)
                | State::WaitingForManifests
                | State::WaitingForHostingManifests,
            ) => &mut count.progressing,
        };
        *slot = slot.saturating_add(1);
    }
}

/// Returns the status of the add-on.
pub(super) fn summary(
    view: &View<'_>,
    wanted: &Wanted<'_>,
    configs: &Configs<'_>,
    tally: &Tally,
    now: Timestamp,
) -> Summary {
    let progressions = if !view.addon.managed {
        None
    } else if view.addon.strategy == InstallStrategy::Placements {
        let counts = tally.counts.iter().copied();
        let each = wanted.placements.iter().zip(&configs.inherited).zip(counts);
        Some(
            each.map(|((selected, inherited), count)| progression(view, selected, inherited, count, now))
                .collect(),
        )
    } else {
        Some(Vec::new())
    };
    let defaults = configs
        .defaults
        .iter()
        .map(|desired| (desired.config.clone(), desired.hash.clone()));
    Summary {
        defaults: defaults.collect(),
        progressions,
        versions: view.addon.managed.then(|| {
            let listed = configs.versions.supported();
            let default = configs.versions.preset().map(Offer::text);
            (
                listed.map(|offer| Name::from(offer.text())).collect(),
                Name::from(default.unwrap_or_default()),
            )
        }),
    }
}

fn progression(
    view: &View<'_>,
    selected: &Selected<'_>,
    inherited: &Effective,
    count: Count,
    now: Timestamp,
) -> Progression {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let stored = view.addon.progressions.iter().flatten();
    let old = stored
        .into_iter()
        .find(|old| old.namespace == *namespace && old.name == *name);
    let done = selected.known == Known::Decided && count.done == count.configured;
    let references = inherited.refs.iter().map(|desired| {
        let before = old.and_then(|old| {
            old.references
                .iter()
                .find(|before| before.config == desired.config)
        });
        let reached = Applied {
            namespace: desired.config.namespace.clone(),
            name: desired.config.name.clone(),
            hash: desired.hash.clone(),
        };
        ProgressionReference {
            config: desired.config.clone(),
            desired: desired.hash.clone(),
            applied: if done {
                Some(reached.clone())
            } else {
                before.and_then(|before| before.applied.clone())
            },
            known_good: if done {
                Some(reached)
            } else {
                before.and_then(|before| before.known_good.clone())
            },
        }
    });
    let mut wishes = vec![counted(count, done)];
    let stalled = stalled(view, selected, count);
    let stated = old.into_iter().flat_map(|old| &old.conditions);
    let observed: Vec<Condition> = stated
        .filter(|one| stalled.is_some() || &*one.kind != STALLED)
        .cloned()
        .collect();
    wishes.extend(stalled);
    Progression {
        namespace: namespace.clone(),
        name: name.clone(),
        references: references.collect(),
        conditions: merge(&observed, &wishes, Some(view.addon.meta.generation), now).into_owned(),
    }
}

const STALLED: &str = "Stalled";

fn counted(count: Count, done: bool) -> Wish<'static> {
    let Count {
        selected,
        configured,
        progressing,
        failed,
        ..
    } = count;
    let started = progressing.saturating_add(count.done);
    let head = format!("selected clusters {selected}. configured addons {started}/{configured}");
    if done {
        let message = format!("{head} completed with no errors, {failed} failed 0 timeout.");
        return Wish::new(PROGRESSING, Status::False, "Completed", message);
    }
    Wish::new(
        PROGRESSING,
        Status::True,
        "Progressing",
        format!("{head} progressing..., {failed} failed 0 timeout."),
    )
}

/// Says what no amount of waiting changes; the condition is only there while it is true.
fn stalled(view: &View<'_>, selected: &Selected<'_>, count: Count) -> Option<Wish<'static>> {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let (reason, message) = match selected.known {
        Known::NoPlacement => (
            "PlacementNotFound",
            format!("placement {namespace}/{name} does not exist"),
        ),
        Known::NoDecision => (
            "DecisionNotFound",
            format!("placement {namespace}/{name} is not decided yet"),
        ),
        Known::Decided if count.held == 0 => return None,
        Known::Decided => {
            let kinds = [&selected.by.rollout, &view.addon.configuration_rollout];
            let held = kinds.into_iter().find(|kind| **kind != RolloutKind::All)?;
            ("RolloutTypeNotDriven", not_driven(held.as_str()))
        }
    };
    Some(Wish::new(STALLED, Status::True, reason, message))
}
