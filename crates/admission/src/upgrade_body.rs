//! The input of rules for a `ManagedClustersUpgrade`: all faults of its values, or else the parsed spec.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless, by the parser of the planner.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::step_budget::Items;
use super::upgrade_record::Asks;
use api::cluster::{ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus, OperatorRef};
use kubernetes::field::{Class, Path, Violation};
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
        let written = object.get("spec").cloned().unwrap_or_default();
        let whole = serde_json::from_value(written.clone()).ok();
        let is_whole = whole.is_some();
        let spec = whole.unwrap_or_else(|| readable(&written));
        let status: ManagedClustersUpgradeStatus = object
            .get("status")
            .and_then(|status| serde_json::from_value(status.clone()).ok())
            .unwrap_or_default();
        let counts = status.state_counts.unwrap_or_default();
        let path = Path::root().key("spec");
        let (parsed, wrong) = match UpgradeSpec::parse(&spec, &path) {
            Ok(parsed) => (Some(parsed), Vec::new()),
            Err(wrong) => (None, wrong),
        };
        let mut faults: BTreeMap<String, Vec<Violation>> = BTreeMap::new();
        for fault in wrong
            .into_iter()
            .filter(|fault| is_whole || !is_there(fault, object))
        {
            faults.entry(fault.rule().to_owned()).or_default().push(fault);
        }
        let operators = spec.ocp_operators.unwrap_or_default();
        Self {
            faults,
            spec: parsed,
            include: operators.include.iter().cloned().collect(),
            exclude: operators.exclude.iter().cloned().collect(),
            approves_all: operators.approve_all_upgrades.unwrap_or_default(),
            asked: asked(&written),
            asks: Asks::read(object),
            underway: counts.initialized.saturating_add(counts.partial),
        }
    }

    /// Returns the faults of a rule.
    pub(super) fn faults_of(&self, rule: &str) -> Items<Violation> {
        self.faults.get(rule).into_iter().flatten().cloned().collect()
    }
}

/// Returns whether a fault is real: a part with a wrong type is not reported as missing.
fn is_there(fault: &Violation, object: &Value) -> bool {
    let written = fault.path().lookup(object).filter(|value| !value.is_null());
    let is_empty = |value: &Value| value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
    fault.class() == Class::Required && written.is_some_and(|value| !is_empty(value))
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

/// Returns the parts of a spec with the right types.
fn readable(written: &Value) -> ManagedClustersUpgradeSpec {
    let fits = |part: &str, value: &Value| {
        let alone = Value::Object(Map::from_iter([(part.to_owned(), value.clone())]));
        serde_json::from_value::<ManagedClustersUpgradeSpec>(alone).is_ok()
    };
    let mut kept = Map::new();
    if let Value::Object(fields) = written {
        for (part, value) in fields {
            if fits(part, value) {
                kept.insert(part.clone(), value.clone());
            } else if let Value::Object(inner) = value {
                let inner = inner.iter().filter(|(name, value)| {
                    fits(
                        part,
                        &Value::Object(Map::from_iter([((*name).clone(), (*value).clone())])),
                    )
                });
                let inner: Map<String, Value> =
                    inner.map(|(name, value)| (name.clone(), value.clone())).collect();
                kept.insert(part.clone(), Value::Object(inner));
            }
        }
    }
    serde_json::from_value(Value::Object(kept)).unwrap_or_default()
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
