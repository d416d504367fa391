//! Troubles: writes that the hub refused and will refuse again until something on it changes.
//!
//! Decides nothing. The shell records them, plans show them in conditions; a trouble is forgotten as soon as its write
//! succeeds or is no longer planned.

use std::collections::BTreeSet;

use super::kind::ObjectKey;
use super::kind::Owner;
use super::store::Store;
use super::view::View;
use model::Name;

impl Store {
    /// Records that the hub refuses what is planned for `owner` for an object, and why; returns whether that is news.
    pub fn trouble(&mut self, owner: &Owner, object: ObjectKey, why: &str) -> bool {
        let known = self.pending.troubles.entry(owner.clone()).or_default();
        let news = known.get(&object).is_none_or(|before| **before != *why);
        if news {
            known.insert(object, Name::from(why));
            self.changes.of_all(owner);
        }
        news
    }

    /// Forgets the troubles of an owner with objects for which nothing is planned any more.
    pub fn keep_troubles(&mut self, owner: &Owner, planned: &BTreeSet<&ObjectKey>) {
        let Some(known) = self.pending.troubles.get_mut(owner) else {
            return;
        };
        let before = known.len();
        known.retain(|object, _| planned.contains(object));
        let forgets = known.len() < before;
        if known.is_empty() {
            self.pending.troubles.remove(owner);
        }
        if forgets {
            self.changes.of_all(owner);
        }
    }

    /// Forgets the trouble with one object: it was written. Returns whether there was one.
    pub fn end_trouble(&mut self, owner: &Owner, object: &ObjectKey) -> bool {
        let Some(known) = self.pending.troubles.get_mut(owner) else {
            return false;
        };
        let ended = known.remove(object).is_some();
        if known.is_empty() {
            self.pending.troubles.remove(owner);
        }
        if ended {
            self.changes.of_all(owner);
        }
        ended
    }

    /// Returns whether an owner has troubles.
    pub fn is_troubled(&self, owner: &Owner) -> bool {
        self.pending.troubles.contains_key(owner)
    }
}

impl<'s> View<'s> {
    /// Returns whether the hub refuses anything of the add-on.
    pub fn is_troubled(&self) -> bool {
        self.store.is_troubled(&self.owner())
    }

    /// Returns why the hub refuses what was planned for an object.
    pub fn trouble(&self, object: &ObjectKey) -> Option<&'s Name> {
        self.store.pending.troubles.get(&self.owner())?.get(object)
    }
}
