//! The fleet's one clock. It follows tokio's time, so that a paused and advanced runtime moves everything together.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Wall time and time since the start, moving as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Timestamp,
    start: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            origin: Timestamp::now(),
            start: Instant::now(),
        }
    }

    /// Returns the time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the wall time.
    pub(super) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.origin.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// Returns the time since the start at this wall time, or now when it has passed.
    pub(super) fn elapsed_at(&self, moment: Timestamp) -> Duration {
        Duration::try_from(moment.duration_since(self.origin))
            .unwrap_or_default()
            .max(self.elapsed())
    }

    /// Waits until this long after the start, or indefinitely.
    pub(super) async fn reach(&self, at: Option<Duration>) {
        match at.and_then(|at| self.start.checked_add(at)) {
            Some(instant) => tokio::time::sleep_until(instant).await,
            None => std::future::pending().await,
        }
    }
}
