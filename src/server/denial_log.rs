//! The lines of the log about refused requests: a few of each kind in a while, and the number of the rest.
//!
//! Decides which refusals have a line of their own. A flood of refusals of one user by one rule hides no refusal of another user or
//! by another rule. The metrics count every refusal.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::{info, warn};

/// Refusals have a target of their own: `TIDEGATE_LOG=warn,tidegate::denied=info` shows them alone.
pub(super) const TARGET: &str = "tidegate::denied";
/// How long the lines of a class are counted.
const PERIOD: Duration = Duration::from_secs(10);
/// Lines of one class in a period.
const LINES: u64 = 10;
/// Classes by user and rules. Beyond them, users share the class of their rules; a client of the port can make up any user.
const USERS: usize = 64;
/// Classes in all. Beyond them, everything shares one.
const CLASSES: usize = 128;

/// What equal refusals have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    webhook: &'static str,
    user: String,
    rules: String,
}

/// The refusals of one period.
#[derive(Debug, Default)]
struct Period {
    begun: Option<Instant>,
    classes: BTreeMap<Class, u64>,
}

impl Period {
    /// Counts a refusal; returns whether it has a line of its own. The first that has none begins a summary.
    fn count(&mut self, webhook: &'static str, user: &str, rules: &str, now: Instant) -> bool {
        self.begun.get_or_insert(now);
        let class = |user: &str, rules: &str| Class {
            webhook,
            user: user.to_owned(),
            rules: rules.to_owned(),
        };
        let classes = [(class(user, rules), USERS), (class("", rules), CLASSES)];
        let known = classes
            .into_iter()
            .find(|(class, most)| self.classes.contains_key(class) || self.classes.len() < *most);
        let class = known.map_or_else(Class::default, |(class, _)| class);
        let count = self.classes.entry(class).or_default();
        *count += 1;
        *count <= LINES
    }

    /// Ends the period if it is over; returns the classes that have refusals without a line, and how many.
    fn end(&mut self, now: Instant) -> BTreeMap<Class, u64> {
        if self.begun.is_none_or(|begun| now < begun + PERIOD) {
            return BTreeMap::new();
        }
        self.begun = None;
        let mut counts = std::mem::take(&mut self.classes);
        counts.retain(|_, count| {
            *count = count.saturating_sub(LINES);
            *count > 0
        });
        counts
    }
}

static PRESENT: Mutex<Period> = Mutex::new(Period {
    begun: None,
    classes: BTreeMap::new(),
});

/// Notes a refusal. Calls `tell` if it has a line of its own.
pub(super) fn note(webhook: &'static str, user: &str, rules: &str, tell: impl FnOnce()) {
    let now = Instant::now();
    let (ended, begins, has_line) = {
        let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = present.end(now);
        let begins = present.begun.is_none();
        (ended, begins, present.count(webhook, user, rules, now))
    };
    summarize(ended);
    if has_line {
        tell();
    }
    // Without a further refusal the summary comes all the same.
    if begins && let Ok(runtime) = Handle::try_current() {
        runtime.spawn(async move {
            tokio::time::sleep_until(now + PERIOD).await;
            let ended = PRESENT
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .end(Instant::now());
            summarize(ended);
        });
    }
}

fn summarize(counts: BTreeMap<Class, u64>) {
    let seconds = PERIOD.as_secs();
    for (Class { webhook, user, rules }, count) in counts {
        info!(target: TARGET, webhook, user, rules, count, seconds, "more requests denied for the same rules");
    }
}

/// How often requests at a wrong path are logged.
const WRONG_PATHS_EVERY: Duration = Duration::from_mins(1);

/// Requests whose path does not end in the secret: the first is logged at once, later ones once a minute with their number. An API server
/// takes the 404 for a webhook that failed, and without the line an administrator would not see it. Never logs a path, which may hold
/// a former secret.
#[derive(Debug, Default)]
pub(super) struct WrongPaths(Mutex<Unlogged>);

#[derive(Debug, Default)]
struct Unlogged {
    count: u64,
    logged: Option<Instant>,
}

impl WrongPaths {
    /// Counts one, and logs it if it is time.
    pub(super) fn note(&self, webhook: &'static str, now: Instant) {
        if let Some(count) = self.due(now) {
            warn!(
                webhook,
                count, "requests without the path secret get 404; register the webhooks again"
            );
        }
    }

    /// Counts one; returns how many there were since the last line, if it is time for another.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut unlogged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unlogged.count += 1;
        let is_early = unlogged
            .logged
            .is_some_and(|logged| now.saturating_duration_since(logged) < WRONG_PATHS_EVERY);
        if is_early {
            return None;
        }
        unlogged.logged = Some(now);
        Some(std::mem::take(&mut unlogged.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_a_few_lines_and_a_number() {
        let (mut period, begin) = (Period::default(), Instant::now());
        let lines = (0..1000).filter(|_| period.count("validate", "eve", "rollout/limit", begin));
        assert_eq!(lines.count(), 10);
        assert!(
            period.count("validate", "alice", "rollout/limit", begin),
            "another user"
        );
        assert!(
            period.count("validate", "eve", "install/namespace", begin),
            "another rule"
        );
        assert!(period.end(begin + Duration::from_secs(9)).is_empty());
        let counts = period.end(begin + PERIOD);
        let counts: Vec<_> = counts
            .iter()
            .map(|(class, count)| (&*class.user, *count))
            .collect();
        assert_eq!(counts, [("eve", 990)]);
        assert!(period.count("validate", "eve", "rollout/limit", begin + PERIOD));
    }

    #[test]
    fn made_up_users_hide_no_rule_and_have_a_bounded_log() {
        let (mut period, begin) = (Period::default(), Instant::now());
        let mut lines = 0;
        for index in 0..10_000 {
            lines += u64::from(period.count("validate", &format!("user{index}"), "rollout/limit", begin));
        }
        assert_eq!(lines, 64 + LINES);
        assert!(period.count("validate", "alice", "install/namespace", begin));
        for index in 0..10_000 {
            lines += u64::from(period.count("validate", "eve", &format!("policy/{index}"), begin));
        }
        assert!(lines < 64 + 128 + 3 * LINES, "{lines}");
        let missing: u64 = period.end(begin + PERIOD).values().sum();
        assert_eq!(lines + missing, 20_000, "every refusal is a line or in a number");
    }

    #[test]
    fn the_first_is_reported_at_once_and_the_rest_by_the_minute() {
        let (paths, begin) = (WrongPaths::default(), Instant::now());
        assert_eq!(paths.due(begin), Some(1));
        for second in 1..60 {
            assert_eq!(paths.due(begin + Duration::from_secs(second)), None);
        }
        assert_eq!(paths.due(begin + WRONG_PATHS_EVERY), Some(60));
        assert_eq!(paths.due(begin + 2 * WRONG_PATHS_EVERY), Some(1));
    }
}
