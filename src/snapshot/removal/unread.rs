//! Reasons for removals that cannot be read again.
//!
//! Decides nothing. The shell records what the hub answered, plans show it; it is forgotten as soon as the reasons are read, or
//! nothing would go any more. Never lets anything go.

use std::collections::BTreeMap;

use crate::snapshot::kind::ObjectKey;
use crate::snapshot::names::Name;
use crate::snapshot::store::Store;
use crate::snapshot::view::View;

/// By add-on: the first reason that cannot be read, and what the hub answers.
pub(in crate::snapshot) type Unread = BTreeMap<Name, (ObjectKey, Name)>;

impl Store {
    /// Records that a reason for removals of an add-on cannot be read, and why; returns whether that is news.
    pub fn reason_unread(&mut self, addon: &Name, object: ObjectKey, why: &str) -> bool {
        let new = (object, Name::from(why));
        if self.unread.get(addon) == Some(&new) {
            return false;
        }
        self.unread.insert(addon.clone(), new);
        self.changes.of_all(addon);
        true
    }

    /// Records that the reasons for removals of an add-on were read, or that nobody asks for them any more.
    pub fn reasons_read(&mut self, addon: &str) {
        if let Some((addon, _)) = self.unread.remove_entry(addon) {
            self.changes.of_all(&addon);
        }
    }
}

impl<'s> View<'s> {
    /// Returns the reason for removals that cannot be read, with what the hub answers.
    pub fn unread_reason(&self) -> Option<(&'s ObjectKey, &'s Name)> {
        let (object, why) = self.store.unread.get(&self.addon.name)?;
        Some((object, why))
    }
}
