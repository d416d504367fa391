//! What the loop does when OCM's add-on manager begins or ceases to be at work.
//!
//! Decides that what it has is planned anew, and nothing about whose an add-on is (`snapshot`).

use tokio::time::Instant;

use super::reconciler::Reconciler;

impl Reconciler {
    /// Has the add-ons planned again that change hands.
    pub(super) fn look_at_the_fence(&mut self) {
        let fence = *self.fence.borrow();
        let at = Instant::now() + self.options.coalesce;
        for owner in self.store.fence(fence) {
            self.queue.touch(&owner, at);
        }
    }
}
