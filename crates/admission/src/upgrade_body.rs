//! The input of rules for a `ManagedClustersUpgrade`: all faults of its values, or else the parsed spec.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless, by the parser of the planner.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fitting::FittingSpec;
use super::step_budget::Items;
use super::upgrade_record::Asks;
use api::cluster::{ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus, OperatorRef};
use kubernetes::field::{Path, Violation};
use model::upgrade::UpgradeSpec;

/// The input of rules for an upgrade.
#[derive(Clone, Debug, Default)]
pub(super) struct UpgradeBody {
    /// The faults, by rule.
    faults: BTreeMap<String, Vec<Violation>>,
    /// The parsed spec, if it has no faults.
    pub(super) spec: Option<UpgradeSpec>,
    /// `ocpOperators.include` and `ocpOperators.exclude`.
    pub(super) include: Items<OperatorRef>,
    pub(super) exclude: Items<OperatorRef>,
    /// `ocpOperators.approveAllUpgrades`.
    pub(super) approves_all: bool,
    /// The desired state of every cluster: version, operators and actions.
    pub(super) asked: Value,
    /// The placements for which the permission of the author is recorded.
    pub(super) asks: Asks,
    /// The number of clusters that are being upgraded, from the status.
    pub(super) underway: i64,
}

impl UpgradeBody {
    /// Reads an object.
    pub(super) fn read(object: &Value) -> Self {
        let written = object.get("spec").unwrap_or(&Value::Null);
        let fitting = FittingSpec::<ManagedClustersUpgradeSpec>::read(object);
        let status: ManagedClustersUpgradeStatus = object
            .get("status")
            .and_then(|status| serde_json::from_value(status.clone()).ok())
            .unwrap_or_default();
        let counts = status.state_counts.unwrap_or_default();
        let path = Path::root().key("spec");
        let (parsed, wrong) = match UpgradeSpec::parse(&fitting.spec, &path) {
            Ok(parsed) => (Some(parsed), Vec::new()),
            Err(wrong) => (None, wrong),
        };
        let mut faults: BTreeMap<String, Vec<Violation>> = BTreeMap::new();
        for fault in wrong.into_iter().filter(|fault| fitting.has(fault, object)) {
            faults.entry(fault.rule().to_owned()).or_default().push(fault);
        }
        let operators = fitting.spec.ocp_operators.unwrap_or_default();
        Self {
            faults,
            spec: parsed,
            include: operators.include.iter().cloned().collect(),
            exclude: operators.exclude.iter().cloned().collect(),
            approves_all: operators.approve_all_upgrades.unwrap_or_default(),
            asked: asked(written),
            asks: Asks::read(object),
            underway: counts.initialized.saturating_add(counts.partial),
        }
    }

    /// Returns the faults of a rule.
    pub(super) fn faults_of(&self, rule: &str) -> Items<Violation> {
        self.faults.get(rule).into_iter().flatten().cloned().collect()
    }
}

fn asked(spec: &Value) -> Value {
    let parts = [
        "clusterVersion",
        "ocpOperators",
        "preUpgradeAction",
        "postUpgradeAction",
    ];
    let each = parts
        .into_iter()
        .filter_map(|part| Some((part.to_owned(), spec.get(part)?.clone())));
    Value::Object(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_part_of_the_wrong_type_hides_no_other() {
        let body = UpgradeBody::read(&json!({"spec": {
            "placement": 7, "clusterVersion": {"version": "v4.12.0", "channel": 4},
            "upgradeStrategy": {"maxConcurrency": 0, "clusterUpgradeTimeout": "banana", "window": 5}}}));
        let found: Vec<String> = body.faults.values().flatten().map(ToString::to_string).collect();
        let rules: Vec<&str> = body.faults.keys().map(String::as_str).collect();
        assert_eq!(
            rules,
            ["upgrade/max-concurrency", "upgrade/timeout", "upgrade/version"],
            "{found:#?}"
        );
        assert!(body.spec.is_none());
    }
}
