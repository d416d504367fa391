//! The layer of versions: the template that stands for a version, put into the references of the other layers.
//!
//! Decides which instances share their effective configuration: those of one placement that ask for the same version and
//! have nothing of their own. Which template it is, `plan::version` says.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::desired::Effective;
use super::effective::{inherited, own};
use super::layers::{self, Entry, Source, is_template};
use super::notes::Declared;
use super::way_back::WayBack;
use crate::version::{BadVersion, OfferedVersions, Pick, given};
use store::{ConfigRef, Instance, Layering, Name, PlacementUse, View};

/// What every layer of an add-on is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Basis<'a, 'v> {
    pub(super) view: &'a View<'v>,
    pub(super) offered: &'a OfferedVersions,
    pub(super) declared: &'a Declared<'v>,
}

/// The references of all layers, that of the version included.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) entries: Vec<Entry>,
    /// The version that is asked for, if no template offers it: its reference carries the version as its name.
    pub(super) bad_version: Option<BadVersion>,
}

impl From<Vec<Entry>> for Completed {
    fn from(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            bad_version: None,
        }
    }
}

impl Completed {
    fn new(mut entries: Vec<Entry>, pick: Pick) -> Self {
        let (template, bad_version) = match pick {
            Pick::Nothing => return Self::from(entries),
            Pick::Template(template) => (template, None),
            Pick::Bad(bad) => (bad.reference(), Some(bad)),
        };
        let at = entries.partition_point(|entry| entry.config.of <= template.of);
        let source = Source::Version;
        entries.insert(
            at,
            Entry {
                config: template,
                source,
            },
        );
        Self { entries, bad_version }
    }
}

/// What the instances of one placement inherit, or those of none.
#[derive(Debug)]
pub(super) struct Layer<'v> {
    by: Option<&'v PlacementUse>,
    entries: Vec<Entry>,
    by_version: BTreeMap<Name, Arc<Effective>>,
    back: Option<Back>,
}

/// What the clusters of a placement go back to.
#[derive(Debug)]
struct Back {
    good: Arc<Effective>,
    /// Whether templates follow from versions here, so that a cluster may choose one.
    by_version: bool,
}

impl<'v> Layer<'v> {
    pub(super) fn new(by: Option<&'v PlacementUse>, entries: Vec<Entry>) -> Self {
        Self {
            by,
            entries,
            by_version: BTreeMap::new(),
            back: None,
        }
    }

    /// Puts what was last known to be good in the place of what the specs want.
    pub(super) fn go_back(&mut self, way: &WayBack) {
        let by_version = !self.entries.iter().any(|entry| is_template(&entry.config.of));
        self.entries.clone_from(&way.entries);
        self.by_version.clear();
        self.back = Some(Back {
            good: Arc::clone(&way.good),
            by_version,
        });
    }

    /// Returns the references of instances that ask for a version: what a cluster has chosen is no part of what was undone.
    fn entries(&self, asked: &str) -> Vec<Entry> {
        let is_chosen = self.chooses(asked);
        let kept = self
            .entries
            .iter()
            .filter(|entry| !is_chosen || !is_template(&entry.config.of));
        kept.cloned().collect()
    }

    fn chooses(&self, asked: &str) -> bool {
        let by_version = self.back.as_ref().is_some_and(|back| back.by_version);
        by_version && !asked.is_empty() && self.by.is_none_or(|by| given(by) != asked)
    }

    /// Returns what instances inherit that ask for a version.
    pub(super) fn inherited(&mut self, basis: Basis<'_, 'v>, asked: &str) -> Arc<Effective> {
        if let Some(back) = self.back.as_ref().filter(|_| !self.chooses(asked)) {
            return Arc::clone(&back.good);
        }
        if let Some(known) = self.by_version.get(asked) {
            return Arc::clone(known);
        }
        let Basis {
            view,
            offered,
            declared,
        } = basis;
        let noted = |config: &ConfigRef| match self.by {
            Some(by) => declared.for_placement(view.addon, by, config),
            None => declared.by_default(view.addon, config),
        };
        let entries = self.entries(asked);
        let pick = offered.pick(view, &configs(&entries), asked);
        let completed = Completed::new(entries, pick);
        let found = Arc::new(inherited(view, completed, declared, noted));
        self.by_version.insert(Name::from(asked), Arc::clone(&found));
        found
    }

    /// Returns what one instance should run with.
    pub(super) fn of_instance(
        &mut self,
        basis: Basis<'_, 'v>,
        instance: &Instance,
        asked: &str,
    ) -> Arc<Effective> {
        let Basis {
            view,
            offered,
            declared,
        } = basis;
        let shared = self.inherited(basis, asked);
        let inherited = self.entries(asked);
        let is_of_others = offered.leaves_alone(view, instance);
        let orphan = offered
            .may_have_orphans()
            .then(|| offered.orphan(&configs(&inherited), instance))
            .flatten();
        if instance.configs.is_empty() && !is_of_others && orphan.is_none() {
            return shared;
        }
        // Content that is rolled back to counts as before, whatever the specs require now.
        let merges = view.addon.facts.merges
            || self
                .back
                .as_ref()
                .is_some_and(|back| back.good.layering == Layering::Merge);
        let entries = layers::cluster(view.addon, merges, &inherited, instance);
        let pick = match orphan {
            _ if is_of_others => Pick::Nothing,
            Some(bad) if offered.orphan(&configs(&entries), instance).is_some() => Pick::Bad(bad),
            Some(_) | None => offered.pick(view, &configs(&entries), asked),
        };
        let mut found = own(view, Completed::new(entries, pick), &shared, instance, declared);
        found.layer(merges);
        Arc::new(found)
    }
}

fn configs(entries: &[Entry]) -> Vec<&ConfigRef> {
    entries.iter().map(|entry| &entry.config).collect()
}
