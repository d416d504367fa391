//! The effective configuration of every instance: default < placement < cluster, a whole type at a time.
//!
//! Decides which object counts and what its hash is. Never merges fields of two objects, and never hides a reference
//! that leads nowhere: it stays in the list with its fault.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::install::Wanted;
use super::version::{BadVersion, Shelf, asked, given};
use crate::snapshot::{
    AddOn, ConfigRef, ConfigType, Instance, Kind, Name, PlacementUse, Versions, View, terms,
};

/// Why a reference leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConfigFault {
    /// The object does not exist.
    NotFound,
    /// The kind lives in namespaces and the reference names none.
    NoNamespace,
    /// The tide does not watch this kind, so nobody knows its hash.
    NotWatched,
    /// No template offers the version that is asked for; the reference carries the version as its name.
    NoSuchVersion,
}

impl ConfigFault {
    /// Returns what is wrong, to follow the name of the reference.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "does not exist",
            Self::NoNamespace => "does not exist: the reference names no namespace",
            Self::NotWatched => "is of a kind that is not watched, so its hash is unknown",
            Self::NoSuchVersion => "does not exist: no AddOnTemplate offers this version",
        }
    }
}

/// One effective configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Desired {
    /// The object.
    pub config: ConfigRef,
    /// Its spec hash, "" when it is unknown.
    pub hash: Name,
    /// Its generation; absent where the program that knows the kind writes it.
    pub generation: Option<i64>,
    /// Why the hash is unknown.
    pub fault: Option<ConfigFault>,
}

/// The effective configuration of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effective {
    /// Sorted by type; within a type in the order of the author.
    pub refs: Vec<Desired>,
    /// First type of the instance's own list that the add-on does not support.
    pub unsupported: Option<ConfigType>,
    /// Whether the tide deploys the add-on from a template.
    pub deployed: bool,
    /// The version that is asked for, if nobody offers it.
    pub bad_version: Option<BadVersion>,
}

/// The effective configurations of an add-on.
#[derive(Debug)]
pub(super) struct Configs<'v> {
    /// Default configurations in the order of the spec, for the add-on's status.
    pub defaults: Vec<Desired>,
    /// For each placement what its clusters inherit.
    pub inherited: Vec<Arc<Effective>>,
    /// What each instance should run with, in the order of the view.
    pub instances: Vec<(&'v Instance, Arc<Effective>)>,
    /// The types that an instance of a template add-on may override.
    pub supported: BTreeSet<ConfigType>,
    /// The versions that the templates of the add-on offer.
    pub versions: Versions,
}

/// What the instances of one placement inherit, or those of none: the same for all that ask for the same version.
struct Layer<'v> {
    by: Option<&'v PlacementUse>,
    configs: Vec<ConfigRef>,
    by_version: BTreeMap<Name, Arc<Effective>>,
}

impl<'v> Layer<'v> {
    fn new(by: Option<&'v PlacementUse>, configs: Vec<ConfigRef>) -> Self {
        Self {
            by,
            configs,
            by_version: BTreeMap::new(),
        }
    }

    /// Returns what instances inherit that ask for a version.
    fn inherited(&mut self, view: &View<'_>, shelf: &Shelf, asked: &Name) -> Arc<Effective> {
        if let Some(known) = self.by_version.get(asked) {
            return Arc::clone(known);
        }
        let noted = |config: &ConfigRef| match self.by {
            Some(by) => noted_for(view.addon, by, config),
            None => noted_by_default(view.addon, config),
        };
        let found = looked_up(view, shelf.complete(view, &self.configs, asked), noted);
        let found = Arc::new(found);
        self.by_version.insert(asked.clone(), Arc::clone(&found));
        found
    }

    /// Returns what one instance should run with.
    fn of_instance(&mut self, view: &View<'_>, shelf: &Shelf, at: (&Instance, Name)) -> Arc<Effective> {
        let (instance, asked) = at;
        let shared = self.inherited(view, shelf, &asked);
        let elsewhere = shelf.leaves_alone(view, instance);
        let orphan = shelf.orphan(&self.configs, instance);
        if instance.configs.is_empty() && !elsewhere && orphan.is_none() {
            return shared;
        }
        let list = overridden(&self.configs, &instance.configs);
        let completed = match (elsewhere, orphan) {
            (true, _) => (list, None),
            (false, Some(bad)) if !list.iter().any(|config| is_template(&config.of)) => {
                Shelf::keep(list, bad)
            }
            (false, _) => shelf.complete(view, &list, &asked),
        };
        let noted = |config: &ConfigRef| noted_on(instance, &shared, config);
        let mut own = looked_up(view, completed, noted);
        own.unsupported = unsupported(view.addon, instance, own.deployed);
        Arc::new(own)
    }
}

/// Returns the effective configuration of every instance.
pub(super) fn effective<'v>(view: &View<'v>, wanted: &Wanted<'v>) -> Configs<'v> {
    let defaults = defaults(view.addon);
    let shelf = Shelf::of(view, listed_types(view.addon).any(is_template));
    let mut bare = Layer::new(None, overridden(&defaults, &[]));
    let mut layers: Vec<Layer<'v>> = wanted
        .placements
        .iter()
        .map(|selected| Layer::new(Some(selected.by), overridden(&defaults, &selected.by.configs)))
        .collect();
    let inherited = layers
        .iter_mut()
        .zip(&wanted.placements)
        .map(|(layer, selected)| layer.inherited(view, &shelf, &given(selected.by)))
        .collect();
    let of_instance = |instance: &'v Instance| {
        let home = wanted.home.get(&instance.cluster).copied();
        let asked = asked(home.and_then(|index| wanted.placements.get(index)), instance);
        let layer = home.and_then(|index| layers.get_mut(index)).unwrap_or(&mut bare);
        (instance, layer.of_instance(view, &shelf, (instance, asked)))
    };
    Configs {
        defaults: looked_up(view, (defaults, None), |config| {
            noted_by_default(view.addon, config)
        })
        .refs,
        instances: view.instances().map(of_instance).collect(),
        inherited,
        supported: supported_types(view.addon),
        versions: shelf.versions,
    }
}

/// The hash of a kind that the tide does not watch is noted by the program that knows the kind: here for all clusters.
fn noted_by_default<'v>(addon: &'v AddOn, config: &ConfigRef) -> Option<&'v Name> {
    let mut noted = addon.defaults.iter();
    noted.find(|(known, _)| known == config).map(|(_, hash)| hash)
}

/// The same for the clusters of a placement.
fn noted_for<'v>(addon: &'v AddOn, by: &PlacementUse, config: &ConfigRef) -> Option<&'v Name> {
    let mut noted = addon.progressions.iter().flatten();
    let progression = noted.find(|one| one.namespace == by.namespace && one.name == by.name);
    let references = progression
        .into_iter()
        .flat_map(|progression| &progression.references);
    references
        .filter(|reference| reference.config == *config && !reference.desired.is_empty())
        .map(|reference| &reference.desired)
        .next()
        .or_else(|| noted_by_default(addon, config))
}

/// The same for one cluster: what is its own is noted in its status, the rest is inherited.
fn noted_on<'a>(instance: &'a Instance, inherited: &'a Effective, config: &ConfigRef) -> Option<&'a Name> {
    if instance.configs.contains(config) {
        let mut own = instance.references.iter();
        return own
            .find(|reference| reference.config == *config)
            .map(|reference| &reference.desired);
    }
    let mut refs = inherited.refs.iter();
    refs.find(|desired| desired.config == *config)
        .map(|desired| &desired.hash)
}

/// Returns the types that an instance of a template add-on may override, sorted.
fn supported_types(addon: &AddOn) -> BTreeSet<ConfigType> {
    let own = [Kind::DeploymentConfig, Kind::Template].map(type_of);
    listed_types(addon).cloned().chain(own).collect()
}

/// The types that the add-on's author lists, with a default or without.
fn listed_types(addon: &AddOn) -> impl Iterator<Item = &ConfigType> {
    let configured = addon.configuration.iter().map(|config| &config.of);
    addon
        .supported
        .iter()
        .map(|supported| &supported.of)
        .chain(configured)
}

/// Returns whether a type is `AddOnTemplate`.
pub(super) fn is_template(of: &ConfigType) -> bool {
    Kind::of_config(&of.group, &of.resource) == Some(Kind::Template)
}

/// Returns the type of a configuration kind.
pub(super) fn type_of(kind: Kind) -> ConfigType {
    let address = kind.address();
    ConfigType {
        group: address.group.into(),
        resource: address.resource.into(),
    }
}

/// `spec.configuration.configs` wins over `spec.supportedConfigs[].defaultConfig` of the same type.
fn defaults(addon: &AddOn) -> Vec<ConfigRef> {
    let mut all = Vec::new();
    for supported in &addon.supported {
        let newer: Vec<&ConfigRef> = addon
            .configuration
            .iter()
            .filter(|config| config.of == supported.of)
            .collect();
        if newer.is_empty() {
            all.extend(supported.config.clone());
        } else {
            all.extend(newer.into_iter().cloned());
        }
    }
    let known: BTreeSet<&ConfigType> = addon.supported.iter().map(|supported| &supported.of).collect();
    all.extend(
        addon
            .configuration
            .iter()
            .filter(|config| !known.contains(&config.of))
            .cloned(),
    );
    all.retain(|config| *config.name != *terms::NO_DEFAULT);
    all
}

/// Returns `base` with every type that `layer` mentions replaced as a whole, sorted by type.
fn overridden(base: &[ConfigRef], layer: &[ConfigRef]) -> Vec<ConfigRef> {
    let replaced: BTreeSet<&ConfigType> = layer.iter().map(|config| &config.of).collect();
    let kept = base.iter().filter(|config| !replaced.contains(&config.of));
    let mut seen = BTreeSet::new();
    let mut all: Vec<ConfigRef> = kept
        .chain(layer)
        .filter(|config| seen.insert(*config))
        .cloned()
        .collect();
    all.sort_by(|one, other| one.of.cmp(&other.of));
    all
}

fn looked_up<'a>(
    view: &View<'_>,
    (configs, bad_version): (Vec<ConfigRef>, Option<BadVersion>),
    noted: impl Fn(&ConfigRef) -> Option<&'a Name>,
) -> Effective {
    let is_bad = |config: &ConfigRef| {
        is_template(&config.of) && bad_version.as_ref().is_some_and(|bad| bad.asked == config.name)
    };
    let refs: Vec<Desired> = configs
        .into_iter()
        .map(|config| {
            if is_bad(&config) {
                return Desired::without(config, ConfigFault::NoSuchVersion);
            }
            look_up(view, &config, &noted)
        })
        .collect();
    let own = refs.iter().map(|desired| &desired.config.of);
    let deployed = listed_types(view.addon).chain(own).any(is_template);
    Effective {
        deployed,
        refs,
        unsupported: None,
        bad_version,
    }
}

impl Desired {
    /// A reference that leads nowhere.
    fn without(config: ConfigRef, fault: ConfigFault) -> Self {
        Self {
            config,
            hash: Name::from(""),
            generation: Some(0),
            fault: Some(fault),
        }
    }
}

fn look_up<'a>(
    view: &View<'_>,
    config: &ConfigRef,
    noted: &impl Fn(&ConfigRef) -> Option<&'a Name>,
) -> Desired {
    let desired = |hash: Option<&Name>, generation, fault| Desired {
        config: config.clone(),
        hash: hash.map_or_else(|| Name::from(""), Name::clone),
        generation,
        fault,
    };
    let missing = |fault| desired(None, Some(0), Some(fault));
    match (
        view.config(config),
        Kind::of_config(&config.of.group, &config.of.resource),
    ) {
        (Some(found), _) => desired(Some(&found.hash), Some(found.meta.generation), None),
        (None, None) => match noted(config).filter(|hash| !hash.is_empty()) {
            Some(hash) => desired(Some(hash), None, None),
            None => desired(None, None, Some(ConfigFault::NotWatched)),
        },
        (None, Some(kind)) if kind.address().namespaced && config.namespace.is_empty() => {
            missing(ConfigFault::NoNamespace)
        }
        (None, Some(_)) => missing(ConfigFault::NotFound),
    }
}

fn unsupported(addon: &AddOn, instance: &Instance, deployed: bool) -> Option<ConfigType> {
    let has_template = deployed;
    // What a template add-on declares is written by the tide itself: its echo says nothing.
    let known = |of: &ConfigType| {
        listed_types(addon).any(|listed| listed == of)
            || (!has_template && instance.supported.contains(of))
            || (has_template && *of == type_of(Kind::DeploymentConfig))
    };
    instance
        .configs
        .iter()
        .map(|config| &config.of)
        .find(|of| !known(of))
        .cloned()
}
