//! One scripted fault as a value. Whether it is in force at a moment is the book's question, not asked here.

use std::time::Duration;

use super::upgrade::{JobFault, Jobs, UpgradeFault};
use crate::pattern::Pattern;

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The agent takes this long before it acts on a new generation or on a deletion.
    Delay(Duration),
    /// The agent cannot apply manifests and says so.
    ApplyFailure {
        /// What it says.
        message: String,
    },
    /// Manifests are applied, but what they create never becomes available.
    Unavailable {
        /// What the agent says about it.
        message: String,
    },
    /// Pre-delete hooks run and fail.
    HookFailure {
        /// What they say.
        message: String,
    },
    /// Pre-delete hooks run and never end.
    HookHang,
    /// The cluster cannot be reached: its agents do nothing until it is back.
    Offline,
    /// Jobs of works that are no hooks go wrong.
    Job(Jobs, JobFault),
    /// The upgrade of the cluster goes wrong; clusters that play no OpenShift have none.
    Upgrade(UpgradeFault),
}

/// A fault with the places and times it is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRule {
    /// The clusters.
    pub cluster: Pattern,
    /// What goes wrong there.
    pub fault: Fault,
    /// The works concerned; none means all.
    pub work: Option<Pattern>,
    /// The manifests concerned, by `metadata.name`; none means all.
    pub manifest: Option<Pattern>,
    /// The first generation of a work that is concerned.
    pub from_generation: i64,
    /// How long the fault lasts, counted for each cluster from its first effect; none means permanently.
    pub heals_after: Option<Duration>,
}

impl FaultRule {
    /// Returns a permanent rule for everything on the matching clusters.
    pub fn new(cluster: impl Into<String>, fault: Fault) -> Self {
        Self {
            cluster: Pattern::new(cluster),
            fault,
            work: None,
            manifest: None,
            from_generation: 0,
            heals_after: None,
        }
    }

    /// Returns the rule for these works only.
    #[must_use]
    pub fn for_work(mut self, work: impl Into<String>) -> Self {
        self.work = Some(Pattern::new(work));
        self
    }

    /// Returns the rule for these manifests only.
    #[must_use]
    pub fn for_manifest(mut self, manifest: impl Into<String>) -> Self {
        self.manifest = Some(Pattern::new(manifest));
        self
    }

    /// Returns the rule from this generation of a work onwards.
    #[must_use]
    pub fn from_generation(mut self, generation: i64) -> Self {
        self.from_generation = generation;
        self
    }

    /// Returns the rule with an end, counted for each cluster from when it first bites.
    #[must_use]
    pub fn healing_after(mut self, duration: Duration) -> Self {
        self.heals_after = Some(duration);
        self
    }

    pub(super) fn concerns_work(&self, work: &str, generation: i64) -> bool {
        generation >= self.from_generation && self.work.as_ref().is_none_or(|pattern| pattern.matches(work))
    }

    pub(super) fn concerns_manifest(&self, manifest: &str) -> bool {
        self.manifest
            .as_ref()
            .is_none_or(|pattern| pattern.matches(manifest))
    }
}

/// All faults of a fleet, in the order in which they are tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<FaultRule>);

impl Faults {
    /// Returns no faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns these faults and one more.
    #[must_use]
    pub fn with(mut self, rule: FaultRule) -> Self {
        self.0.push(rule);
        self
    }

    /// Returns the rules.
    pub fn rules(&self) -> &[FaultRule] {
        &self.0
    }

    /// Returns the faults of one cluster as its annotation writes them, one a line; "" when it has none.
    pub fn on_cluster(&self, cluster: &str) -> String {
        let rules = self.0.iter().filter(|rule| rule.cluster.matches(cluster));
        rules.map(FaultRule::on_cluster).collect::<Vec<_>>().join("\n")
    }
}

impl FromIterator<FaultRule> for Faults {
    fn from_iter<I: IntoIterator<Item = FaultRule>>(rules: I) -> Self {
        Self(rules.into_iter().collect())
    }
}
