//! Settings of rollouts that many add-ons and upgrades share.
//!
//! Decides which values of a RolloutProfile have a meaning. Which of several values counts is decided in `resolved_settings`.

use api::{ClusterWindows, RolloutProfileSpec};
use kubernetes::field::{Class, Fault, Path, Violation, selector_fault};
use kubernetes::labels::Selector;

use crate::names::Name;
use crate::rollout::{RawStrategy, RolloutStrategy};
use crate::rollout_settings::{Level, MOST_WINDOWS, revisions};
use crate::rollout_window::RolloutWindows;
use crate::rule;
use crate::selector::is_label_key;

/// Settings of rollouts that many add-ons and upgrades share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutProfile {
    /// Its name.
    pub name: Name,
    /// Whether it is the default of the hub.
    pub is_default: bool,
    pub(crate) level: Level,
    pub(crate) strategy: Option<RolloutStrategy>,
    pub(crate) order_by: Option<Name>,
    pub(crate) cluster_windows: Option<Vec<(Selector, RolloutWindows)>>,
    pub(crate) revisions: Option<usize>,
}

impl RolloutProfile {
    /// Reads the spec that stands at `path`.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it.
    pub fn parse(name: &str, raw: &RolloutProfileSpec, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let of_clusters = raw
            .cluster_windows
            .iter()
            .flatten()
            .filter_map(|one| one.windows.as_ref());
        let windows = of_clusters.chain(&raw.settings.windows);
        if windows.map(Vec::len).sum::<usize>() > MOST_WINDOWS {
            let detail = format!("all windows together must not be more than {MOST_WINDOWS}");
            let fault = Fault::bare(Class::TooMany, detail);
            return Err(vec![fault.at(path.clone(), rule::ROLLOUT_WINDOW)]);
        }
        let strategy = raw.rollout_strategy.as_ref().and_then(|raw| {
            let strategy = RolloutStrategy::parse(&RawStrategy::from(raw), &path.key("rolloutStrategy"));
            strategy.map_err(|faults| wrong.extend(faults)).ok()
        });
        if !raw.order_by.is_empty() && !is_label_key(&raw.order_by) {
            let fault = Fault::of_text(Class::Invalid, &raw.order_by, "must be the key of a label");
            wrong.push(fault.at(path.key("orderBy"), rule::ROLLOUT_PROFILE));
        }
        let cluster_windows = raw.cluster_windows.as_ref().map(|list| {
            let each = list.iter().enumerate();
            let read = each.filter_map(|(index, one)| {
                let path = path.key("clusterWindows").index(index);
                cluster_windows(one, &path, &mut wrong)
            });
            read.collect()
        });
        let read = Self {
            name: Name::from(name),
            is_default: raw.default.unwrap_or_default(),
            level: Level::parse(&raw.settings, &api::RolloutActions::default(), path, &mut wrong),
            strategy,
            order_by: Some(Name::from(raw.order_by.as_str())).filter(|key| !key.is_empty()),
            cluster_windows,
            revisions: revisions(raw.revision_history_limit, path, &mut wrong),
        };
        if wrong.is_empty() { Ok(read) } else { Err(wrong) }
    }

    /// Returns the RolloutChecks that it names.
    pub fn checks(&self) -> &[Name] {
        self.level.checks.as_deref().unwrap_or_default()
    }

    /// Returns whether the change from `before` to this one can let changes start that waited: it takes a pause, an approval or windows
    /// away, or has another strategy.
    pub fn releases(&self, before: &Self) -> bool {
        let lost = |was: bool, is: bool| was && !is;
        lost(before.level.pause.is_some(), self.level.pause.is_some())
            || before.level.groups != self.level.groups
            || before.level.windows != self.level.windows
            || before.level.checks != self.level.checks
            || before.cluster_windows != self.cluster_windows
            || before.strategy != self.strategy
            || lost(before.is_default, self.is_default)
    }
}

fn cluster_windows(
    raw: &ClusterWindows,
    path: &Path,
    wrong: &mut Vec<Violation>,
) -> Option<(Selector, RolloutWindows)> {
    let at = path.key("clusterSelector");
    let listed = path.key("windows");
    let windows = raw.windows.as_ref().map_or_else(
        || {
            let fault = Fault::bare(Class::Required, "must list the windows; [] is at any time");
            Err(vec![fault.at(listed.clone(), rule::ROLLOUT_PROFILE)])
        },
        |windows| RolloutWindows::parse(windows, &listed),
    );
    let windows = windows.map_err(|faults| wrong.extend(faults)).ok();
    let Some(selector) = &raw.cluster_selector else {
        let fault = Fault::bare(Class::Required, "must select the clusters; {} selects all");
        wrong.push(fault.at(at, rule::ROLLOUT_PROFILE));
        return None;
    };
    let selector = Selector::from_object(selector).map_err(|faults| {
        wrong.extend(faults.iter().map(|fault| {
            let (at, fault) = selector_fault(fault, &at);
            fault.at(at, rule::ROLLOUT_PROFILE)
        }));
    });
    selector.ok().zip(windows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(spec: Value) -> Result<RolloutProfile, Vec<String>> {
        let raw: RolloutProfileSpec =
            serde_json::from_value(spec).map_err(|error| vec![error.to_string()])?;
        let read = RolloutProfile::parse("slow", &raw, &Path::root().key("spec"));
        read.map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let wrong = read(json!({
            "rolloutStrategy": {"type": "progressive", "all": {"minSuccessTime": "banana"}}, "orderBy": "a b", "onFailure": "undo",
            "approvalBefore": ["p r"], "revisionHistoryLimit": 101, "windows": [{"cron": "0 0 30 2 *", "duration": "1h"}],
            "clusterWindows": [{"windows": [{"cron": "x", "duration": "1h"}]},
                {"clusterSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}, "windows": []}],
        }))
        .expect_err("many faults");
        let paths: Vec<&str> = wrong.iter().filter_map(|one| one.split(": ").next()).collect();
        assert_eq!(
            paths,
            [
                "spec.rolloutStrategy.type",
                "spec.rolloutStrategy.all.minSuccessTime",
                "spec.orderBy",
                "spec.clusterWindows[0].windows[0].cron",
                "spec.clusterWindows[0].clusterSelector",
                "spec.clusterWindows[1].clusterSelector.matchExpressions[0].values",
                "spec.windows[0].cron",
                "spec.approvalBefore[0]",
                "spec.onFailure",
                "spec.revisionHistoryLimit",
            ]
        );
        let window = json!({"cron": "0 2 * * *", "duration": "1h"});
        let entry = json!({"clusterSelector": {}, "windows": vec![window; 20]});
        assert_eq!(
            read(json!({"clusterWindows": vec![entry; 6]}))
                .expect_err("too many")
                .len(),
            1
        );
    }

    #[test]
    fn an_edit_that_holds_less_than_before_releases() {
        let strict = read(
            json!({"default": true, "pause": {}, "approvalBefore": ["*"], "windows": [{"cron": "0 2 * * *", "duration": "1h"}]}),
        );
        let (strict, lax) = (strict.expect("valid"), read(json!({})).expect("valid"));
        assert!(lax.releases(&strict));
        assert!(!strict.releases(&strict));
        let undo = read(json!({"onFailure": "Undo"})).expect("valid");
        assert!(!undo.releases(&lax), "it holds what it held");
    }
}
