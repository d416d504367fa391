//! Which faults are in force now. Moments are durations since the fleet started: this file has no clock.

use std::{collections::BTreeMap, time::Duration};

use super::{Fault, FaultRule, Faults};

/// The faults of a fleet and since when each of them bites on each cluster.
#[derive(Debug, Default)]
pub(crate) struct Book {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    rule: FaultRule,
    bites_since: BTreeMap<String, Duration>,
}

/// What the faults in force do to one work.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// How long after it was first seen the work may be acted upon.
    pub(crate) delay: Duration,
    /// Rules that concern some of its manifests.
    pub(crate) rules: Vec<FaultRule>,
    /// Whether hooks have had the time that they take.
    pub(crate) hooks_over: bool,
    /// When the next of them ends.
    pub(crate) heals_at: Option<Duration>,
}

impl Effects {
    /// Returns what the agent says instead of applying this manifest.
    pub(crate) fn apply_failure(&self, manifest: &str) -> Option<&str> {
        self.concerning(manifest).find_map(apply_failure)
    }

    /// Returns why what this manifest creates is not available.
    pub(crate) fn unavailable(&self, manifest: &str) -> Option<&str> {
        self.concerning(manifest).find_map(unavailable)
    }

    /// Returns what this hook says when it fails.
    pub(crate) fn hook_failure(&self, manifest: &str) -> Option<&str> {
        self.concerning(manifest).find_map(|fault| match fault {
            Fault::HookFailure { message } => Some(message.as_str()),
            Fault::Delay(_)
            | Fault::ApplyFailure { .. }
            | Fault::Unavailable { .. }
            | Fault::HookHang
            | Fault::Offline => None,
        })
    }

    /// Returns whether this hook never ends.
    pub(crate) fn hook_hangs(&self, manifest: &str) -> bool {
        self.concerning(manifest).any(|fault| *fault == Fault::HookHang)
    }

    /// Returns whether any manifest is not applied.
    pub(crate) fn any_apply_failure(&self) -> bool {
        self.rules.iter().any(|rule| apply_failure(&rule.fault).is_some())
    }

    /// Returns whether what any manifest creates is not available.
    pub(crate) fn any_unavailable(&self) -> bool {
        self.rules.iter().any(|rule| unavailable(&rule.fault).is_some())
    }

    fn concerning<'e, 'm>(&'e self, manifest: &'m str) -> impl Iterator<Item = &'e Fault> + use<'e, 'm> {
        let rules = self.rules.iter();
        rules
            .filter(move |rule| rule.concerns_manifest(manifest))
            .map(|rule| &rule.fault)
    }
}

fn apply_failure(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::ApplyFailure { message } => Some(message),
        Fault::Delay(_)
        | Fault::Unavailable { .. }
        | Fault::HookFailure { .. }
        | Fault::HookHang
        | Fault::Offline => None,
    }
}

fn unavailable(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::Unavailable { message } => Some(message),
        Fault::Delay(_)
        | Fault::ApplyFailure { .. }
        | Fault::HookFailure { .. }
        | Fault::HookHang
        | Fault::Offline => None,
    }
}

impl Book {
    pub(crate) fn new(faults: &Faults) -> Self {
        let mut book = Self::default();
        for rule in faults.rules() {
            book.add(rule.clone());
        }
        book
    }

    pub(crate) fn add(&mut self, rule: FaultRule) {
        self.entries.push(Entry {
            rule,
            bites_since: BTreeMap::new(),
        });
    }

    /// Ends every fault of one cluster; rules that also concern other clusters go on there.
    pub(crate) fn clear(&mut self, cluster: &str) {
        for entry in self
            .entries
            .iter_mut()
            .filter(|entry| entry.rule.cluster.matches(cluster))
        {
            entry.bites_since.insert(cluster.to_owned(), Duration::MAX);
        }
        self.entries
            .retain(|entry| entry.rule.cluster.as_str() != cluster);
    }

    /// Returns whether the cluster is cut off, and when that ends.
    pub(crate) fn offline(&mut self, cluster: &str, now: Duration) -> (bool, Option<Duration>) {
        let cuts = self
            .entries
            .iter_mut()
            .filter(|entry| entry.rule.fault == Fault::Offline);
        let ends: Vec<_> = cuts.filter_map(|entry| entry.bite(cluster, now)).collect();
        // The cluster is back when the last cut ends; a cut without an end keeps it away.
        let back = ends
            .iter()
            .copied()
            .collect::<Option<Vec<_>>>()
            .and_then(|ends| ends.into_iter().max());
        (!ends.is_empty(), back)
    }

    /// Returns what the faults in force do to this generation of a work.
    pub(crate) fn effects(&mut self, cluster: &str, work: &str, generation: i64, now: Duration) -> Effects {
        let mut effects = Effects::default();
        for entry in &mut self.entries {
            if entry.rule.fault == Fault::Offline || !entry.rule.concerns_work(work, generation) {
                continue;
            }
            let Some(end) = entry.bite(cluster, now) else {
                continue;
            };
            effects.heals_at = [effects.heals_at, end].into_iter().flatten().min();
            match &entry.rule.fault {
                Fault::Delay(delay) => effects.delay = effects.delay.max(*delay),
                Fault::ApplyFailure { .. }
                | Fault::Unavailable { .. }
                | Fault::HookFailure { .. }
                | Fault::HookHang => {
                    effects.rules.push(entry.rule.clone());
                }
                Fault::Offline => {}
            }
        }
        effects
    }
}

impl Entry {
    /// Returns none when the fault does not bite here and now, else when it ends.
    #[expect(
        clippy::option_option,
        reason = "not biting and biting without an end are two answers"
    )]
    fn bite(&mut self, cluster: &str, now: Duration) -> Option<Option<Duration>> {
        if !self.rule.cluster.matches(cluster) {
            return None;
        }
        let since = match self.bites_since.get(cluster) {
            Some(since) => *since,
            None => *self.bites_since.entry(cluster.to_owned()).or_insert(now),
        };
        if since == Duration::MAX {
            return None;
        }
        match self.rule.heals_after.map(|lasts| since.saturating_add(lasts)) {
            Some(end) if end <= now => None,
            end => Some(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    fn book(texts: &[&str]) -> Book {
        Book::new(&Faults::parse(texts).expect("faults as text"))
    }

    #[test]
    fn offline_lasts_until_the_last_cut_ends() {
        let mut book = book(&["c1=offline,for=10s", "c*=offline,for=20s"]);
        assert_eq!(book.offline("c1", at(0)), (true, Some(at(20))));
        assert_eq!(book.offline("c1", at(15)), (true, Some(at(20))));
        assert_eq!(book.offline("c1", at(20)), (false, None));
        assert_eq!(book.offline("d1", at(0)), (false, None));
    }

    #[test]
    fn a_fault_heals_from_when_it_first_bit() {
        let mut book = book(&["c1=apply-failure,from=2,for=10s:no"]);
        assert_eq!(
            book.effects("c1", "w", 1, at(0)),
            Effects::default(),
            "the first generation is not concerned"
        );
        let second = book.effects("c1", "w", 2, at(100));
        assert_eq!(
            (second.apply_failure("m"), second.heals_at),
            (Some("no"), Some(at(110)))
        );
        assert_eq!(
            book.effects("c1", "w", 3, at(110)),
            Effects::default(),
            "healed for later generations as well"
        );
    }

    #[test]
    fn rules_pick_works_and_manifests() {
        let mut book = book(&[
            "c1=unavailable,work=addon-*,manifest=agent:crash",
            "c1=delay:3s",
            "c1=delay:5s",
        ]);
        let hit = book.effects("c1", "addon-x", 1, at(0));
        assert_eq!(
            (
                hit.unavailable("agent"),
                hit.unavailable("config"),
                hit.apply_failure("agent")
            ),
            (Some("crash"), None, None)
        );
        assert_eq!((hit.delay, hit.heals_at), (at(5), None));
        assert_eq!(book.effects("c1", "other", 1, at(0)).rules, vec![]);
        assert_eq!(book.effects("c2", "addon-x", 1, at(0)), Effects::default());
    }

    #[test]
    fn clearing_one_cluster_leaves_the_others() {
        let mut book = book(&["c*=offline", "c1=delay:3s"]);
        book.clear("c1");
        assert_eq!(book.offline("c1", at(1)), (false, None));
        assert_eq!(book.offline("c2", at(1)), (true, None));
        assert_eq!(book.effects("c1", "w", 1, at(1)), Effects::default());
        book.add(FaultRule::new("c1", Fault::Offline));
        assert_eq!(
            book.offline("c1", at(2)),
            (true, None),
            "a new fault after clearing counts"
        );
    }
}
