//! The store: what the tide knows of the hub. One writer applies events (`events`); readers take views (`view`).
//!
//! Decides nothing: what it is made of stands in `parts`, what happens to it in the files that know it.

use std::collections::BTreeMap;

use super::kind::{ObjectKey, Owner};
use super::names::Names;
use super::parts::changes::Changes;
use super::parts::config_watch::ConfigWatch;
use super::parts::indexes::Indexes;
use super::parts::kept::KeptByPlace;
use super::parts::objects::Objects;
use super::parts::pending::Pending;
use super::parts::standings::Standings;
use super::parts::tombstones::Tombstones;
use super::parts::unpublished::Published;
use super::parts::upgrades::Upgrades;
use super::settings::Settings;
use model::Name;

/// What the tide knows of the hub.
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
}

impl Store {
    /// Returns an empty store.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Returns the names of all add-ons.
    pub fn addons(&self) -> impl Iterator<Item = &Name> {
        self.objects.addons.keys()
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
