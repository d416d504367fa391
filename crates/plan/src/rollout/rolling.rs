//! `spec.configuration.rolloutStrategy`: whom a change of `spec.configuration.configs` reaches.
//!
//! Decides which references of an instance such a change governs, and what a cluster runs with that it does not reach: those
//! references stay as they are, whatever becomes of the strategy. An instance that never had a configuration is not
//! governed: it gets the present default at once, or a canary would keep new clusters without the add-on.

use std::collections::BTreeSet;

use super::hold_message::Notice;
use super::references::is_settled;
use crate::config::{Desired, Effective, Source, is_protected, merges};
use crate::install::DecisionState;
use crate::work::{deployed_works, runs};
use ::model::engine::Course;
use api::reason::Reason;
use model::{ConfigRollout, Limit};
use store::{AddOn, ConfigRef, ConfigType, Instance, Kind, Name, PlacementUse, Reference, View, terms};

/// Why no change can be rolled out, or none of `spec.configuration`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocker {
    /// The reason, in one word.
    pub reason: Reason,
    /// The whole sentence.
    pub message: Name,
}

impl Blocker {
    /// A strategy that is invalid.
    pub(super) fn fault(fault: &Name) -> Self {
        Self {
            reason: Reason::RolloutStrategyInvalid,
            message: fault.clone(),
        }
    }

    /// A placement that `spec.configuration` names and that does not exist.
    pub(super) fn nowhere(what: &str) -> Self {
        let message = format!(
            "{what} does not exist; changes to spec.configuration are rolled out only to its clusters, so no cluster is updated"
        );
        Self {
            reason: Reason::PlacementNotFound,
            message: Name::from(message),
        }
    }
}

/// The rollout of `spec.configuration.configs`, where it does not simply reach every cluster.
#[derive(Debug)]
pub(super) struct Rolling<'v> {
    /// The clusters that it reaches.
    pub clusters: BTreeSet<&'v Name>,
    /// How it reaches them.
    pub course: Course,
    /// What it is called in messages.
    pub what: String,
    /// The placement, where the strategy has a meaning.
    pub place: Option<(Name, Name)>,
    /// Whether it is paused.
    pub paused: bool,
    /// The reason of the pause, "" if there is none.
    pub pause: &'v str,
    /// What the clusters say that it does not reach.
    pub outside: Notice,
    /// Why it reaches no cluster at all.
    pub blocker: Option<Blocker>,
    /// Why it is not known which clusters it reaches: until the placement is decided again every cluster that a change concerns
    /// keeps all that it has, for those that seem to be outside may be waiting for a slot inside.
    pub unknown: Option<Notice>,
    types: BTreeSet<&'v ConfigType>,
}

impl<'v> Rolling<'v> {
    /// Returns the rollout of an add-on's own configurations, unless they reach every cluster at once.
    pub(super) fn of(view: &View<'v>) -> Option<Self> {
        let addon = view.addon;
        let types = addon.configuration.iter().map(|config| &config.of).collect();
        match &addon.configuration_rollout {
            Ok(ConfigRollout::UpdateAll) => None,
            Ok(ConfigRollout::RollingUpdateWithPlacement(update)) => {
                let place = [update.namespace.as_str(), update.name.as_str()].map(Name::from);
                let [namespace, name] = &place;
                let what = format!("placement {namespace}/{name}");
                let known = DecisionState::of(view, namespace, name);
                // Decisions of a deleted placement do not count.
                let exists = known != DecisionState::NoPlacement;
                Some(Self {
                    clusters: exists
                        .then(|| view.decided(namespace, name))
                        .into_iter()
                        .flatten()
                        .collect(),
                    course: Course::within(update.at_once),
                    paused: view.rollout().pause(namespace, name).is_some(),
                    pause: view.rollout().pause(namespace, name).unwrap_or_default(),
                    outside: if exists {
                        Notice::outside(&what)
                    } else {
                        Notice::nowhere(&what)
                    },
                    blocker: (!exists).then(|| Blocker::nowhere(&what)),
                    unknown: (known == DecisionState::NoDecision).then(|| Notice::undecided(&what)),
                    what,
                    place: Some((namespace.clone(), name.clone())),
                    types,
                })
            }
            Err(fault) => Some(Self {
                clusters: BTreeSet::new(),
                course: Course::within(Limit::All),
                paused: view.rollout().pause_of_all().is_some(),
                pause: view.rollout().pause_of_all().unwrap_or_default(),
                outside: Notice::fault("spec.configuration", fault),
                blocker: Some(Blocker::fault(fault)),
                unknown: None,
                place: None,
                what: "spec.configuration".to_owned(),
                types,
            }),
        }
    }

    /// Returns whether a change may be for a cluster.
    pub(super) fn may_reach(&self, cluster: &Name) -> bool {
        self.unknown.is_some() || self.clusters.contains(cluster)
    }

    /// Returns whether a placement leaves a type of configurations to `spec.configuration`.
    pub(super) fn concerns(&self, addon: &AddOn, by: &PlacementUse) -> bool {
        let hides = |config: &ConfigRef, of: &ConfigType| {
            config.of == *of && (*config.name == *terms::NO_DEFAULT || !merges(addon, of))
        };
        let mut types = self.types.iter();
        types.any(|of| !by.configs.iter().any(|config| hides(config, of)))
    }

    /// Returns what an instance runs with until the change reaches it; `None` if that is no difference.
    pub(super) fn kept(
        &self,
        view: &View<'v>,
        home: Option<&PlacementUse>,
        instance: &Instance,
        effective: &Effective,
    ) -> Option<Vec<Desired>> {
        if instance.references.is_empty() || is_settled(&instance.references, &effective.refs) {
            return None;
        }
        let governed = Governed::of(view, &self.types, home, instance);
        let is_empty = |of: &ConfigType| {
            let mut known = instance.references.iter().filter(|one| one.config.of == *of);
            known.any(|one| is_nothing(view, instance, one))
        };
        let is_held =
            |of: &ConfigType| governed.has(of) && !is_empty(of) && !returns(view, instance, effective, of);
        let is_kept = |reference: &&Reference| {
            let of = &reference.config.of;
            is_held(of) || !effective.refs.iter().any(|desired| desired.config.of == *of)
        };
        // Works are rendered from all configurations: while one of them does not exist, none of the others can be applied.
        if instance
            .references
            .iter()
            .filter(is_kept)
            .any(|one| is_deleted(view, one))
        {
            return Some(instance.references.iter().map(as_desired).collect());
        }
        let new = effective
            .refs
            .iter()
            .filter(|desired| !is_held(&desired.config.of));
        let kept = instance.references.iter().filter(is_kept).map(as_desired);
        let mut target: Vec<Desired> = new.cloned().chain(kept).collect();
        target.sort_by(|one, other| one.config.of.cmp(&other.config.of));
        let is_same = |one: &Desired, other: &Desired| one.config == other.config && one.hash == other.hash;
        let same = target.len() == effective.refs.len()
            && target
                .iter()
                .zip(&effective.refs)
                .all(|(one, other)| is_same(one, other));
        (!same).then_some(target)
    }
}

/// What a cluster does not have it cannot keep, or a canary would keep a new cluster without the add-on: content that was never
/// known, or that has been edited before anything was made of it.
fn is_nothing(view: &View<'_>, instance: &Instance, reference: &Reference) -> bool {
    let is_made = || deployed_works(view, instance).next().is_some();
    // What its works are made of it has, although what it is assigned is nothing; they may be made of several of one type.
    let is_another = |config: &ConfigRef| config.of == reference.config.of && *config != reference.config;
    let runs_another = || runs(view, instance, is_another).is_some();
    let is_nothing = reference.desired.is_empty() || (is_deleted(view, reference) && !is_made());
    reference.applied.is_none() && is_nothing && !runs_another()
}

/// Whether an instance would only go back to what it has, because nothing can be made of what it was assigned since:
/// that is no change for it, and there is nothing else that it could keep. It has what its agent has confirmed, and
/// what its works are made of.
fn returns(view: &View<'_>, instance: &Instance, effective: &Effective, of: &ConfigType) -> bool {
    let assigned = || instance.references.iter().filter(|one| one.config.of == *of);
    let is_confirmed = |desired: &Desired| {
        let mut confirmed = assigned().filter_map(|one| one.applied.as_ref());
        let config = &desired.config;
        confirmed.any(|applied| {
            (&applied.namespace, &applied.name, &applied.hash)
                == (&config.namespace, &config.name, &desired.hash)
        })
    };
    let is_made = |desired: &Desired| {
        let runs = runs(view, instance, |config| *config == desired.config);
        runs.is_some_and(|(_, hash)| hash == desired.hash)
    };
    let mut wanted = effective.refs.iter().filter(|desired| desired.config.of == *of);
    assigned().any(|one| one.desired.is_empty()) && wanted.all(|one| is_confirmed(one) || is_made(one))
}

/// Whether the hub no longer has the content of a reference.
pub(super) fn is_deleted(view: &View<'_>, reference: &Reference) -> bool {
    let ConfigRef { of, .. } = &reference.config;
    let is_watched = Kind::of_config(&of.group, &of.resource).is_some();
    is_watched && view.content(&reference.config, &reference.desired).is_none()
}

fn as_desired(reference: &Reference) -> Desired {
    Desired {
        config: reference.config.clone(),
        source: Source::Default,
        hash: reference.desired.clone(),
        generation: None,
        fault: None,
        copy: None,
    }
}

/// The types of configurations that an instance takes from `spec.configuration`.
struct Governed<'a> {
    addon: &'a AddOn,
    types: &'a BTreeSet<&'a ConfigType>,
    home: &'a [ConfigRef],
    own: Vec<&'a ConfigRef>,
    /// Whether the template follows from a version that `spec.configuration` asks for.
    template: bool,
}

impl<'a> Governed<'a> {
    fn of(
        view: &View<'a>,
        types: &'a BTreeSet<&'a ConfigType>,
        home: Option<&'a PlacementUse>,
        instance: &'a Instance,
    ) -> Self {
        let mut governed = Self {
            addon: view.addon,
            types,
            home: home.map(|by| by.configs.as_slice()).unwrap_or_default(),
            own: {
                let own = instance.configs.iter();
                own.filter(|config| !is_protected(view.addon, &config.of))
                    .collect()
            },
            template: false,
        };
        let is = |of: &ConfigType, kind| Kind::of_config(&of.group, &of.resource) == Some(kind);
        let by_version = types.iter().any(|of| is(of, Kind::HubConfig) && governed.has(of));
        let mut named = view
            .addon
            .supported
            .iter()
            .filter(|supported| supported.config.is_some());
        let asks_itself = if view.addon.facts.protects_version() {
            home.is_some_and(|by| by.creation.desired_version.is_some())
        } else {
            !instance.desired_version.is_empty()
        };
        governed.template =
            by_version && !asks_itself && !named.any(|supported| is(&supported.of, Kind::Template));
        governed
    }

    fn has(&self, of: &ConfigType) -> bool {
        let mut layers = self.home.iter().chain(self.own.iter().copied());
        // Below a layer of a type that is merged, what `spec.configuration` names counts as well.
        let hides = |config: &ConfigRef| *config.name == *terms::NO_DEFAULT || !merges(self.addon, of);
        if layers.any(|config| config.of == *of && hides(config)) {
            return false;
        }
        let is_template = Kind::of_config(&of.group, &of.resource) == Some(Kind::Template);
        self.types.contains(of) || (self.template && is_template)
    }
}
