//! Whose hash of an object counts: what the hub shows, or what is noted in a status.
//!
//! Decides between this program and the one that deploys a third-party add-on, so that the two never write over each other
//! indefinitely. Page: `docs/configuration.md`, "Add-ons that another program deploys".

use std::collections::BTreeSet;

use super::desired::{Desired, Effective};
use super::fault::ConfigFault;
use super::layers::{Entry, Source, is_template};
use crate::kept_content;
use store::{
    AddOn, Config, ConfigRef, ConfigState, ConfigType, Content, Instance, Name, PlacementUse, TypeFault, View,
};

/// What is noted of one reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note<'a> {
    /// The hash in the status, unless there is none.
    pub(super) hash: Option<&'a Name>,
    /// Whether the program that deploys the add-on writes it.
    pub(super) by_others: bool,
}

/// The types that the programs of third-party add-ons say they support.
#[derive(Debug, Default)]
pub(super) struct Declared<'v> {
    types: BTreeSet<&'v ConfigType>,
    /// No instance exists yet: a hash that is noted concerns no cluster, and stays as it is.
    is_idle: bool,
    /// The add-on is deployed from templates: what its instances declare says nothing.
    is_deployed: bool,
}

impl<'v> Declared<'v> {
    /// Collects what the instances of an add-on declare. The declarations of the controllers themselves do not count.
    pub(super) fn of(view: &View<'v>, deployed: bool) -> Self {
        if deployed {
            return Self {
                is_deployed: true,
                ..Self::default()
            };
        }
        let types = view
            .all_instances()
            .flat_map(|instance| instance.supported.iter())
            .collect();
        Self {
            types,
            is_idle: view.all_instances().next().is_none(),
            is_deployed: false,
        }
    }

    /// Returns the types that instances declare, sorted.
    pub(super) fn types(&self) -> impl Iterator<Item = &ConfigType> {
        self.types.iter().copied()
    }

    /// Returns whether nothing runs yet.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Returns whether an instance declares the type, or none declares any.
    pub(super) fn allows(&self, of: &ConfigType) -> bool {
        self.types.is_empty() || self.types.contains(of)
    }

    /// Returns whether a cluster may have a configuration of its own of the type, as far as other clusters tell.
    pub(super) fn allows_on_any_cluster(&self, of: &ConfigType) -> bool {
        !self.is_deployed && self.allows(of)
    }

    fn writes(&self, of: &ConfigType) -> bool {
        self.is_idle || self.types.contains(of)
    }

    /// The note for all clusters.
    pub(super) fn by_default<'a>(&self, addon: &'a AddOn, config: &ConfigRef) -> Note<'a> {
        let mut noted = addon.defaults.iter();
        Note {
            hash: noted
                .find(|(known, _)| known == config)
                .and_then(|(_, hash)| given(hash)),
            by_others: self.writes(&config.of),
        }
    }

    /// The note for the clusters of a placement.
    pub(super) fn for_placement<'a>(
        &self,
        addon: &'a AddOn,
        by: &PlacementUse,
        config: &ConfigRef,
    ) -> Note<'a> {
        let mut noted = addon.progressions.iter().flatten();
        let progression = noted.find(|one| one.namespace == by.namespace && one.name == by.name);
        let mut references = progression
            .into_iter()
            .flat_map(|progression| &progression.references);
        let hash = references
            .find(|reference| reference.config == *config)
            .and_then(|reference| given(&reference.desired));
        let default = self.by_default(addon, config);
        Note {
            hash: hash.or(default.hash),
            ..default
        }
    }
}

/// The note for one cluster: what is its own is noted in its status, the rest is inherited.
pub(super) fn on_instance<'a>(
    instance: &'a Instance,
    inherited: &'a Effective,
    config: &ConfigRef,
) -> Note<'a> {
    if instance.configs.contains(config) {
        let mut own = instance.references.iter();
        return Note {
            hash: own
                .find(|reference| reference.config == *config)
                .and_then(|reference| given(&reference.desired)),
            by_others: instance.supported.contains(&config.of),
        };
    }
    let mut refs = inherited.refs.iter();
    Note {
        hash: refs
            .find(|desired| desired.config == *config)
            .and_then(|desired| given(&desired.hash)),
        // What is inherited has been decided for all.
        by_others: true,
    }
}

fn given(hash: &Name) -> Option<&Name> {
    Some(hash).filter(|hash| !hash.is_empty())
}

/// Returns the reference with the hash that counts.
pub(super) fn look_up(view: &View<'_>, entry: &Entry, note: Note<'_>, deployed: bool) -> Desired {
    let desired = |hash: Option<&Name>, generation, fault| Desired {
        config: entry.config.clone(),
        source: entry.source.clone(),
        hash: hash.map_or_else(|| Name::from(""), Name::clone),
        generation,
        fault,
        copy: None,
    };
    if let Source::KnownGood(hash) = &entry.source {
        let copy = view.kept_content(&entry.config, hash);
        // A program that reads the object by its name finds no copy.
        let copy = copy.filter(|(.., content)| deployed && is_for(view, content));
        let (generation, fault) = known_good(view, &entry.config, hash, deployed || !note.by_others);
        return match (fault, copy) {
            (Some(_), Some((place, kept, _))) => Desired {
                copy: Some(kept_content::told(place, kept).into()),
                ..desired(Some(hash), None, None)
            },
            (Some(_), None) => Desired {
                copy: Some(kept_content::lost(view, &entry.config, hash).into()),
                ..desired(Some(hash), generation, fault)
            },
            (None, _) => desired(Some(hash), generation, None),
        };
    }
    if is_of_another(view, &entry.config) {
        return desired(None, Some(0), Some(ConfigFault::OfAnotherAddon));
    }
    match view.config_state(&entry.config) {
        ConfigState::Exists { hash, generation } => match note.hash {
            Some(noted) if !deployed && note.by_others && is_foreign(view, &entry.config, noted, hash) => {
                desired(Some(noted), None, None)
            }
            Some(_) | None => desired(Some(hash), Some(generation), None),
        },
        ConfigState::Absent(why) => desired(None, Some(0), Some(ConfigFault::Absent(why))),
        // A hash that was known before a restart stays until the object has been read.
        ConfigState::Unanswered => {
            let fault = note.hash.is_none().then_some(ConfigFault::NotWatchedYet);
            desired(note.hash, None, fault)
        }
        ConfigState::Faulty(fault) => {
            let is_reported = deployed || note.hash.is_none();
            let fault = match fault {
                TypeFault::Forbidden { verb } => ConfigFault::Forbidden { verb },
                TypeFault::NotServed => ConfigFault::NotServed,
                TypeFault::OffLimits => ConfigFault::OffLimits,
                TypeFault::TooMany => ConfigFault::TooManyTypes,
            };
            desired(note.hash, None, is_reported.then_some(fault))
        }
    }
}

/// What was known to be good keeps its hash, whatever the object says now: content of another hash is never given in its place.
fn known_good(
    view: &View<'_>,
    config: &ConfigRef,
    hash: &Name,
    is_ours: bool,
) -> (Option<i64>, Option<ConfigFault>) {
    if is_of_another(view, config) {
        return (None, Some(ConfigFault::OfAnotherAddon));
    }
    // Another program may hash its kind in its own way: then only what the object is known to have been tells that it was edited.
    match view.config_state(config) {
        ConfigState::Exists {
            hash: now,
            generation,
        } if now == hash => (Some(generation), None),
        ConfigState::Exists { .. } if is_ours || view.was_before(config, hash) => {
            (None, Some(ConfigFault::Superseded))
        }
        ConfigState::Absent(why) => (None, Some(ConfigFault::Absent(why))),
        ConfigState::Exists { .. } | ConfigState::Unanswered | ConfigState::Faulty(_) => (None, None),
    }
}

/// A template may give its agents permissions and certificates: they are for the add-on that its author names.
fn is_of_another(view: &View<'_>, config: &ConfigRef) -> bool {
    let found = is_template(&config.of).then(|| view.config(config)).flatten();
    found.is_some_and(|found| !is_for(view, found))
}

fn is_for(view: &View<'_>, content: &Config) -> bool {
    match &*content.content {
        Content::Template(template) => view
            .settings()
            .template_sharing
            .permits(template, &view.addon.name),
        Content::Deployment(_) | Content::Hub => true,
    }
}

/// Another program has computed another hash of what is there now: it knows its kind better, and writing ours would only
/// make it write again. What the object is known to have been before is merely late.
fn is_foreign(view: &View<'_>, config: &ConfigRef, noted: &Name, hash: &Name) -> bool {
    noted != hash && !view.was_before(config, noted)
}
