//! Backoff between attempts to write one object.
//!
//! Decides how long an object that could not be written is left alone. One object's trouble never slows the others of its
//! add-on, and events never shorten a pause.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use store::ObjectKey;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_mins(5);
/// After a conflict: a fresh plan may succeed at once, and many writers of one object must not wait for each other.
const LONGEST_CONFLICT: Duration = Duration::from_secs(2);

/// Why an object could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Another revision is there than the one that was planned from.
    Conflict,
    /// Anything else.
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    failures: u32,
}

/// The objects that could not be written last time.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    objects: BTreeMap<ObjectKey, Pause>,
}

impl Backoff {
    /// Leaves the object alone for a time that doubles with every failure in a row; returns that time.
    pub(super) fn fail(&mut self, object: &ObjectKey, failure: Failure, now: Instant) -> Duration {
        let failures = self.objects.get(object).map_or(0, |pause| pause.failures);
        let longest = match failure {
            Failure::Conflict => LONGEST_CONFLICT,
            Failure::Other => LONGEST,
        };
        let length = FIRST.saturating_mul(1 << failures.min(12)).min(longest);
        let pause = Pause {
            until: now + length,
            failures: failures.saturating_add(1),
        };
        self.objects.insert(object.clone(), pause);
        length
    }

    /// Forgets the failures of an object.
    pub(super) fn succeed(&mut self, object: &ObjectKey) {
        self.objects.remove(object);
    }

    /// Returns until when the object must be left alone.
    pub(super) fn held_until(&self, object: &ObjectKey, now: Instant) -> Option<Instant> {
        self.objects
            .get(object)
            .map(|pause| pause.until)
            .filter(|until| *until > now)
    }

    /// Forgets objects whose last attempt is long past: they are no longer planned.
    pub(super) fn sweep(&mut self, now: Instant) {
        self.objects.retain(|_, pause| pause.until + LONGEST > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Kind;

    #[tokio::test]
    async fn pauses_double_up_to_a_limit_and_end_with_a_success() {
        let now = Instant::now();
        let (mut backoff, object) = (Backoff::default(), ObjectKey::new(Kind::Work, "c1", "w"));
        let lengths: Vec<u128> = (0..14)
            .map(|_| backoff.fail(&object, Failure::Other, now).as_millis())
            .collect();
        assert_eq!(lengths[..4], [100, 200, 400, 800]);
        assert_eq!(lengths[13], 300_000);
        assert_eq!(backoff.held_until(&object, now), Some(now + LONGEST));
        assert_eq!(backoff.held_until(&object, now + LONGEST), None);
        backoff.succeed(&object);
        assert_eq!(backoff.fail(&object, Failure::Other, now), FIRST);
    }

    #[tokio::test]
    async fn a_conflict_is_never_left_alone_for_long() {
        let now = Instant::now();
        let (mut backoff, object) = (Backoff::default(), ObjectKey::new(Kind::Cluster, "", "c1"));
        let lengths = (0..100).map(|_| backoff.fail(&object, Failure::Conflict, now));
        assert_eq!(lengths.max(), Some(LONGEST_CONFLICT));
        assert_eq!(
            backoff.fail(&object, Failure::Other, now),
            LONGEST,
            "another fault counts with them"
        );
    }
}
