//! How many instances of an add-on may be removed in a minute, and how many were.
//!
//! Decides the size of a budget, and what is left of it at a moment. Never decides whose removal counts (`plan::install`).
//! Nothing is remembered beyond a minute; a leader that begins to write knows nothing of the minute before, and takes it for
//! spent: the add-on may have been on every cluster that is there. Never takes what is left of a fleet for a small fleet.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::parts::removals::{LONGEST, WINDOW, is_over, limit_of};
use crate::store::Store;
use crate::view::View;
use model::Name;

/// How many instances of an add-on may go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As many as there are.
    Free,
    /// So many.
    Left {
        /// How many now.
        now: usize,
        /// How many in a minute.
        limit: usize,
        /// When there may be more.
        more_at: Timestamp,
    },
}

impl Store {
    /// Notes that this program writes from now on, and does not know what was removed just before.
    pub fn begin_to_write(&mut self, now: Timestamp) {
        self.pending.removals.since = Some(now);
    }

    /// Notes that an instance was removed. What goes with its cluster has no budget, and needs none.
    pub fn took_away(&mut self, addon: &Name, cluster: &str, now: Timestamp) {
        if self
            .objects
            .clusters
            .get(cluster)
            .is_some_and(|found| found.meta.deleting)
        {
            return;
        }
        let lately = self.pending.removals.lately.entry(addon.clone()).or_default();
        while lately.front().is_some_and(|(at, _)| is_over(*at, now)) {
            lately.pop_front();
        }
        match lately.back_mut().filter(|(at, _)| *at >= now) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => lately.push_back((now, 1)),
        }
    }
}

impl View<'_> {
    /// Returns how many instances of the add-on may be removed now.
    pub fn pace(&self, now: Timestamp) -> Pace {
        if self.lets_removals_go(now) {
            return Pace::Free;
        }
        let removals = &self.store.pending.removals;
        let lately = || {
            let all = removals.lately.get(&self.addon.name).into_iter().flatten();
            all.filter(|(at, _)| !is_over(*at, now))
        };
        let gone: usize = lately().map(|(_, count)| *count).sum();
        let alive = self.all_instances().filter(|instance| !instance.meta.deleting);
        let total = alive.count().saturating_add(gone);
        let fresh = removals.since.filter(|since| !is_over(*since, now));
        let total = if fresh.is_some() {
            total.max(self.most_a_minute_ago())
        } else {
            total
        };
        let Some(limit) = limit_of(self.settings().removal_budget, total) else {
            return Pace::Free;
        };
        let spent = if fresh.is_some() { limit } else { gone };
        let ends = lately().map(|(at, _)| *at).next().into_iter().chain(fresh).min();
        let more_at = ends.unwrap_or(now).checked_add(WINDOW).unwrap_or(Timestamp::MAX);
        Pace::Left {
            now: limit.saturating_sub(spent),
            limit,
            more_at: ceiling(more_at),
        }
    }

    /// Since when this program writes, and knows how much time has passed; absent where no other program can have
    /// written before.
    pub fn writes_since(&self) -> Option<Timestamp> {
        self.store.pending.removals.since.map(ceiling)
    }

    /// On how many clusters the add-on can have been before this program wrote: a removed instance has left its cluster behind.
    fn most_a_minute_ago(&self) -> usize {
        let clusters = self
            .store
            .objects
            .clusters
            .iter()
            .filter(|(_, cluster)| !cluster.meta.deleting);
        let there: BTreeSet<&Name> = clusters.map(|(name, _)| name).collect();
        let beside = self
            .all_instances()
            .filter(|instance| !there.contains(&instance.cluster));
        there.len().saturating_add(beside.count())
    }

    /// Returns whether the removals of the add-on go without a budget now: a time that is past or too far ahead says nothing.
    pub fn lets_removals_go(&self, now: Timestamp) -> bool {
        let until = self.addon.removals_until;
        until.is_some_and(|until| now < until && until.duration_since(now) <= LONGEST)
    }
}

/// Plans count in whole seconds: a fraction would be due before it can be seen.
fn ceiling(at: Timestamp) -> Timestamp {
    let whole = i64::from(at.subsec_nanosecond() > 0);
    Timestamp::from_second(at.as_second().saturating_add(whole)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Event, Kind, Settings};

    fn time(text: &str) -> Timestamp {
        format!("2030-01-01T{text}Z").parse().expect("a time")
    }

    fn store(instances: usize, until: &str) -> Store {
        let mut store = Store::new(Settings::default());
        let annotations = json!({(crate::terms::REMOVALS_ALLOWED_UNTIL): until});
        let object = json!({"metadata": {"name": "a", "uid": "a", "resourceVersion": "1", "annotations": annotations}, "spec": {}});
        store.apply(Event::Applied {
            kind: Kind::AddOn,
            object,
        });
        for number in 0..instances {
            let object = json!({"metadata": {"name": "a", "namespace": format!("c{number}"), "uid": number.to_string(),
                "resourceVersion": "1"}, "spec": {}});
            store.apply(Event::Applied {
                kind: Kind::Instance,
                object,
            });
        }
        store
    }

    fn pace(store: &Store, now: &str) -> String {
        match store.view("a").expect("it is there").pace(time(now)) {
            Pace::Free => "free".to_owned(),
            Pace::Left { now, limit, more_at } => format!("{now} of {limit}, more at {more_at}"),
        }
    }

    #[test]
    fn what_was_taken_away_counts_for_a_minute() {
        let mut store = store(100, "");
        assert_eq!(pace(&store, "00:00:00"), "20 of 20, more at 2030-01-01T00:01:00Z");
        for number in 0..15 {
            store.took_away(&"a".into(), &format!("c{number}"), time("00:00:00.5"));
        }
        store.took_away(&"a".into(), "c15", time("00:00:30"));
        assert_eq!(pace(&store, "00:00:31"), "4 of 20, more at 2030-01-01T00:01:01Z");
        assert_eq!(pace(&store, "00:01:01"), "19 of 20, more at 2030-01-01T00:01:30Z");
    }

    #[test]
    fn a_new_writer_counts_the_minute_before_as_used_unless_the_add_on_is_small() {
        for (instances, early, late) in [
            (20, "free", "free"),
            (
                21,
                "0 of 20, more at 2030-01-01T00:01:00Z",
                "20 of 20, more at 2030-01-01T00:02:00Z",
            ),
        ] {
            let mut store = store(instances, "");
            store.begin_to_write(time("00:00:00"));
            assert_eq!(pace(&store, "00:00:59"), early);
            assert_eq!(pace(&store, "00:01:00"), late);
        }
    }

    #[test]
    fn a_user_may_allow_removals_for_at_most_a_day() {
        for (until, expected) in [
            ("2030-01-01T00:00:01Z", true),
            ("2030-01-02T00:00:00Z", true),
            ("2030-01-01T00:00:00Z", false),
            ("2030-01-02T00:00:01Z", false),
            ("true", false),
        ] {
            assert_eq!(
                pace(&store(100, until), "00:00:00") == "free",
                expected,
                "{until}"
            );
        }
    }
}
