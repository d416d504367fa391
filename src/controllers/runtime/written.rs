//! What becomes of writes: answers into expectations and pauses, and the moment at which the watches have shown them all.
//!
//! Decides when an owner is planned again after its writes. Never writes.

use std::time::Duration;

use tokio::time::Instant;

use super::apply_error::STUBBORN;
use super::reconciler::{AFTER_PANIC, Reconciler};
use super::write::Applied;
use store::Owner;

impl Reconciler {
    /// Measures how far the watches are behind: by own writes, of which it is known when they were made.
    pub(super) fn note_seen(&mut self, owner: &Owner) {
        let Some(since) = self.written.get(owner).copied() else {
            return;
        };
        if self.store.awaited(owner) == 0 {
            self.written.remove(owner);
            self.writer.metrics.watches().lags(since.elapsed());
        }
    }

    /// Takes note of what became of the writes for an owner.
    pub(super) fn settle(&mut self, owner: &Owner, applied: Option<Applied>) {
        let now = Instant::now();
        self.queue.finish(owner, now);
        let Some(applied) = applied else {
            tracing::error!(%owner, pause = ?AFTER_PANIC, "applying the plan panicked");
            self.queue.retry(owner, now + AFTER_PANIC);
            return;
        };
        if let Some(controller) = self.controllers.get_mut(&owner.kind) {
            controller.removed(&mut self.store, owner, &applied.removed, self.clock.now());
        }
        let has_written = !applied.expected.is_empty();
        for (object, expected) in applied.expected {
            self.backoff.succeed(&object);
            self.store.end_trouble(owner, &object);
            self.store.expect(owner, object, expected);
        }
        for error in &applied.errors {
            let pause = self.backoff.fail(error.object(), error.failure(), now);
            if pause >= STUBBORN {
                let doubtful = self.doubtful.entry(owner.clone()).or_default();
                doubtful.insert(error.object().clone());
            }
            self.queue.retry(owner, now + pause);
            if let Some(why) = error.refusal()
                && (error.is_final() || pause >= STUBBORN)
                && self.store.trouble(owner, error.object().clone(), &why)
            {
                // The conditions should tell, whenever the write is tried again.
                self.queue.gather(owner, now, self.options.gathering);
            }
            error.tell(owner, pause);
        }
        if self.store.awaited(owner) == 0 {
            if has_written {
                self.writer.metrics.watches().lags(Duration::ZERO);
            }
            // Everything is seen already, so no event will come to wake the add-on.
            self.queue.gather(owner, now, self.options.gathering);
        } else {
            // Nor may one come at all: what was written can be gone before a watch that broke has listed again.
            self.waiting.insert(owner.clone(), now);
            self.written.insert(owner.clone(), now);
            self.queue.touch(owner, now + self.patience);
        }
    }
}
