//! What is told of questions whose path does not end in the gate's secret.
//!
//! Decides how often: of the first at once, of later ones once a minute with their number. An API server that asks so takes the
//! answer for a webhook that failed, and most of them are ignored: without the line of the log no administrator would hear of it.
//! Never shows a path, which may hold the secret of yesterday.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

/// How often it is told.
const EVERY: Duration = Duration::from_mins(1);

/// Those that were not told of yet.
#[derive(Default)]
pub(super) struct WrongPaths(Mutex<Untold>);

#[derive(Default)]
struct Untold {
    count: u64,
    told: Option<Instant>,
}

impl WrongPaths {
    /// Notes one, and tells of it where it is time.
    pub(super) fn note(&self, door: &'static str, now: Instant) {
        if let Some(count) = self.due(now) {
            warn!(
                door,
                count,
                "questions at a path without the gate's secret are answered as if nothing were there; register the webhooks again"
            );
        }
    }

    /// Counts one; returns how many there were since it was told last, if it is to be told again.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut untold = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        untold.count += 1;
        let is_early = untold
            .told
            .is_some_and(|told| now.saturating_duration_since(told) < EVERY);
        if is_early {
            return None;
        }
        untold.told = Some(now);
        Some(std::mem::take(&mut untold.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_the_rest_by_the_minute() {
        let (paths, begin) = (WrongPaths::default(), Instant::now());
        assert_eq!(paths.due(begin), Some(1));
        for second in 1..60 {
            assert_eq!(paths.due(begin + Duration::from_secs(second)), None);
        }
        assert_eq!(paths.due(begin + EVERY), Some(60));
        assert_eq!(paths.due(begin + 2 * EVERY), Some(1));
    }
}
