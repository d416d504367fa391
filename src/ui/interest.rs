//! Whether the page is open in any browser.
//!
//! Decides when a hub is followed for it: from the first question on, until none has come for a while. A page that is not open
//! costs the hub no watch.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long the hub is followed after the last question.
const LINGERS: Duration = Duration::from_mins(2);

/// Who looks. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Interest(Arc<State>);

#[derive(Debug, Default)]
struct State {
    asked: Notify,
    last: Mutex<Option<Instant>>,
}

impl Interest {
    /// Notes a question: a page is open now.
    pub(super) fn note(&self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.0.asked.notify_one();
    }

    /// Waits until a page is open.
    pub async fn begins(&self) {
        while !self.holds(Instant::now()) {
            self.0.asked.notified().await;
        }
    }

    /// Tells whether a page has asked lately.
    pub fn holds(&self, now: Instant) -> bool {
        let last = *self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| now.saturating_duration_since(last) < LINGERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_a_while_after_the_last_question() {
        let interest = Interest::default();
        assert!(!interest.holds(Instant::now()));
        interest.note();
        assert!(interest.holds(Instant::now()));
        assert!(!interest.holds(Instant::now() + LINGERS));
    }
}
