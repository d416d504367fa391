//! Objects that cannot be read by their name: reasons for removals, and objects that no list shows.
//!
//! Decides which owners depend on such an object, and whether that is the whole owner or only what it has on one cluster. The shell
//! records what the hub answered, plans show it; it is forgotten as soon as the objects are read. Never lets anything go.

use std::collections::BTreeMap;

use crate::kind::{Holds, Kind, ObjectKey, Owner, Place, Touched};
use crate::store::Store;
use crate::view::View;
use model::Name;

/// An object that cannot be read, as far as an owner depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable<'s> {
    /// The first of them.
    pub object: &'s ObjectKey,
    /// What the hub answers.
    pub why: &'s Name,
    /// How many more there are.
    pub more: usize,
}

impl Store {
    /// Records which reasons for removals for an owner could not be read, and what the hub answers. Returns whether that is new.
    pub fn reasons_answered(&mut self, owner: &Owner, unread: BTreeMap<ObjectKey, Name>) -> bool {
        let before = self.pending.unread.remove(owner).unwrap_or_default();
        let is_news = unread != before;
        if !unread.is_empty() {
            self.pending.unread.insert(owner.clone(), unread);
        }
        if is_news {
            self.changes.of_all(owner);
        }
        is_news
    }

    /// Records that the plan for an owner needs no reasons for removals any more.
    pub fn reasons_read(&mut self, owner: &Owner) {
        if self.pending.unread.remove(owner).is_some() {
            self.changes.of_all(owner);
        }
    }

    /// Records which objects cannot be read that no list shows, and what the hub answers. Returns the owners whose plan may differ
    /// now.
    pub fn set_unreadable(&mut self, unreadable: BTreeMap<ObjectKey, Name>) -> Touched {
        let before = std::mem::replace(&mut self.pending.unreadable, unreadable);
        let now = &self.pending.unreadable;
        let gone = before.iter().filter(|(key, why)| now.get(*key) != Some(*why));
        let come = now.iter().filter(|(key, why)| before.get(*key) != Some(*why));
        let touched: Touched = gone
            .chain(come)
            .flat_map(|(key, _)| self.dependents(key))
            .collect();
        for owner in &touched {
            self.changes.of_all(owner);
        }
        touched
    }

    /// Returns all objects that cannot be read: those that no list shows, and reasons for removals.
    pub fn unreadable(&self) -> impl Iterator<Item = &ObjectKey> {
        let reasons = self.pending.unread.values().flat_map(BTreeMap::keys);
        self.pending.unreadable.keys().chain(reasons)
    }

    /// Returns the owners whose plans depend on an object.
    pub fn dependents(&self, key: &ObjectKey) -> Touched {
        let place = || (key.namespace.clone(), key.name.clone());
        match key.kind.holds() {
            Holds::Nothing => Touched::new(),
            Holds::AddOn | Holds::Instance => Touched::from([Owner::addon(&key.name)]),
            Holds::Cluster => self.indexes.by_cluster.of(&key.name).map(Owner::addon).collect(),
            Holds::Placement => self.indexes.by_placement.of(&place()).cloned().collect(),
            Holds::Decision => {
                let filed = self.indexes.decision_places.get(&place());
                // It is not known of which placement one is that was never read: of any of its namespace.
                let may_be_of = |placement: &&Place| match filed {
                    Some(filed) => *placement == filed,
                    None => placement.0 == key.namespace,
                };
                let placements = self.indexes.by_placement.keys().filter(may_be_of);
                placements
                    .flat_map(|placement| self.indexes.by_placement.of(placement).cloned())
                    .collect()
            }
            Holds::Work => {
                if let Some((addon, _)) = self.indexes.work_places.get(&place()) {
                    return Touched::from([Owner::addon(addon)]);
                }
                // One that was never read has its add-on in its name.
                let rest = key.name.strip_prefix("addon-").unwrap_or_default();
                let is_of = |addon: &&Name| {
                    rest.strip_prefix(&***addon)
                        .is_some_and(|rest| rest.starts_with('-'))
                };
                self.addons().filter(is_of).map(Owner::addon).collect()
            }
            Holds::Upgrade => Touched::from([key.clone()]),
            Holds::AllUpgrades => self.upgrades().collect(),
            Holds::Everything => self.addons().map(Owner::addon).chain(self.upgrades()).collect(),
            Holds::Configuration => {
                let named = self.indexes.by_config.keys().filter(|config| {
                    Kind::of_config(&config.of.group, &config.of.resource) == Some(key.kind)
                        && config.namespace == key.namespace
                        && config.name == key.name
                });
                named
                    .flat_map(|config| self.indexes.by_config.of(config).cloned())
                    .collect()
            }
        }
    }

    /// Returns whether an owner as a whole depends on an object that cannot be read: nothing is planned for it. The end of an
    /// add-on that is being deleted depends on no placement and no configuration.
    pub fn is_held_whole(&self, owner: &Owner) -> bool {
        let known = self.objects.addons.get(&owner.name);
        let ends = owner.kind == Kind::AddOn && known.is_some_and(|addon| addon.meta.deleting);
        let mut whole = self
            .pending
            .unreadable
            .keys()
            .filter(|key| key.kind.holds().is_whole());
        whole.any(|key| (!ends || key.kind == Kind::AddOn) && self.dependents(key).contains(owner))
    }

    /// Returns whether a write for an owner depends on an object that cannot be read, and that concerns one cluster.
    pub fn is_held_write(&self, owner: &Owner, written: &ObjectKey) -> bool {
        let mut parts = self
            .pending
            .unreadable
            .keys()
            .filter(|key| !key.kind.holds().is_whole());
        parts.any(|key| {
            if key == written || may_be_bound_to(key, written) {
                return true;
            }
            let of_cluster = key.kind == Kind::Cluster;
            if !of_cluster && ![Kind::Instance, Kind::Work].contains(&key.kind) {
                return false;
            }
            let cluster = if of_cluster { &key.name } else { &key.namespace };
            let is_there =
                written.namespace == *cluster || (written.kind == Kind::Cluster && written.name == *cluster);
            is_there && (of_cluster || self.dependents(key).contains(owner))
        })
    }
}

/// Whether a binding may refer to a role of an add-on that cannot be read: none is made and none is removed.
fn may_be_bound_to(role: &ObjectKey, written: &ObjectKey) -> bool {
    let is_near = role.kind == Kind::HubClusterRole
        || role.kind == Kind::HubRole && role.namespace == written.namespace;
    is_near && written.kind == Kind::RoleBinding
}

impl<'s> View<'s> {
    /// Returns the reason for removals that cannot be read, with what the hub answers: for one cluster, or for any.
    pub fn unread_reason(&self, cluster: Option<&Name>) -> Option<(&'s ObjectKey, &'s Name)> {
        let all = self.store.pending.unread.get(&self.owner())?;
        all.iter()
            .find(|(key, _)| key.kind != Kind::Cluster || cluster.is_none_or(|cluster| key.name == *cluster))
    }

    /// Returns the objects that no list shows, that cannot be read, and on which the add-on depends.
    pub fn unreadable(&self) -> Option<Unreadable<'s>> {
        let owner = self.owner();
        let all = self.store.pending.unreadable.iter();
        let mut of_owner = all.filter(|(key, _)| self.store.dependents(key).contains(&owner));
        let (object, why) = of_owner.next()?;
        Some(Unreadable {
            object,
            why,
            more: of_owner.count(),
        })
    }
}
