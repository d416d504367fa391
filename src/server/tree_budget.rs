//! How much memory the trees of all decisions take together.
//!
//! What a decision builds is estimated from the text of its request (`bounds`), before anything is built. Small requests need no permit:
//! their number is limited.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use kubernetes::bounds::{MOST_VALUES, Size};

/// One permit is so many bytes.
const UNIT: usize = 64 << 10;
/// How often a decision has an object in memory: as it came, as it is stored, and for the policies.
const COPIES: usize = 3;
/// Bytes that a request may use without a permit.
const FREE: usize = 1 << 20;

/// Memory budget for the trees of decisions.
#[derive(Debug)]
pub(super) struct TreeBudget {
    permits: Arc<Semaphore>,
    /// The most that one request takes: half of the budget, so that there are always two.
    most: usize,
}

impl TreeBudget {
    pub(super) fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).max(2);
        Self {
            permits: Arc::new(Semaphore::new(units)),
            most: units / 2,
        }
    }

    /// Acquires memory for the request with this text before `until`; `Err` if there is not enough.
    pub(super) async fn take(
        &self,
        text: &Bytes,
        is_large: bool,
        until: Instant,
    ) -> Result<Option<OwnedSemaphorePermit>, ()> {
        let bytes = if is_large {
            let text = text.clone();
            // Reading megabytes would hold up the connections of this thread.
            let weighed = tokio::task::spawn_blocking(move || weight(&text));
            weighed.await.map_err(drop)?
        } else {
            weight(text)
        };
        if bytes <= FREE {
            return Ok(None);
        }
        let units = u32::try_from(bytes.div_ceil(UNIT).min(self.most)).unwrap_or(u32::MAX);
        let acquired = Arc::clone(&self.permits).acquire_many_owned(units);
        match timeout_at(until, acquired).await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            Ok(Err(_)) | Err(_) => Err(()),
        }
    }
}

/// Returns how many bytes a decision about a request builds, rather too many than too few.
fn weight(text: &[u8]) -> usize {
    let Size { values, tree } = Size::of(text);
    // Of the object and the stored one, no tree is built that has more values than an object may have.
    let most = MOST_VALUES * 2;
    let built = if values > most { tree / values * most } else { tree };
    built.saturating_mul(COPIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn text(maps: usize) -> Bytes {
        format!("[{}]", vec![r#"{"a":0}"#; maps].join(",")).into()
    }

    #[tokio::test(start_paused = true)]
    async fn two_of_the_largest_requests_are_decided_at_once_and_a_third_one_waits() {
        let budget = TreeBudget::new(192 << 20);
        let until = || Instant::now() + Duration::from_secs(1);
        let largest = text(800_000);
        let one = budget.take(&largest, true, until()).await.expect("enough memory");
        let two = budget.take(&largest, true, until()).await.expect("enough memory");
        assert!(one.is_some() && two.is_some());
        assert!(budget.take(&largest, true, until()).await.is_err());
        let small = budget
            .take(&text(100), false, until())
            .await
            .expect("it needs none");
        assert!(small.is_none());
        drop(one);
        assert!(budget.take(&largest, true, until()).await.is_ok());
    }
}
