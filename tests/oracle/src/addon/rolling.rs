//! The pace of `spec.configuration`: whom a change of its configurations reaches, and how many at once.
//!
//! Decides only what is certain: a failed cluster is not counted as being in progress, and nothing is said of a cluster while the
//! placement that configures it is not known.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::pace::{FoundHome, Homes};
use super::standing::{AssignedConfig, Terms, Written, assigned, deploys, standing, there};
use api::hash::{ConfigKey, parse_config_spec_hash};
use model::{ConfigRollout, Limit, ProgressDeadline};
use store::{ConfigRef, ConfigType, InstallStrategy, Instance, Kind, Name, Reference, View, Work};

/// The clusters that a change reaches, and how many of them at once.
struct Reach<'v> {
    clusters: BTreeSet<&'v Name>,
    limit: Limit,
    paused: bool,
}

impl<'v> Reach<'v> {
    fn of(view: &View<'v>) -> Option<Self> {
        let settings = view.rollout();
        match &view.addon.configuration_rollout {
            Ok(ConfigRollout::UpdateAll) => None,
            Ok(ConfigRollout::RollingUpdateWithPlacement(update)) => {
                let [namespace, name] = [update.namespace.as_str(), update.name.as_str()].map(Name::from);
                let exists = view.placement(&namespace, &name).is_some();
                let decided = exists.then(|| view.decided(&namespace, &name));
                Some(Self {
                    clusters: decided.into_iter().flatten().collect(),
                    limit: update.at_once,
                    paused: settings.pause(&namespace, &name).is_some(),
                })
            }
            // An invalid strategy updates no cluster.
            Err(_) => Some(Self {
                clusters: BTreeSet::new(),
                limit: Limit::All,
                paused: settings.pause_of_all().is_some(),
            }),
        }
    }
}

/// Returns what is wrong with the way in which changes of `spec.configuration` are rolled out.
pub(super) fn broken(
    view: &View<'_>,
    homes: &Homes<'_>,
    written: &Written<'_>,
    now: Timestamp,
) -> Vec<String> {
    let Some(reach) = Reach::of(view) else {
        return Vec::new();
    };
    let strays = strays(view, homes, &reach, written);
    let faults = [strays, hasty(view, homes, (&reach, written), now)];
    faults.into_iter().flatten().collect()
}

/// Clusters that take a change which is not for them.
fn strays(view: &View<'_>, homes: &Homes<'_>, reach: &Reach<'_>, written: &Written<'_>) -> Option<String> {
    let mut outside = written
        .iter()
        .filter(|(cluster, _)| !reach.clusters.contains(**cluster));
    let (first, _) = outside.find(|(cluster, after)| {
        there(view, cluster).is_some_and(|instance| takes(view, homes, instance, after))
    })?;
    Some(format!(
        "{first} takes a change of spec.configuration that does not reach it"
    ))
}

/// More are in progress than may be at once, and the plan adds to them; or it adds to them during a pause.
fn hasty(
    view: &View<'_>,
    homes: &Homes<'_>,
    (reach, written): (&Reach<'_>, &Written<'_>),
    now: Timestamp,
) -> Option<String> {
    let terms = Terms {
        deadline: ProgressDeadline::None,
        paused: reach.paused,
        now,
    };
    let (mut all, mut moving) = (0_usize, 0_usize);
    let (mut first_start, mut added) = (None, 0_usize);
    for cluster in &reach.clusters {
        let Some(instance) = there(view, cluster).filter(|one| stays(view, homes, one)) else {
            continue;
        };
        all = all.saturating_add(1);
        let after = written.get(cluster);
        let stands = standing(view, instance, after, terms);
        let starts_here = stands.starts && after.is_some_and(|after| takes(view, homes, instance, after));
        if starts_here || (stands.was_moving && stands.moves) {
            moving = moving.saturating_add(1);
        }
        if starts_here {
            first_start = first_start.or(Some(cluster));
            added = added.saturating_add(usize::from(!stands.was_sent));
        }
    }
    if let Some(first) = first_start.filter(|_| reach.paused) {
        return Some(format!(
            "{first} takes a change of spec.configuration although its rollout is paused"
        ));
    }
    let limit = reach.limit.of(all).max(1);
    (added > 0 && moving > limit).then(|| {
        format!("{moving} clusters would be updating with spec.configuration, and the limit is {limit}")
    })
}

/// Whether an instance stays: what nothing selects any more goes, unless a user made it or another field manager applies it, and
/// takes part in nothing.
fn stays(view: &View<'_>, homes: &Homes<'_>, instance: &Instance) -> bool {
    let cluster = &instance.cluster;
    let selected = match &view.addon.strategy {
        InstallStrategy::Placements => homes.of(cluster) != FoundHome::None,
        InstallStrategy::Labels(selector) => {
            let found = view.cluster(cluster).zip(selector.as_ref());
            found.is_some_and(|(found, selector)| found.is_matched_by(selector))
        }
        InstallStrategy::Manual | InstallStrategy::BadLabels(_) | InstallStrategy::Other(_) => true,
    };
    selected || instance.installed_by.is_empty() || !instance.claims.adopter.is_empty()
}

/// Whether a write gives a cluster something else of what it takes from `spec.configuration` alone. A cluster that has nothing
/// yet gets the present configuration at once.
fn takes(view: &View<'_>, homes: &Homes<'_>, instance: &Instance, after: &[AssignedConfig]) -> bool {
    let home = match homes.of(&instance.cluster) {
        FoundHome::At(index) => Some(index),
        FoundHome::None => None,
        FoundHome::Unclear => return false,
    };
    let before = assigned(instance);
    let by = home.and_then(|index| view.addon.placements.get(index));
    let overridden = |of: &ConfigType| {
        let placed = by.into_iter().flat_map(|by| &by.configs);
        let mut others = placed.chain(&instance.configs);
        others.any(|config| config.of == *of)
    };
    let governed: BTreeSet<&ConfigType> = view
        .addon
        .configuration
        .iter()
        .map(|config| &config.of)
        .filter(|of| !overridden(of))
        .collect();
    let is_empty = |of: &ConfigType| {
        let mut those = instance.references.iter().filter(|one| one.config.of == *of);
        those.any(|one| is_nothing(view, instance, one))
    };
    let differs = |of: &&ConfigType| {
        !is_empty(of) && of_type(&before, of) != of_type(after, of) && !returns(view, instance, after, of)
    };
    !before.is_empty() && governed.iter().any(differs)
}

/// Whether a write gives back what a cluster has, confirmed or in its works, where what was assigned since has no content.
fn returns(view: &View<'_>, instance: &Instance, after: &[AssignedConfig], of: &ConfigType) -> bool {
    let those = || instance.references.iter().filter(|one| one.config.of == *of);
    let confirmed: Vec<(&str, &str, &str)> = those()
        .filter_map(|one| one.applied.as_ref())
        .map(|applied| (&*applied.namespace, &*applied.name, &*applied.hash))
        .collect();
    let is_made = |(namespace, name, hash): &(&str, &str, &str)| {
        let works = view.works(&instance.cluster);
        let mut made_of = works
            .filter(|work| deploys(instance, work))
            .flat_map(|work| parse_config_spec_hash(&work.hashes).unwrap_or_default());
        made_of.any(|(key, made)| {
            let is_of = *key.resource == *of.resource && *key.group == *of.group;
            is_of && *key.namespace == **namespace && *key.name == **name && *made == **hash
        })
    };
    let has = |one: &(&str, &str, &str)| confirmed.contains(one) || is_made(one);
    those().any(|one| one.desired.is_empty()) && of_type(after, of).iter().all(has)
}

/// What an assignment has of a type.
fn of_type<'g>(all: &'g [AssignedConfig], of: &ConfigType) -> Vec<(&'g str, &'g str, &'g str)> {
    let those = all.iter().filter(|one| one.config.of == *of);
    those
        .map(|one| (&*one.config.namespace, &*one.config.name, &*one.hash))
        .collect()
}

/// Whether nothing was ever made of a reference, and nothing can be: its content was never known, or is no longer there.
fn is_nothing(view: &View<'_>, instance: &Instance, reference: &Reference) -> bool {
    let config = &reference.config;
    let can_be = Kind::of_config(&config.of.group, &config.of.resource).is_none()
        || view.content(config, &reference.desired).is_some();
    let is_made = view.works(&instance.cluster).any(|work| deploys(instance, work));
    let is_lost = reference.desired.is_empty() || !(can_be || is_made);
    reference.applied.is_none() && is_lost && !runs_another(view, instance, config)
}

/// Whether a work is made of another object of the same type.
fn runs_another(view: &View<'_>, instance: &Instance, config: &ConfigRef) -> bool {
    let made_of = |work: &Work| parse_config_spec_hash(&work.hashes).unwrap_or_default();
    let is_other = |key: &ConfigKey| {
        let is_of = *key.resource == *config.of.resource && *key.group == *config.of.group;
        is_of && (*key.namespace != *config.namespace || *key.name != *config.name)
    };
    let mut works = view
        .works(&instance.cluster)
        .filter(|work| deploys(instance, work));
    works.any(|work| made_of(work).keys().any(is_other))
}
