//! The effective configuration of every instance, from its layers.
//!
//! Decides which object counts and what its hash is. Never hides a reference that leads nowhere: it stays in the list with
//! its fault.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fault::ConfigFault;
use super::layers::{self, Entry, Source, is_of_templates, is_template, listed_types};
use super::notes::{self, Declared, Note};
use super::versioned::{Basis, Completed, Layer};
use crate::plan::install::{Stand, Wanted};
use crate::plan::version::{BadVersion, Shelf, asked, given};
use crate::snapshot::{ConfigRef, ConfigType, Instance, Name, Reference, Versions, View};

/// One effective configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) struct Desired {
    /// The object.
    pub config: ConfigRef,
    /// The layer that it comes from.
    pub source: Source,
    /// Its spec hash, "" when it is unknown.
    pub hash: Name,
    /// Its generation; absent where the program that knows the kind writes it.
    pub generation: Option<i64>,
    /// Why the hash is unknown, or cannot be verified.
    pub fault: Option<ConfigFault>,
}

/// The effective configuration of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) struct Effective {
    /// Sorted by type; within a type in the order of the author.
    pub refs: Vec<Desired>,
    /// First type, in whatever layer, that the add-on does not support.
    pub unsupported: Option<ConfigType>,
    /// Whether the tide deploys the add-on from a template.
    pub deployed: bool,
    /// The version that is asked for, if nobody offers it.
    pub bad_version: Option<BadVersion>,
}

/// The effective configurations of an add-on.
#[derive(Debug)]
pub(in crate::plan) struct Configs {
    /// Default configurations in the order of the spec, for the add-on's status.
    pub defaults: Vec<Desired>,
    /// For each placement what its clusters inherit.
    pub inherited: Vec<Arc<Effective>>,
    /// What each instance should run with, in the order of the view.
    pub instances: Vec<Arc<Effective>>,
    /// The types that an instance of a template add-on may override.
    pub supported: BTreeSet<ConfigType>,
    /// The versions that the templates of the add-on offer.
    pub versions: Versions,
    /// The version that a fresh install gets where nobody asks for another, "" for none.
    pub default_version: Name,
}

/// What the configurations of all instances depend on, and single instances may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plan) struct Common {
    declared: BTreeSet<ConfigType>,
    is_idle: bool,
    has_versions: bool,
}

impl Common {
    pub(in crate::plan) fn of(view: &View<'_>) -> Self {
        let listed = listed_types(view.addon).any(is_template);
        let shelf = Shelf::of(view, listed);
        let has_versions = !shelf.versions.is_empty();
        let declared = Declared::of(view, listed || has_versions);
        Self {
            declared: declared.types().cloned().collect(),
            is_idle: declared.is_idle(),
            has_versions,
        }
    }
}

/// Returns the effective configuration of every instance.
pub(in crate::plan) fn effective<'v>(view: &View<'v>, wanted: &Wanted<'v>) -> Configs {
    let addon = view.addon;
    let listed = listed_types(addon).any(is_template);
    let shelf = Shelf::of(view, listed);
    let declared = Declared::of(view, listed || !shelf.versions.is_empty());
    let basis = Basis {
        view,
        shelf: &shelf,
        declared: &declared,
    };
    let defaults = layers::defaults(addon);
    let bare = layers::inherited(&defaults);
    let mut placements: Vec<Layer<'v>> = wanted
        .placements
        .iter()
        .map(|selected| Layer::new(Some(selected.by), layers::placement(&bare, selected.by)))
        .collect();
    let mut bare = Layer::new(None, bare);
    let shared = placements
        .iter_mut()
        .zip(&wanted.placements)
        .map(|(layer, selected)| layer.inherited(basis, given(selected.by)))
        .collect();
    let of_instance = |stand: &Stand<'v>| {
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
    let default_version = shelf.preset(view, &preset);
    let by_default = |config: &ConfigRef| declared.by_default(addon, config);
    Configs {
        defaults: inherited(view, Completed::from(defaults), &declared, by_default).refs,
        instances,
        inherited: shared,
        supported: layers::supported_types(addon),
        versions: shelf.versions,
        default_version,
    }
}

/// Agents may declare types that the add-on does not list; until one has, nobody can say that a type is not supported.
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
pub(super) fn own(view: &View<'_>, layer: Completed, base: &Effective, instance: &Instance) -> Effective {
    let noted = |config: &ConfigRef| notes::on_instance(instance, base, config);
    let mut found = looked_up(view, layer, noted);
    // On this cluster another program may deploy what others get by its version.
    let deployed = base.deployed && found.deployed;
    let is_supported = |of: &ConfigType| {
        listed_types(view.addon).any(|listed| listed == of)
            || (deployed && is_of_templates(of))
            // What a template add-on declares is written by the tide itself: its echo says nothing.
            || (!deployed && instance.supported.contains(of))
    };
    found.refuse(|desired| match &desired.source {
        Source::Cluster => !is_supported(&desired.config.of),
        Source::Default | Source::Placement { .. } | Source::Version => {
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
    let each = entries.iter().map(|entry| match &bad_version {
        Some(_) if entry.source == Source::Version => entry.without(ConfigFault::NoSuchVersion),
        Some(_) | None => notes::look_up(view, entry, noted(&entry.config), deployed),
    });
    Effective {
        refs: each.collect(),
        unsupported: None,
        deployed,
        bad_version,
    }
}

impl Entry {
    /// The reference leads nowhere.
    fn without(&self, fault: ConfigFault) -> Desired {
        Desired {
            config: self.config.clone(),
            source: self.source.clone(),
            hash: Name::from(""),
            generation: Some(0),
            fault: Some(fault),
        }
    }
}

impl Effective {
    fn refuse(&mut self, is_refused: impl Fn(&Desired) -> bool) {
        for desired in self.refs.iter_mut().filter(|desired| is_refused(desired)) {
            desired.fault = Some(ConfigFault::Unsupported);
            if self.deployed {
                desired.hash = Name::from("");
                desired.generation = Some(0);
            }
            self.unsupported.get_or_insert_with(|| desired.config.of.clone());
        }
    }

    /// Returns whether the only thing that differs from what is assigned is the content of the cluster's own
    /// configurations: such an edit may pass the rollout strategy by.
    pub(in crate::plan) fn moves_at_once(&self, old: &[Reference]) -> bool {
        let same_objects = old.len() == self.refs.len()
            && old
                .iter()
                .zip(&self.refs)
                .all(|(reference, desired)| reference.config == desired.config);
        let mut changed = old
            .iter()
            .zip(&self.refs)
            .filter(|(reference, desired)| reference.desired != desired.hash)
            .peekable();
        same_objects
            && changed.peek().is_some()
            && changed.all(|(_, desired)| desired.source == Source::Cluster)
    }

    /// Returns what is assigned with the present content of the cluster's own configurations, if that differs: all that a
    /// cluster may take that must wait with the rest.
    pub(in crate::plan) fn refreshed(&self, old: &[Reference]) -> Option<Vec<Reference>> {
        let renewed = |reference: &Reference| {
            let mut own = self
                .refs
                .iter()
                .filter(|desired| desired.source == Source::Cluster);
            let desired = own.find(|desired| desired.config == reference.config)?;
            (desired.hash != reference.desired).then(|| Reference {
                desired: desired.hash.clone(),
                generation: desired.generation.unwrap_or(reference.generation),
                exact: true,
                ..reference.clone()
            })
        };
        let all: Vec<Option<Reference>> = old.iter().map(renewed).collect();
        all.iter().any(Option::is_some).then(|| {
            let each = all.into_iter().zip(old);
            each.map(|(renewed, old)| renewed.unwrap_or_else(|| old.clone()))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> ConfigRef {
        let of = ConfigType {
            group: "g".into(),
            resource: "things".into(),
        };
        ConfigRef {
            of,
            namespace: "".into(),
            name: text.into(),
        }
    }

    /// `a=1` is inherited, `a=1*` the cluster's own.
    fn effective(text: &str) -> Effective {
        let desired = |word: &str| {
            let (name, hash) = word.trim_end_matches('*').split_once('=').unwrap();
            Desired {
                config: config(name),
                source: if word.ends_with('*') {
                    Source::Cluster
                } else {
                    Source::Default
                },
                hash: hash.into(),
                generation: Some(1),
                fault: None,
            }
        };
        Effective {
            refs: text.split_whitespace().map(desired).collect(),
            unsupported: None,
            deployed: true,
            bad_version: None,
        }
    }

    fn assigned(text: &str) -> Vec<Reference> {
        let reference = |word: &str| {
            let (name, hash) = word.split_once('=').unwrap();
            Reference {
                config: config(name),
                desired: hash.into(),
                applied: None,
                generation: 1,
                exact: true,
            }
        };
        text.split_whitespace().map(reference).collect()
    }

    #[test]
    fn only_edits_of_a_clusters_own_configurations_pass_a_rollout_by() {
        let rows = [
            ("a=1 b=1", "a=1 b=1*", false, ""),
            ("a=1 b=1", "a=1 b=2*", true, "a=1 b=2"),
            ("a=1 b=1", "a=2 b=2*", false, "a=1 b=2"),
            ("a=1 b=1", "a=2 b=1*", false, ""),
            ("a=1", "a=1 b=2*", false, ""),
            ("b=1 a=1", "a=1* b=2*", false, "b=2 a=1"),
            ("", "", false, ""),
        ];
        for (old, new, at_once, refreshed) in rows {
            let (old, new) = (assigned(old), effective(new));
            assert_eq!(new.moves_at_once(&old), at_once, "{old:?}");
            let got = new.refreshed(&old).unwrap_or_default();
            let got: Vec<String> = got
                .iter()
                .map(|one| format!("{}={}", one.config.name, one.desired))
                .collect();
            assert_eq!(got.join(" "), refreshed);
        }
    }
}
