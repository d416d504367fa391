//! Keys that are due at some moment. A key waits once: of two moments the earlier counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Keys and when they are due, in time since the fleet started.
#[derive(Debug)]
pub(super) struct Queue<K> {
    by_moment: BTreeSet<(Duration, K)>,
    moments: BTreeMap<K, Duration>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            by_moment: BTreeSet::new(),
            moments: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone> Queue<K> {
    pub(super) fn push(&mut self, key: K, at: Duration) {
        if let Some(earlier) = self.moments.get(&key).copied() {
            if earlier <= at {
                return;
            }
            self.by_moment.remove(&(earlier, key.clone()));
        }
        self.moments.insert(key.clone(), at);
        self.by_moment.insert((at, key));
    }

    pub(super) fn pop_due(&mut self, now: Duration) -> Option<K> {
        let due = self.by_moment.first().is_some_and(|(at, _)| *at <= now);
        let (_, key) = due.then(|| self.by_moment.pop_first()).flatten()?;
        self.moments.remove(&key);
        Some(key)
    }

    pub(super) fn next_at(&self) -> Option<Duration> {
        self.by_moment.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_moment_counts() {
        let at = Duration::from_secs;
        let mut queue = Queue::default();
        queue.push("a", at(5));
        queue.push("b", at(3));
        queue.push("a", at(1));
        queue.push("a", at(9));
        assert_eq!(queue.next_at(), Some(at(1)));
        assert_eq!(
            (queue.pop_due(at(0)), queue.pop_due(at(2)), queue.pop_due(at(2))),
            (None, Some("a"), None)
        );
        assert_eq!((queue.pop_due(at(9)), queue.next_at()), (Some("b"), None));
    }
}
