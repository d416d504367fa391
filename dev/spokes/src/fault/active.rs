//! Which faults are in force now. Moments are durations since the fleet started: this file has no clock.

use std::{collections::BTreeMap, time::Duration};

use super::{Fault, FaultRule, Faults, JobFault, Jobs, Phase, UpgradeFault};

/// The faults of a fleet and since when each of them bites on each cluster.
#[derive(Debug, Default)]
pub(crate) struct ActiveFaults {
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

/// An upgrade that makes no progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Nothing is said about it.
    Silent,
    /// The cluster says that it fails, and why.
    Failing(String),
}

/// What the faults in force do to the upgrade of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Troubles {
    /// It makes no progress.
    pub(crate) stuck: Option<Stuck>,
    /// It is not accepted, and why.
    pub(crate) rejected: Option<String>,
    /// How long it takes.
    pub(crate) takes: Option<Duration>,
    /// Another minor version is refused, and why.
    pub(crate) not_upgradeable: Option<String>,
    /// How much later the workers follow.
    pub(crate) pools_lag: Option<Duration>,
    /// Whether the cluster cannot be reached meanwhile.
    pub(crate) offline: bool,
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
            | Fault::Offline
            | Fault::Job(..)
            | Fault::Upgrade(_) => None,
        })
    }

    /// Returns whether this hook never ends.
    pub(crate) fn hook_hangs(&self, manifest: &str) -> bool {
        self.concerning(manifest).any(|fault| *fault == Fault::HookHang)
    }

    /// Returns what goes wrong with this job of a work that does this.
    pub(crate) fn job_fault(&self, manifest: &str, does: Jobs) -> Option<&JobFault> {
        self.concerning(manifest).find_map(|fault| match fault {
            Fault::Job(jobs, fault) if *jobs == Jobs::All || *jobs == does => Some(fault),
            Fault::Job(..)
            | Fault::Delay(_)
            | Fault::ApplyFailure { .. }
            | Fault::Unavailable { .. }
            | Fault::HookFailure { .. }
            | Fault::HookHang
            | Fault::Offline
            | Fault::Upgrade(_) => None,
        })
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
        | Fault::Offline
        | Fault::Job(..)
        | Fault::Upgrade(_) => None,
    }
}

fn unavailable(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::Unavailable { message } => Some(message),
        Fault::Delay(_)
        | Fault::ApplyFailure { .. }
        | Fault::HookFailure { .. }
        | Fault::HookHang
        | Fault::Offline
        | Fault::Job(..)
        | Fault::Upgrade(_) => None,
    }
}

impl ActiveFaults {
    pub(crate) fn new(faults: &Faults) -> Self {
        let mut active_faults = Self::default();
        for rule in faults.rules() {
            active_faults.add(rule.clone());
        }
        active_faults
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

    /// Returns what the faults in force do to the upgrade of a cluster that has come this far with it.
    pub(crate) fn troubles(&mut self, cluster: &str, phase: Phase, now: Duration) -> Troubles {
        let mut troubles = Troubles::default();
        for entry in &mut self.entries {
            let Fault::Upgrade(fault) = &entry.rule.fault else {
                continue;
            };
            if !fault.bites_in(phase) {
                continue;
            }
            let fault = fault.clone();
            let Some(end) = entry.bite(cluster, now) else {
                continue;
            };
            troubles.heals_at = [troubles.heals_at, end].into_iter().flatten().min();
            troubles.add(fault);
        }
        troubles
    }

    /// Returns what the faults in force do to this generation of a work that has no jobs.
    pub(crate) fn effects(&mut self, cluster: &str, work: &str, generation: i64, now: Duration) -> Effects {
        self.effects_on(cluster, (work, generation), &[], now)
    }

    /// Returns what the faults in force do to this generation of a work whose jobs are for this. What concerns jobs counts
    /// from the first such job.
    pub(crate) fn effects_on(
        &mut self,
        cluster: &str,
        (work, generation): (&str, i64),
        jobs: &[Jobs],
        now: Duration,
    ) -> Effects {
        let mut effects = Effects::default();
        for entry in &mut self.entries {
            let concerns = match &entry.rule.fault {
                Fault::Offline | Fault::Upgrade(_) => false,
                Fault::Job(of, _) => jobs.iter().any(|does| *of == Jobs::All || of == does),
                Fault::Delay(_)
                | Fault::ApplyFailure { .. }
                | Fault::Unavailable { .. }
                | Fault::HookFailure { .. }
                | Fault::HookHang => true,
            };
            if !concerns || !entry.rule.concerns_work(work, generation) {
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
                | Fault::HookHang
                | Fault::Job(..) => {
                    effects.rules.push(entry.rule.clone());
                }
                Fault::Offline | Fault::Upgrade(_) => {}
            }
        }
        effects
    }
}

impl Troubles {
    fn add(&mut self, fault: UpgradeFault) {
        match fault {
            UpgradeFault::Stall => self.stuck = self.stuck.take().or(Some(Stuck::Silent)),
            UpgradeFault::Fail { message } => self.stuck = Some(Stuck::Failing(message)),
            UpgradeFault::Rejected { message } => self.rejected = Some(message),
            UpgradeFault::Slow(duration) => self.takes = Some(duration),
            UpgradeFault::NotUpgradeable { message } => self.not_upgradeable = Some(message),
            UpgradeFault::PoolsLag(duration) => self.pools_lag = Some(duration),
            UpgradeFault::Offline => self.offline = true,
        }
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

    fn active_faults(texts: &[&str]) -> ActiveFaults {
        ActiveFaults::new(&Faults::parse(texts).expect("faults as text"))
    }

    #[test]
    fn offline_lasts_until_the_last_cut_ends() {
        let mut active_faults = active_faults(&["c1=offline,for=10s", "c*=offline,for=20s"]);
        assert_eq!(active_faults.offline("c1", at(0)), (true, Some(at(20))));
        assert_eq!(active_faults.offline("c1", at(15)), (true, Some(at(20))));
        assert_eq!(active_faults.offline("c1", at(20)), (false, None));
        assert_eq!(active_faults.offline("d1", at(0)), (false, None));
    }

    #[test]
    fn a_fault_heals_from_when_it_first_bit() {
        let mut active_faults = active_faults(&["c1=apply-failure,from=2,for=10s:no"]);
        assert_eq!(
            active_faults.effects("c1", "w", 1, at(0)),
            Effects::default(),
            "the first generation is not concerned"
        );
        let second = active_faults.effects("c1", "w", 2, at(100));
        assert_eq!(
            (second.apply_failure("m"), second.heals_at),
            (Some("no"), Some(at(110)))
        );
        assert_eq!(
            active_faults.effects("c1", "w", 3, at(110)),
            Effects::default(),
            "healed for later generations as well"
        );
    }

    #[test]
    fn rules_pick_works_and_manifests() {
        let mut active_faults = active_faults(&[
            "c1=unavailable,work=addon-*,manifest=agent:crash",
            "c1=delay:3s",
            "c1=delay:5s",
        ]);
        let hit = active_faults.effects("c1", "addon-x", 1, at(0));
        assert_eq!(
            (
                hit.unavailable("agent"),
                hit.unavailable("config"),
                hit.apply_failure("agent")
            ),
            (Some("crash"), None, None)
        );
        assert_eq!((hit.delay, hit.heals_at), (at(5), None));
        assert_eq!(active_faults.effects("c1", "other", 1, at(0)).rules, vec![]);
        assert_eq!(
            active_faults.effects("c2", "addon-x", 1, at(0)),
            Effects::default()
        );
    }

    #[test]
    fn troubles_of_an_upgrade_count_from_when_they_matter() {
        let mut active_faults = active_faults(&[
            "c1=upgrade-fail,for=10s:broken",
            "c1=upgrade-rejected,for=10s:unsigned",
            "c1=upgrade-slow:1m",
            "c1=not-upgradeable:ask",
            "c1=offline-during-upgrade",
        ]);
        let idle = active_faults.troubles("c1", Phase::Idle, at(0));
        assert_eq!(
            (
                idle.stuck,
                idle.rejected,
                idle.offline,
                idle.not_upgradeable.as_deref()
            ),
            (None, None, false, Some("ask"))
        );
        let asked = active_faults.troubles("c1", Phase::Asked, at(100));
        assert_eq!(
            (asked.rejected.as_deref(), asked.heals_at),
            (Some("unsigned"), Some(at(110)))
        );
        let moving = active_faults.troubles("c1", Phase::Moving, at(200));
        assert_eq!(
            (moving.stuck, moving.takes, moving.offline, moving.heals_at),
            (
                Some(Stuck::Failing("broken".to_owned())),
                Some(at(60)),
                true,
                Some(at(210))
            )
        );
        assert_eq!(active_faults.troubles("c1", Phase::Moving, at(210)).stuck, None);
        assert_eq!(
            active_faults.troubles("c2", Phase::Moving, at(0)),
            Troubles::default()
        );
        assert_eq!(active_faults.effects("c1", "w", 1, at(0)), Effects::default());
    }

    #[test]
    fn jobs_are_distinguished_by_the_purpose_of_their_work() {
        let mut active_faults = active_faults(&["c1=pre-fail:no", "c1=job-hang,manifest=slow"]);
        assert_eq!(
            active_faults.effects("c1", "w", 1, at(0)),
            Effects::default(),
            "it has no jobs"
        );
        let effects = active_faults.effects_on("c1", ("w", 1), &[Jobs::Pre], at(0));
        let no = JobFault::Fail {
            message: "no".to_owned(),
        };
        assert_eq!(effects.job_fault("backup", Jobs::Pre), Some(&no));
        assert_eq!(effects.job_fault("backup", Jobs::Post), None);
        assert_eq!(effects.job_fault("slow", Jobs::All), Some(&JobFault::Hang));
    }

    #[test]
    fn clearing_one_cluster_leaves_the_others() {
        let mut active_faults = active_faults(&["c*=offline", "c1=delay:3s"]);
        active_faults.clear("c1");
        assert_eq!(active_faults.offline("c1", at(1)), (false, None));
        assert_eq!(active_faults.offline("c2", at(1)), (true, None));
        assert_eq!(active_faults.effects("c1", "w", 1, at(1)), Effects::default());
        active_faults.add(FaultRule::new("c1", Fault::Offline));
        assert_eq!(
            active_faults.offline("c1", at(2)),
            (true, None),
            "a new fault after clearing counts"
        );
    }
}
