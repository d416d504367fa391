//! The store: the state of the hub as the controllers have observed it. One writer applies events (`events`); readers take views (`view`).
//!
//! Decides nothing: what it is made of is in `parts`, what happens to it in the files that know it.

use std::collections::{BTreeMap, BTreeSet};

use super::kind::{Kind, ObjectKey, Owner};
use super::names::Names;
use super::parts::changes::Changes;
use super::parts::config_watch::ConfigWatch;
use super::parts::kept::KeptByPlace;
use super::parts::memory_budget::MemoryBudget;
use super::parts::objects::Indexes;
use super::parts::objects::Objects;
use super::parts::objects::Pending;
use super::parts::objects::Tombstones;
use super::parts::objects::Upgrades;
use super::parts::standings::Standings;
use super::parts::unpublished::Published;
use super::settings::Settings;
use model::Name;

/// The observed state of the hub.
#[derive(Debug, Default)]
pub struct Store {
    pub(super) settings: Settings,
    pub(super) names: Names,
    pub(super) objects: Objects,
    pub(super) kept: KeptByPlace,
    pub(super) indexes: Indexes,
    pub(super) tombstones: Tombstones,
    pub(super) pending: Pending,
    pub(super) changes: Changes,
    pub(super) sights: ConfigWatch,
    pub(super) published: Published,
    pub(super) upgrades: Upgrades,
    pub(super) standings: Standings,
    /// Absent where everything is kept.
    pub(super) memory_budget: Option<MemoryBudget>,
}

impl Store {
    /// Returns an empty store.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Returns the operator's choices.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns an empty store that leaves out large objects that exceed the memory budget; for programs that run for a long time.
    #[must_use]
    pub fn bounded(settings: Settings) -> Self {
        Self {
            memory_budget: Some(MemoryBudget::default()),
            ..Self::new(settings)
        }
    }

    /// Returns why an object is left out, if the memory budget is exceeded.
    pub fn left_out(&self, key: &ObjectKey) -> Option<&str> {
        let is_left_out = self
            .memory_budget
            .as_ref()
            .is_some_and(|budget| budget.is_left_out(key));
        let why = is_left_out.then(|| self.pending.faults.get(key));
        why.flatten().map(String::as_str)
    }

    /// Returns the kinds of which objects are left out that fit now.
    pub fn fitting(&self) -> BTreeSet<Kind> {
        self.memory_budget
            .iter()
            .flat_map(MemoryBudget::fitting)
            .collect()
    }

    /// Returns the names of all add-ons.
    pub fn addons(&self) -> impl Iterator<Item = &Name> {
        self.objects.addons.keys()
    }

    /// Returns the names of the clusters, sorted.
    pub fn cluster_names(&self) -> impl Iterator<Item = &Name> {
        self.objects.clusters.keys()
    }

    /// Returns the objects that could not be decoded, with the reason.
    pub fn faults(&self) -> &BTreeMap<ObjectKey, String> {
        &self.pending.faults
    }

    /// Takes the faults that were found since the last call.
    pub fn take_new_faults(&mut self) -> Vec<(ObjectKey, String)> {
        std::mem::take(&mut self.pending.new_faults)
    }

    /// Returns how many own writes for `owner` the store has yet to see.
    pub fn awaited(&self, owner: &Owner) -> usize {
        self.pending.expectations.open(owner)
    }

    /// Returns the objects of which the store has yet to see an own write for `owner`.
    pub fn awaited_objects(&self, owner: &Owner) -> Vec<ObjectKey> {
        self.pending.expectations.objects(owner)
    }

    /// Gives up waiting for the own writes for `owner`.
    pub fn forget_awaited(&mut self, owner: &Owner) {
        self.pending.expectations.forget(owner);
    }
}
