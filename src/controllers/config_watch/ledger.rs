//! Which references of one type must be looked at, and when.
//!
//! A watch only says *when* to look; a look at the one object says *what* is there. So events may come late, twice or in any
//! order, objects that no reference names are not kept, and their content never leaves the hub. Never looks itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use store::ConfigRef;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Identity and revision of an object, as a watch shows them without its content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stamp {
    pub(super) uid: String,
    pub(super) version: String,
    /// 0 for kinds that count none.
    pub(super) generation: i64,
}

impl Stamp {
    /// A generation moves with everything that a hash covers, where a kind counts one.
    fn says_the_same(&self, other: &Self) -> bool {
        self.uid == other.uid
            && (self.version == other.version || (self.generation > 0 && self.generation == other.generation))
    }
}

/// What a look has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    /// The object.
    Found(Stamp),
    /// No object.
    Nothing,
    /// It failed.
    Failed {
        /// Whether the hub refused it.
        forbidden: bool,
    },
}

/// What the last look that succeeded has shown.
#[derive(Debug, Default, PartialEq, Eq)]
enum LastSight {
    /// There was none.
    #[default]
    Unseen,
    /// No object.
    Nothing,
    /// The object.
    Object(Stamp),
}

/// What is known of one reference.
#[derive(Debug, Default)]
struct Entry {
    known: LastSight,
    failures: u32,
}

/// The references of one type.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: BTreeMap<ConfigRef, Entry>,
    due: BTreeSet<ConfigRef>,
    /// Reads in progress, and whether something has changed meanwhile.
    busy: BTreeMap<ConfigRef, bool>,
    late: BTreeSet<(Instant, ConfigRef)>,
    forbidden: BTreeSet<ConfigRef>,
    /// References that the list in progress has not shown.
    unlisted: BTreeSet<ConfigRef>,
}

impl Ledger {
    /// Adds a reference: it must be looked at.
    pub(super) fn begin(&mut self, config: ConfigRef) {
        self.entries.entry(config.clone()).or_default();
        self.look_again(config);
    }

    /// Forgets a reference.
    pub(super) fn end(&mut self, config: &ConfigRef) {
        self.entries.remove(config);
        self.due.remove(config);
        self.forbidden.remove(config);
        self.unlisted.remove(config);
        self.late.retain(|(_, late)| late != config);
    }

    /// Makes every reference due: what was known may be out of date, and looks in progress are lost.
    pub(super) fn begin_again(&mut self) {
        let all = std::mem::take(self).entries.into_keys();
        all.for_each(|config| self.begin(config));
    }

    fn look_again(&mut self, config: ConfigRef) {
        if let Some(again) = self.busy.get_mut(&config) {
            *again = true;
        } else {
            self.late.retain(|(_, late)| *late != config);
            self.due.insert(config);
        }
    }

    pub(super) fn list_begins(&mut self) {
        self.unlisted = self.entries.keys().cloned().collect();
    }

    /// A list has ended: what it has not shown may be gone. What was added meanwhile is looked at anyway.
    pub(super) fn list_ends(&mut self) {
        for config in std::mem::take(&mut self.unlisted) {
            let known = self.entries.get(&config).map(|entry| &entry.known);
            if known != Some(&LastSight::Nothing) {
                self.look_again(config);
            }
        }
    }

    /// A list or a watch has shown an object.
    pub(super) fn shown(&mut self, config: ConfigRef, stamp: &Stamp) {
        self.unlisted.remove(&config);
        let Some(entry) = self.entries.get(&config) else {
            return;
        };
        let is_new = match &entry.known {
            LastSight::Unseen | LastSight::Nothing => true,
            LastSight::Object(known) => !known.says_the_same(stamp),
        };
        if is_new {
            self.look_again(config);
        }
    }

    /// A watch has returned the deletion of an object; it may exist again already.
    pub(super) fn gone(&mut self, config: ConfigRef) {
        if self.entries.contains_key(&config) {
            self.look_again(config);
        }
    }

    /// Takes the next reference to be looked at now.
    pub(super) fn next(&mut self, now: Instant) -> Option<ConfigRef> {
        let config = if let Some(config) = self.due.pop_first() {
            config
        } else {
            let (_, config) = self.late.first().filter(|(at, _)| *at <= now).cloned()?;
            self.late.pop_first();
            config
        };
        self.busy.insert(config.clone(), false);
        Some(config)
    }

    /// Returns when a look that failed is due again.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.late.first().map(|(at, _)| *at)
    }

    /// Records the result of a read; returns whether it is to be reported: not if it failed, nor if the reference was removed.
    pub(super) fn looked(&mut self, config: &ConfigRef, look: Look, now: Instant) -> bool {
        let again = self.busy.remove(config).unwrap_or_default();
        let Some(entry) = self.entries.get_mut(config) else {
            return false;
        };
        let (known, forbidden) = match look {
            Look::Found(stamp) => (Some(LastSight::Object(stamp)), false),
            Look::Nothing => (Some(LastSight::Nothing), false),
            Look::Failed { forbidden } => (None, forbidden),
        };
        if forbidden {
            self.forbidden.insert(config.clone());
        } else {
            self.forbidden.remove(config);
        }
        let Some(known) = known else {
            let pause = FIRST.saturating_mul(1 << entry.failures.min(5)).min(LONGEST);
            entry.failures = entry.failures.saturating_add(1);
            self.late.insert((now + pause, config.clone()));
            return false;
        };
        entry.failures = 0;
        entry.known = known;
        if again {
            self.due.insert(config.clone());
        }
        true
    }

    /// Returns whether everything has been looked at, successfully or not.
    pub(super) fn is_calm(&self) -> bool {
        self.due.is_empty() && self.busy.is_empty()
    }

    /// Returns whether the hub refuses to show any of the objects.
    pub(super) fn is_forbidden(&self) -> bool {
        !self.forbidden.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::ConfigType;

    fn config(name: &str) -> ConfigRef {
        let of = ConfigType {
            group: "".into(),
            resource: "secrets".into(),
        };
        ConfigRef {
            of,
            namespace: "n".into(),
            name: name.into(),
        }
    }

    fn stamp(version: &str, generation: i64) -> Stamp {
        Stamp {
            uid: "u".to_owned(),
            version: version.to_owned(),
            generation,
        }
    }

    fn ledger(names: &[&str], now: Instant) -> Ledger {
        let mut ledger = Ledger::default();
        for name in names {
            ledger.begin(config(name));
            assert_eq!(ledger.next(now), Some(config(name)));
            assert!(ledger.looked(&config(name), Look::Found(stamp("1", 0)), now));
        }
        ledger
    }

    #[tokio::test]
    async fn only_what_is_new_about_what_is_referred_to_is_looked_at() {
        let now = Instant::now();
        let mut ledger = ledger(&["a"], now);
        ledger.shown(config("a"), &stamp("1", 0));
        ledger.shown(config("other"), &stamp("1", 0));
        ledger.gone(config("other"));
        assert!(ledger.is_calm());
        ledger.shown(config("a"), &stamp("2", 0));
        assert_eq!(ledger.next(now), Some(config("a")));
    }

    #[tokio::test]
    async fn a_status_that_changes_is_no_reason_to_look_where_generations_are_counted() {
        let now = Instant::now();
        let mut ledger = ledger(&["a"], now);
        ledger.shown(config("a"), &stamp("2", 7));
        assert_eq!(ledger.next(now), Some(config("a")));
        ledger.looked(&config("a"), Look::Found(stamp("2", 7)), now);
        ledger.shown(config("a"), &stamp("3", 7));
        assert!(ledger.is_calm());
    }

    #[tokio::test]
    async fn what_happens_during_a_look_is_looked_at_again() {
        let now = Instant::now();
        let mut ledger = ledger(&["a"], now);
        ledger.gone(config("a"));
        assert_eq!(ledger.next(now), Some(config("a")));
        ledger.shown(config("a"), &stamp("3", 0));
        assert_eq!(ledger.next(now), None);
        assert!(ledger.looked(&config("a"), Look::Nothing, now));
        assert_eq!(ledger.next(now), Some(config("a")));
    }

    #[tokio::test]
    async fn what_a_list_leaves_out_is_looked_at_unless_it_is_known_to_be_gone() {
        let now = Instant::now();
        let mut ledger = ledger(&["a", "b", "c"], now);
        ledger.gone(config("c"));
        ledger.next(now);
        ledger.looked(&config("c"), Look::Nothing, now);
        ledger.list_begins();
        ledger.shown(config("a"), &stamp("1", 0));
        ledger.list_ends();
        assert_eq!(ledger.next(now), Some(config("b")));
        assert_eq!(ledger.next(now), None);
    }

    #[tokio::test]
    async fn a_watch_that_begins_again_looks_at_everything_even_at_what_was_being_looked_at() {
        let now = Instant::now();
        let mut ledger = ledger(&["a", "b"], now);
        ledger.gone(config("a"));
        assert_eq!(ledger.next(now), Some(config("a")));
        ledger.begin_again();
        assert_eq!(ledger.next(now), Some(config("a")));
        assert_eq!(ledger.next(now), Some(config("b")));
    }

    #[tokio::test]
    async fn a_look_that_fails_is_repeated_with_growing_pauses() {
        let now = Instant::now();
        let mut ledger = Ledger::default();
        ledger.begin(config("a"));
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            let at = ledger.next_retry().unwrap_or(now);
            assert_eq!(ledger.next(at), Some(config("a")));
            assert!(!ledger.looked(&config("a"), Look::Failed { forbidden: true }, now));
            assert!(ledger.is_forbidden() && ledger.is_calm());
            assert_eq!(ledger.next_retry(), Some(now + Duration::from_secs(seconds)));
        }
        ledger.end(&config("a"));
        assert!(!ledger.is_forbidden());
        assert_eq!(ledger.next_retry(), None);
    }
}
