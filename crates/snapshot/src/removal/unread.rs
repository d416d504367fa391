//! Reasons for removals that cannot be read again.
//!
//! Decides nothing. The shell records what the hub answered, plans show it; it is forgotten as soon as the reasons are read, or
//! nothing would go any more. Never lets anything go.

use crate::kind::ObjectKey;
use crate::kind::Owner;
use crate::store::Store;
use crate::view::View;
use model::Name;

impl Store {
    /// Records that a reason for removals for an owner cannot be read, and why; returns whether that is news.
    pub fn reason_unread(&mut self, owner: &Owner, object: ObjectKey, why: &str) -> bool {
        let new = (object, Name::from(why));
        if self.pending.unread.get(owner) == Some(&new) {
            return false;
        }
        self.pending.unread.insert(owner.clone(), new);
        self.changes.of_all(owner);
        true
    }

    /// Records that the reasons for removals for an owner were read, or that the plan needs them no more.
    pub fn reasons_read(&mut self, owner: &Owner) {
        if self.pending.unread.remove(owner).is_some() {
            self.changes.of_all(owner);
        }
    }
}

impl<'s> View<'s> {
    /// Returns the reason for removals that cannot be read, with what the hub answers.
    pub fn unread_reason(&self) -> Option<(&'s ObjectKey, &'s Name)> {
        let (object, why) = self.store.pending.unread.get(&self.owner())?;
        Some((object, why))
    }
}
