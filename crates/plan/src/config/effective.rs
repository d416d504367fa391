//! The effective configuration of every instance, from its layers.
//!
//! Decides which object counts and what its hash is. Never hides a reference that leads nowhere: it stays in the list with
//! its fault.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::desired::{Desired, Effective};
use super::fault::ConfigFault;
use super::layers::{self, Source, is_of_templates, is_template, listed_types};
use super::notes::{self, Declared, Note};
use super::versioned::{Basis, Completed, Layer};
use super::way_back::{self, WayBack};
use crate::install::{InstanceFate, Wanted};
use crate::version::{OfferedVersions, asked, given};
use store::{ConfigRef, ConfigType, Instance, Layering, Name, Versions, View};

/// The effective configurations of an add-on.
#[derive(Debug)]
pub(crate) struct Configs {
    /// Default configurations in the order of the spec, for the add-on's status.
    pub defaults: Vec<Desired>,
    /// For each placement what its clusters inherit as the specs want it.
    pub inherited: Vec<Arc<Effective>>,
    /// For each placement the way back, where there is one.
    pub back: Vec<Option<WayBack>>,
    /// What each instance should run with, in the order of the view.
    pub instances: Vec<Arc<Effective>>,
    /// The types that an instance of a template add-on may override.
    pub supported: BTreeSet<ConfigType>,
    /// The versions that the templates of the add-on offer.
    pub versions: Versions,
    /// The version that a fresh install gets where no other is asked for, "" for none.
    pub default_version: Name,
}

/// What the configurations of all instances depend on, and single instances may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Common {
    declared: BTreeSet<ConfigType>,
    is_idle: bool,
    has_versions: bool,
}

impl Common {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let listed = listed_types(view.addon).any(is_template);
        let offered = OfferedVersions::of(view, listed);
        let has_versions = !offered.versions.is_empty();
        let declared = Declared::of(view, listed || has_versions);
        Self {
            declared: declared.types().cloned().collect(),
            is_idle: declared.is_idle(),
            has_versions,
        }
    }
}

/// Returns the effective configuration of every instance.
pub(crate) fn effective<'v>(view: &View<'v>, wanted: &Wanted<'v>) -> Configs {
    let addon = view.addon;
    let listed = listed_types(addon).any(is_template);
    let offered = OfferedVersions::of(view, listed);
    let declared = Declared::of(view, listed || !offered.versions.is_empty());
    let basis = Basis {
        view,
        offered: &offered,
        declared: &declared,
    };
    let defaults = layers::defaults(addon);
    let bare = layers::inherited(addon, &defaults);
    let mut placements: Vec<Layer<'v>> = wanted
        .placements
        .iter()
        .map(|selected| Layer::new(Some(selected.by), layers::placement(addon, &bare, selected.by)))
        .collect();
    let mut bare = Layer::new(None, bare);
    let shared: Vec<Arc<Effective>> = placements
        .iter_mut()
        .zip(&wanted.placements)
        .map(|(layer, selected)| layer.inherited(basis, given(selected.by)))
        .collect();
    let mut back = Vec::with_capacity(placements.len());
    for ((layer, selected), shared) in placements.iter_mut().zip(&wanted.placements).zip(&shared) {
        let way = way_back::way(basis, selected.by, shared);
        if let Some(way) = way.as_ref().filter(|way| way.undone.is_some()) {
            layer.go_back(way);
        }
        back.push(way);
    }
    let of_instance = |stand: &InstanceFate<'v>| {
        let (instance, home) = (stand.site.instance, stand.home);
        let asked = asked(
            addon,
            home.and_then(|index| wanted.placements.get(index)),
            instance,
        );
        let layer = home
            .and_then(|index| placements.get_mut(index))
            .unwrap_or(&mut bare);
        layer.of_instance(basis, instance, asked)
    };
    let instances = wanted.stands.iter().map(of_instance).collect();
    let preset: Vec<&ConfigRef> = defaults.iter().map(|entry| &entry.config).collect();
    let default_version = offered.preset(view, &preset);
    let by_default = |config: &ConfigRef| declared.by_default(addon, config);
    Configs {
        defaults: inherited(view, Completed::from(defaults), &declared, by_default).refs,
        instances,
        inherited: shared,
        back,
        supported: layers::supported_types(addon),
        versions: offered.versions,
        default_version,
    }
}

/// Agents may declare types that the add-on does not list; until one has, no type is known to be unsupported.
pub(super) fn inherited<'a>(
    view: &View<'_>,
    layer: Completed,
    declared: &Declared<'_>,
    noted: impl Fn(&ConfigRef) -> Note<'a>,
) -> Effective {
    let mut found = looked_up(view, layer, noted);
    let deployed = found.deployed;
    let is_supported = |of: &ConfigType| {
        listed_types(view.addon).any(|listed| listed == of)
            || (deployed && is_of_templates(of))
            || (!deployed && declared.allows(of))
    };
    found.refuse(|desired| !is_supported(&desired.config.of));
    found
}

/// What is inherited keeps its verdict, what is the cluster's own gets one.
pub(super) fn own(
    view: &View<'_>,
    layer: Completed,
    base: &Effective,
    instance: &Instance,
    declared: &Declared<'_>,
) -> Effective {
    let noted = |config: &ConfigRef| notes::on_instance(instance, base, config);
    let mut found = looked_up(view, layer, noted);
    // What was good has been looked up for all.
    for desired in &mut found.refs {
        let mut shared = base.refs.iter().filter(|one| one.source == desired.source);
        if let Some(same) = shared.find(|one| base.undone && one.config == desired.config) {
            desired.clone_from(same);
        }
    }
    // On this cluster another program may deploy what others get by its version.
    let deployed = base.deployed && found.deployed;
    let is_supported = |of: &ConfigType| {
        listed_types(view.addon).any(|listed| listed == of)
            || (deployed && is_of_templates(of))
            // What a template add-on declares is written by Tidegate itself and says nothing. What the program of another add-on
            // declares on one cluster counts on all: it writes the status of a new instance a moment later.
            || (!deployed && (instance.supported.contains(of) || declared.allows_on_any_cluster(of)))
    };
    found.refuse(|desired| match &desired.source {
        Source::Cluster => !is_supported(&desired.config.of),
        Source::Default | Source::Placement { .. } | Source::Version | Source::KnownGood(_) => {
            let mut same = base.refs.iter();
            same.any(|one| one.config == desired.config && one.fault == Some(ConfigFault::Unsupported))
        }
    });
    found
}

fn looked_up<'a>(view: &View<'_>, layer: Completed, noted: impl Fn(&ConfigRef) -> Note<'a>) -> Effective {
    let Completed { entries, bad_version } = layer;
    let own = entries.iter().map(|entry| &entry.config.of);
    let deployed = listed_types(view.addon).chain(own).any(is_template);
    let undone = entries
        .iter()
        .any(|entry| matches!(entry.source, Source::KnownGood(_)));
    let each = entries.iter().map(|entry| match &bad_version {
        Some(_) if entry.source == Source::Version => entry.without(ConfigFault::NoSuchVersion),
        Some(_) | None => notes::look_up(view, entry, noted(&entry.config), deployed),
    });
    let mut found = Effective {
        refs: each.collect(),
        unsupported: None,
        deployed,
        layering: Layering::Replace,
        bad_version,
        undone,
    };
    found.layer(view.addon.facts.merges);
    found
}
