//! A keyed queue: every owner waits at most once, and never runs twice at the same time.
//!
//! Decides when an owner is due, and counts what it does. Never sleeps and never asks for the time: both come from the caller.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::telemetry::QueueMetrics;
use store::Owner;

/// Whether those that are due count as waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Count,
    Rest,
}

/// The owners that are due now or later.
#[derive(Debug, Default)]
pub(super) struct Queue {
    due: BTreeMap<Owner, Instant>,
    /// Since when each is being seen to.
    busy: BTreeMap<Owner, Instant>,
    metrics: QueueMetrics,
}

impl Queue {
    /// Returns a queue that counts there.
    pub(super) fn new(metrics: QueueMetrics) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    /// Makes `key` due at `at` because something failed.
    pub(super) fn retry(&mut self, key: &Owner, at: Instant) {
        self.metrics.retried();
        self.touch(key, at);
    }

    /// Makes `key` due at `at`, or earlier if it already was: a stream of events cannot starve it.
    pub(super) fn touch(&mut self, key: &Owner, at: Instant) {
        if let Some(due) = self.due.get_mut(key) {
            *due = (*due).min(at);
            return;
        }
        self.metrics.added();
        self.due.insert(key.clone(), at);
    }

    /// Takes the key that is due longest and marks it busy.
    pub(super) fn take(&mut self, now: Instant) -> Option<Owner> {
        let idle = self
            .due
            .iter()
            .filter(|(key, at)| **at <= now && !self.busy.contains_key(*key));
        let (key, at) = idle.min_by_key(|(_, at)| **at)?;
        let (key, waited) = (key.clone(), now.saturating_duration_since(*at));
        self.metrics.taken(waited);
        self.due.remove(&key);
        self.busy.insert(key.clone(), now);
        Some(key)
    }

    /// Returns when the next idle key is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due
            .iter()
            .filter(|(key, _)| !self.busy.contains_key(*key))
            .map(|(_, at)| *at)
            .min()
    }

    /// Ends the run of `key`.
    pub(super) fn finish(&mut self, key: &Owner, now: Instant) {
        if let Some(since) = self.busy.remove(key) {
            self.metrics.done(now.saturating_duration_since(since));
        }
    }

    /// Reports how many are due, and for how long. None counts as due with `Waits::Rest`.
    pub(super) fn tell(&self, waits: Waits, now: Instant) {
        let is_due = |at: &&Instant| waits == Waits::Count && **at <= now;
        let due = self.due.values().filter(is_due);
        let oldest = due.clone().min().map(|at| at.into_std());
        let running = self.busy.values().map(|since| since.into_std());
        self.metrics.stands(due.count(), oldest, running);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn name(text: &str) -> Owner {
        Owner::addon(&text.into())
    }

    #[tokio::test]
    async fn many_touches_are_one_run_at_the_first_time_asked_for() {
        let now = Instant::now();
        let mut queue = Queue::default();
        queue.touch(&name("a"), now + Duration::from_millis(100));
        queue.touch(&name("a"), now + Duration::from_millis(150));
        assert_eq!(queue.take(now), None);
        assert_eq!(queue.next(), Some(now + Duration::from_millis(100)));
        assert_eq!(queue.take(now + Duration::from_millis(100)), Some(name("a")));
        assert_eq!(queue.take(now + Duration::from_secs(1)), None);
    }

    #[tokio::test]
    async fn a_busy_key_runs_again_only_when_it_is_done() {
        let now = Instant::now();
        let mut queue = Queue::default();
        queue.touch(&name("a"), now);
        assert_eq!(queue.take(now), Some(name("a")));
        queue.touch(&name("a"), now);
        assert_eq!((queue.take(now), queue.next()), (None, None));
        queue.finish(&name("a"), now);
        assert_eq!(queue.take(now), Some(name("a")));
    }
}
