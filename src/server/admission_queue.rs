//! The queue before the decision.
//!
//! Decides who may be decided now, who waits, and who is sent away. An audit storm must not starve an `apply`, and a
//! caller that waits longer than its own deadline is better told at once.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// A bounded number of places, with a bounded queue before them.
#[derive(Debug)]
pub(super) struct AdmissionQueue {
    places: Semaphore,
    queue: Semaphore,
    patience: Duration,
}

impl AdmissionQueue {
    pub(super) fn new(places: usize, queue: usize, patience: Duration) -> Self {
        Self {
            places: Semaphore::new(places),
            queue: Semaphore::new(queue),
            patience,
        }
    }

    /// Returns `count` places, or nothing when there is no room in the queue or no patience left.
    pub(super) async fn enter(&self, count: usize) -> Option<SemaphorePermit<'_>> {
        let count = u32::try_from(count).ok()?;
        if let Ok(permit) = self.places.try_acquire_many(count) {
            return Some(permit);
        }
        let _waiting = self.queue.try_acquire().ok()?;
        tokio::time::timeout(self.patience, self.places.acquire_many(count))
            .await
            .ok()?
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_who_wait_too_long_are_sent_away() {
        let queue = AdmissionQueue::new(1, 1, Duration::from_millis(20));
        let inside = queue.enter(1).await;
        assert!(inside.is_some());
        assert!(queue.enter(1).await.is_none());
        drop(inside);
        assert!(queue.enter(1).await.is_some());
    }

    #[tokio::test]
    async fn those_who_wait_get_the_place_that_becomes_free() {
        let queue = AdmissionQueue::new(1, 1, Duration::from_mins(1));
        let inside = queue.enter(1).await;
        let (next, ()) = tokio::join!(queue.enter(1), async { drop(inside) });
        assert!(next.is_some());
    }

    #[tokio::test]
    async fn a_full_queue_sends_away_at_once() {
        let queue = AdmissionQueue::new(1, 1, Duration::from_mins(1));
        let inside = queue.enter(1).await;
        let (waited, ()) = tokio::join!(queue.enter(1), async {
            // Would wait for a minute if there were room in the queue.
            assert!(queue.enter(1).await.is_none());
            drop(inside);
        });
        assert!(waited.is_some());
    }
}
