//! Troubles: writes that the hub refused and will refuse again until somebody changes something; and what of the last plan of an
//! add-on broke an invariant, and was not even tried.
//!
//! Decides nothing. The shell records them, plans show them in conditions; a trouble is forgotten as soon as its write
//! succeeds or is no longer planned, a refusal with the first plan that is sound.

use std::collections::{BTreeMap, BTreeSet};

use super::kind::ObjectKey;
use super::names::Name;
use super::store::Store;
use super::view::View;

/// The troubles by add-on and object: what the hub said.
pub(super) type Troubles = BTreeMap<Name, BTreeMap<ObjectKey, Name>>;

impl Store {
    /// Records that the hub refuses what `addon` has planned for an object, and why; returns whether that is news.
    pub fn trouble(&mut self, addon: &Name, object: ObjectKey, why: &str) -> bool {
        let known = self.troubles.entry(addon.clone()).or_default();
        let news = known.get(&object).is_none_or(|before| **before != *why);
        if news {
            known.insert(object, Name::from(why));
            self.changes.of_all(addon);
        }
        news
    }

    /// Forgets the troubles of an add-on with objects for which nothing is planned any more.
    pub fn keep_troubles(&mut self, addon: &str, planned: &BTreeSet<&ObjectKey>) {
        let Some(known) = self.troubles.get_mut(addon) else {
            return;
        };
        let before = known.len();
        known.retain(|object, _| planned.contains(object));
        let forgets = known.len() < before;
        if known.is_empty() {
            self.troubles.remove(addon);
        }
        if forgets {
            self.changes.of_all(&Name::from(addon));
        }
    }

    /// Forgets the trouble with one object: it was written. Returns whether there was one.
    pub fn end_trouble(&mut self, addon: &str, object: &ObjectKey) -> bool {
        let Some(known) = self.troubles.get_mut(addon) else {
            return false;
        };
        let ended = known.remove(object).is_some();
        if known.is_empty() {
            self.troubles.remove(addon);
        }
        if ended {
            self.changes.of_all(&Name::from(addon));
        }
        ended
    }

    /// Returns whether an add-on has troubles.
    pub fn is_troubled(&self, addon: &str) -> bool {
        self.troubles.contains_key(addon)
    }
}

impl<'s> View<'s> {
    /// Returns whether the hub refuses anything of the add-on.
    pub fn is_troubled(&self) -> bool {
        self.store.is_troubled(&self.addon.name)
    }

    /// Returns why the hub refuses what was planned for an object.
    pub fn trouble(&self, object: &ObjectKey) -> Option<&'s Name> {
        self.store.troubles.get(&self.addon.name)?.get(object)
    }
}

/// The first broken sentence by add-on.
pub(super) type Refusals = BTreeMap<Name, Name>;

impl Store {
    /// Records what of the last plan of an add-on was refused, or that nothing was; returns whether that is news.
    pub fn refuse(&mut self, addon: &Name, sentence: Option<&str>) -> bool {
        let known = self.refusals.get(addon).map(|known| &**known);
        if known == sentence {
            return false;
        }
        match sentence {
            Some(sentence) => self.refusals.insert(addon.clone(), Name::from(sentence)),
            None => self.refusals.remove(addon),
        };
        true
    }
}

impl<'s> View<'s> {
    /// Returns what of the last plan was refused.
    pub fn refusal(&self) -> Option<&'s Name> {
        self.store.refusals.get(&self.addon.name)
    }
}
