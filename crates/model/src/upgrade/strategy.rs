//! How an upgrade is rolled out: canary clusters, concurrency, timeouts, tolerated failures, and the window in which clusters start.
//!
//! Decides the meaning of `spec.upgradeStrategy` and its defaults. Never decides which cluster starts.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use api::cluster::{UpgradeStage, UpgradeStrategy};
use kubernetes::duration::GoDuration;
use kubernetes::field::{Class, Fault, Path, Violation, quoted};
use kubernetes::names::is_dns1123_subdomain;

use super::selection::ClusterSelector;
use super::window::Window;
use crate::Name;
use crate::deadline::Soak;
use crate::limit::{Limit, Percent, Tolerance};
use crate::names::{check_names, profile_name};
use crate::rollout::keep;
use crate::rule;
use crate::scalar::Scalar;
use crate::slip::probably_meant;

/// How many clusters upgrade at once where the upgrade does not say.
pub const DEFAULT_AT_ONCE: u32 = 10;
/// How long the upgrade of one cluster may take where the upgrade does not say.
pub const DEFAULT_PLATFORM: Duration = Duration::from_hours(3);
/// How long the operators of one cluster may take where the upgrade does not say.
pub const DEFAULT_OPERATORS: Duration = Duration::from_mins(20);

/// How an upgrade is rolled out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The name of the profile whose settings apply, if one is named.
    pub profile: Option<Name>,
    /// The canary clusters, if any.
    pub canary: Option<ClusterSelector>,
    /// The stages behind the canary clusters, in their order.
    pub stages: Vec<Stage>,
    /// How long the upgrade of one cluster may take; never zero.
    pub platform: Duration,
    /// How long the operators of one cluster may take, in whole seconds; never zero.
    pub operators: Duration,
    /// How many clusters upgrade at once; never zero.
    pub at_once: Limit,
    /// How many clusters may fail.
    pub failures: Tolerance,
    /// When clusters may start; absent where they always may.
    pub window: Option<Window>,
    /// Whether a cluster is asked if it is upgradeable before it goes to another minor version.
    pub upgradeable: bool,
    /// The MachineConfigPools that a cluster waits for.
    pub pools: Vec<String>,
}

/// Clusters that are upgraded when those of every earlier stage are complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name, which no other stage has.
    pub name: Name,
    /// Which clusters.
    pub selector: ClusterSelector,
    /// How many of them upgrade at once; absent where the stage does not say.
    pub at_once: Option<Limit>,
    /// How long each cluster must have been complete.
    pub soak: Duration,
    /// Whether its clusters wait for approval.
    pub approval: bool,
    /// The checks that must pass before the next stage starts; absent where the stage does not say.
    pub checks: Option<Vec<Name>>,
}

impl Default for Strategy {
    fn default() -> Self {
        Self {
            profile: None,
            canary: None,
            stages: Vec::new(),
            platform: DEFAULT_PLATFORM,
            operators: DEFAULT_OPERATORS,
            at_once: NonZeroU32::new(DEFAULT_AT_ONCE).map_or(Limit::All, Limit::Clusters),
            failures: Percent::new(100).map_or_else(Tolerance::default, Tolerance::Percent),
            window: None,
            upgradeable: false,
            pools: Vec::new(),
        }
    }
}

impl Strategy {
    /// Reads `spec.upgradeStrategy`, which stands at `path`.
    pub fn parse(raw: &UpgradeStrategy, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let mut read = Self::default();
        let lengths = [
            (
                "clusterUpgradeTimeout",
                &raw.cluster_upgrade_timeout,
                &mut read.platform,
            ),
            (
                "operatorsUpgradeTimeout",
                &raw.operators_upgrade_timeout,
                &mut read.operators,
            ),
        ];
        for (key, text, place) in lengths {
            let length = text.as_deref().map(|text| {
                let length = parse_length(text, "2h");
                length.map_err(|fault| fault.at(path.key(key), rule::UPGRADE_TIMEOUT))
            });
            if let Some(length) = length.and_then(|length| keep(length, &mut wrong)) {
                *place = length;
            }
        }
        if let Some(raw) = &raw.max_concurrency {
            let limit = Limit::parse_positive(Scalar::from(raw))
                .map_err(|fault| fault.at(path.key("maxConcurrency"), rule::UPGRADE_CONCURRENCY));
            read.at_once = keep(limit, &mut wrong).unwrap_or(read.at_once);
        }
        if let Some(raw) = &raw.max_failures {
            let failures = Tolerance::parse(Scalar::from(raw))
                .map_err(|fault| fault.at(path.key("maxFailures"), rule::UPGRADE_FAILURES));
            read.failures = keep(failures, &mut wrong).unwrap_or(read.failures);
        }
        if let Some(raw) = &raw.window {
            let window = Window::parse(raw, &path.key("window"), rule::UPGRADE_WINDOW);
            read.window = window.map_err(|faults| wrong.extend(faults)).ok();
        }
        if let Some(raw) = raw
            .canary_clusters
            .as_ref()
            .and_then(|raw| raw.cluster_selector.as_ref())
        {
            let canary = ClusterSelector::parse(raw, &path.key("canaryClusters").key("clusterSelector"));
            read.canary = canary.map_err(|faults| wrong.extend(faults)).ok();
        }
        read.profile = profile_name(&raw.profile, &path.key("profile"), &mut wrong);
        read.upgradeable = raw.wait_for_upgradeable.unwrap_or_default();
        read.stages = stages(&raw.stages, &path.key("stages"), &mut wrong);
        read.pools = pools(
            &raw.wait_for_worker_pools,
            &path.key("waitForWorkerPools"),
            &mut wrong,
        );
        if wrong.is_empty() { Ok(read) } else { Err(wrong) }
    }
}

fn stages(raw: &[UpgradeStage], path: &Path, wrong: &mut Vec<Violation>) -> Vec<Stage> {
    let mut names = BTreeSet::new();
    let each = raw.iter().enumerate();
    each.filter_map(|(at, stage)| {
        let path = path.index(at);
        let name = match stage.name.as_str() {
            "" => Some(Fault::bare(Class::Required, "must be the name of the stage")),
            name if !names.insert(name) => Some(Fault::of_text(
                Class::Duplicate,
                name,
                "must be the name of one stage only",
            )),
            _ => None,
        };
        wrong.extend(name.map(|fault| fault.at(path.key("name"), rule::UPGRADE_STAGES)));
        parse_stage(stage, &path)
            .map_err(|faults| wrong.extend(faults))
            .ok()
    })
    .collect()
}

fn parse_stage(raw: &UpgradeStage, path: &Path) -> Result<Stage, Vec<Violation>> {
    let mut wrong = Vec::new();
    let at = path.key("clusterSelector");
    let selector = raw
        .cluster_selector
        .as_ref()
        .map(|raw| ClusterSelector::parse(raw, &at));
    if selector.is_none() {
        let fault = Fault::bare(
            Class::Required,
            "must select the clusters of the stage; {} selects all",
        );
        wrong.push(fault.at(at, rule::UPGRADE_STAGES));
    }
    let selector = selector.and_then(|selector| selector.map_err(|faults| wrong.extend(faults)).ok());
    let at_once = raw.max_concurrency.as_ref().map(|raw| {
        Limit::parse_positive(Scalar::from(raw))
            .map_err(|fault| fault.at(path.key("maxConcurrency"), rule::UPGRADE_CONCURRENCY))
    });
    let at_once = at_once.and_then(|limit| keep(limit, &mut wrong));
    let soak = raw.min_success_time.as_deref().map(|text| {
        Soak::parse(Scalar::Text(text))
            .map_err(|fault| fault.at(path.key("minSuccessTime"), rule::UPGRADE_TIMEOUT))
    });
    let soak = soak.and_then(|soak| keep(soak, &mut wrong));
    let names = raw.checks.as_deref();
    let checks = names.map(|names| check_names(names, &path.key("checks"), &mut wrong));
    match selector {
        Some(selector) if wrong.is_empty() => Ok(Stage {
            name: Name::from(raw.name.as_str()),
            selector,
            at_once,
            soak: soak.unwrap_or_default().length(),
            approval: raw.approval.unwrap_or_default(),
            checks,
        }),
        Some(_) | None => Err(wrong),
    }
}

fn pools(raw: &[String], path: &Path, wrong: &mut Vec<Violation>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for (at, name) in raw.iter().enumerate() {
        let fault = if !names.insert(name) {
            Fault::of_text(Class::Duplicate, name, "must be listed only once")
        } else if is_dns1123_subdomain(name) {
            continue;
        } else {
            Fault::of_text(
                Class::Invalid,
                name,
                "must be the name of a MachineConfigPool such as \"worker\"",
            )
        };
        wrong.push(fault.at(path.index(at), rule::UPGRADE_POOLS));
    }
    raw.to_vec()
}

/// Reads a duration that is longer than zero, in whole seconds, rounded up: the clocks of plans tick in seconds.
pub(super) fn parse_length(text: &str, example: &str) -> Result<Duration, Fault> {
    let length = GoDuration::parse(text).ok().and_then(GoDuration::length);
    let length = length.filter(|length| !length.is_zero());
    let whole = length.map(|length| {
        let more = u64::from(length.subsec_nanos() > 0);
        Duration::from_secs(length.as_secs().saturating_add(more))
    });
    whole.ok_or_else(|| {
        let meant = probably_meant(text).map(|meant| format!("did you mean {}?", quoted(&meant)));
        let detail = format!("must be a duration longer than zero, such as \"{example}\"");
        Fault::of_text(Class::Invalid, text, detail).hint_if(meant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn strategy(raw: Value) -> Result<Strategy, Vec<String>> {
        let raw = serde_json::from_value(raw).map_err(|error| vec![error.to_string()])?;
        Strategy::parse(&raw, &Path::root().key("s"))
            .map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn absent_fields_have_defaults() {
        assert_eq!(strategy(json!({})), Ok(Strategy::default()));
        let found = Strategy::default();
        assert_eq!((found.at_once.of(100), found.failures.of(100)), (10, 100));
        assert_eq!(found.platform, Duration::from_hours(3));
        assert_eq!(found.operators, Duration::from_mins(20));
    }

    #[test]
    fn the_example_of_the_proposal_reads() {
        let found = strategy(json!({
            "canaryClusters": {"clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev1"]}]}},
            "clusterUpgradeTimeout": "2h", "maxConcurrency": 2, "operatorsUpgradeTimeout": "10m"
        }))
        .expect("a strategy");
        assert!(found.canary.is_some());
        assert_eq!(
            (found.platform, found.operators),
            (Duration::from_hours(2), Duration::from_mins(10))
        );
        assert_eq!(found.at_once.of(4), 2);
        let share = strategy(json!({"maxConcurrency": "30%", "maxFailures": 1})).expect("a strategy");
        assert_eq!((share.at_once.of(4), share.failures.of(4)), (2, 1));
    }

    #[test]
    fn every_fault_is_reported() {
        let rows = [
            (json!({"clusterUpgradeTimeout": "0s"}), "s.clusterUpgradeTimeout"),
            (json!({"clusterUpgradeTimeout": "-1h"}), "s.clusterUpgradeTimeout"),
            (
                json!({"operatorsUpgradeTimeout": "10min"}),
                "did you mean \"10m\"?",
            ),
            (json!({"maxConcurrency": 0}), "s.maxConcurrency"),
            (json!({"maxConcurrency": "0%"}), "s.maxConcurrency"),
            (json!({"maxConcurrency": -1}), "s.maxConcurrency"),
            (json!({"maxFailures": "many"}), "s.maxFailures"),
            (
                json!({"window": {"cron": "x", "duration": "1h"}}),
                "s.window.cron",
            ),
            (
                json!({"canaryClusters": {"clusterSelector": {"matchLabels": {"-": "x"}}}}),
                "s.canaryClusters.clusterSelector.matchLabels[-]",
            ),
        ];
        for (raw, said) in rows {
            let wrong = strategy(raw).expect_err(said);
            assert!(wrong.len() == 1 && wrong[0].contains(said), "{wrong:?}");
        }
        let all = strategy(json!({"clusterUpgradeTimeout": "x", "maxConcurrency": 0, "maxFailures": -1}));
        assert_eq!(all.expect_err("three").len(), 3);
    }
}
