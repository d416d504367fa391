//! A keyed queue: every owner waits at most once, and never runs twice at the same time.
//!
//! Decides when an owner is due, and counts what it does. Never sleeps and never asks for the time: both come from the caller.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::telemetry::QueueMetrics;
use store::Owner;

/// Whether those that are due count as waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Count,
    Rest,
}

/// How long events of one owner are gathered before it is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gathering {
    /// For an owner at rest: objects that are applied together are planned together.
    pub at_rest: Duration,
    /// For an owner that is or was planned and written a moment ago: a whole fleet answers.
    pub at_work: Duration,
}

impl Default for Gathering {
    fn default() -> Self {
        Self {
            at_rest: Duration::from_millis(10),
            at_work: Duration::from_millis(100),
        }
    }
}

/// The owners that are due now or later.
#[derive(Debug, Default)]
pub(super) struct Queue {
    due: BTreeMap<Owner, Instant>,
    /// Since when each is being seen to.
    busy: BTreeMap<Owner, Instant>,
    /// When each was done that was at work a short time ago.
    done: BTreeMap<Owner, Instant>,
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

    /// Makes `key` due after an event: soon if it is at rest, and otherwise when the events of a longer time are gathered.
    pub(super) fn gather(&mut self, key: &Owner, now: Instant, gathering: Gathering) {
        let was_at_work = |done: &Instant| *done + gathering.at_work > now;
        let is_at_work = self.busy.contains_key(key) || self.done.get(key).is_some_and(was_at_work);
        let time = if is_at_work {
            gathering.at_work
        } else {
            gathering.at_rest
        };
        self.touch(key, now + time);
        self.done.retain(|_, done| was_at_work(done));
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
            self.done.insert(key.clone(), now);
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
    async fn events_of_a_key_at_rest_are_gathered_for_a_shorter_time() {
        let (now, gathering) = (Instant::now(), Gathering::default());
        let mut queue = Queue::default();
        queue.gather(&name("a"), now, gathering);
        assert_eq!(queue.next(), Some(now + gathering.at_rest));
        let taken = now + gathering.at_rest;
        assert_eq!(queue.take(taken), Some(name("a")));
        queue.gather(&name("a"), taken, gathering);
        queue.finish(&name("a"), taken);
        assert_eq!(queue.next(), Some(taken + gathering.at_work), "it was busy");
        assert_eq!(queue.take(taken + gathering.at_work), Some(name("a")));
        let done = taken + gathering.at_work;
        queue.finish(&name("a"), done);
        let later = done + gathering.at_work / 2;
        queue.gather(&name("a"), later, gathering);
        assert_eq!(
            queue.next(),
            Some(later + gathering.at_work),
            "it was done a moment ago"
        );
        assert_eq!(queue.take(later + gathering.at_work), Some(name("a")));
        queue.finish(&name("a"), later + gathering.at_work);
        let rested = later + gathering.at_work * 2;
        queue.gather(&name("a"), rested, gathering);
        assert_eq!(queue.next(), Some(rested + gathering.at_rest));
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
