//! The whole of what an upgrade asks for.
//!
//! Decides which parts must be there. Never looks at a hub.

use std::collections::BTreeSet;

use api::cluster::ManagedClustersUpgradeSpec;
use kubernetes::field::{Class, Fault, Path, Violation};

use super::action::Action;
use super::operators::Operators;
use super::selection::ClusterSelector;
use super::strategy::Strategy;
use super::target::Target;
use crate::rule;

/// The place of a placement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacementKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What an upgrade asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradeSpec {
    /// Placements whose clusters are selected.
    pub placements: BTreeSet<PlacementKey>,
    /// Clusters that are selected beside those.
    pub selector: Option<ClusterSelector>,
    /// What they are upgraded to; without it only their operators are.
    pub target: Option<Target>,
    /// Which operators are upgraded after that.
    pub operators: Option<Operators>,
    /// How it is rolled out.
    pub strategy: Strategy,
    /// What goes before.
    pub before: Option<Action>,
    /// What goes after.
    pub after: Option<Action>,
    /// No further cluster starts.
    pub suspend: bool,
    /// No further cluster starts, and the status has the plan.
    pub preview: bool,
}

impl UpgradeSpec {
    /// Reads a spec that stands at `path`, or tells everything that is wrong with it.
    pub fn parse(raw: &ManagedClustersUpgradeSpec, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let part = |key: &'static str| path.key(key);
        let placements = placements(raw, &part("placement"), &mut wrong);
        let selector = raw.cluster_selector.as_ref();
        let selector = selector.map(|raw| ClusterSelector::parse(raw, &part("clusterSelector")));
        let selector = read(selector, &mut wrong);
        let target = raw.cluster_version.as_ref();
        let target = read(
            target.map(|raw| Target::parse(raw, &part("clusterVersion"))),
            &mut wrong,
        );
        let operators = raw.ocp_operators.as_ref();
        let operators = operators.map(|raw| Operators::parse(raw, &part("ocpOperators")));
        let operators = read(operators, &mut wrong).flatten();
        let strategy = raw.upgrade_strategy.as_ref();
        let strategy = strategy.map(|raw| Strategy::parse(raw, &part("upgradeStrategy")));
        let strategy = read(strategy, &mut wrong).unwrap_or_default();
        let before = raw.pre_upgrade_action.as_ref();
        let before = before.map(|raw| Action::parse(raw, &part("preUpgradeAction")));
        let before = read(before, &mut wrong).flatten();
        let after = raw.post_upgrade_action.as_ref();
        let after = after.map(|raw| Action::parse(raw, &part("postUpgradeAction")));
        let after = read(after, &mut wrong).flatten();
        if raw.placement.is_empty() && raw.cluster_selector.is_none() {
            let fault = Fault::bare(
                Class::Required,
                "must name a placement unless clusterSelector is set",
            );
            wrong.push(fault.at(part("placement"), rule::UPGRADE_SELECTION));
        }
        if wrong.is_empty() && target.is_none() && operators.is_none() {
            let fault = Fault::bare(
                Class::Required,
                "must have a version, or ocpOperators must select operators",
            );
            wrong.push(fault.at(part("clusterVersion"), rule::UPGRADE_NOTHING));
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self {
            placements,
            selector,
            target,
            operators,
            strategy,
            before,
            after,
            suspend: raw.suspend.unwrap_or_default(),
            preview: raw.preview.unwrap_or_default(),
        })
    }
}

fn read<T>(part: Option<Result<T, Vec<Violation>>>, wrong: &mut Vec<Violation>) -> Option<T> {
    part.and_then(|part| part.map_err(|faults| wrong.extend(faults)).ok())
}

fn placements(
    raw: &ManagedClustersUpgradeSpec,
    path: &Path,
    wrong: &mut Vec<Violation>,
) -> BTreeSet<PlacementKey> {
    let mut all = BTreeSet::new();
    for (at, one) in raw.placement.iter().enumerate() {
        for (key, text) in [("namespace", &one.namespace), ("name", &one.name)] {
            if text.is_empty() {
                let fault = Fault::bare(Class::Required, format!("must be the {key} of a placement"));
                wrong.push(fault.at(path.index(at).key(key), rule::UPGRADE_SELECTION));
            }
        }
        let key = PlacementKey {
            namespace: one.namespace.clone(),
            name: one.name.clone(),
        };
        if !all.insert(key) {
            let fault = Fault::of_text(Class::Duplicate, &one.name, "must be listed only once");
            wrong.push(fault.at(path.index(at), rule::UPGRADE_SELECTION));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn spec(raw: Value) -> Result<UpgradeSpec, Vec<String>> {
        let raw = serde_json::from_value(raw).map_err(|error| vec![error.to_string()])?;
        UpgradeSpec::parse(&raw, &Path::root().key("spec"))
            .map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_version_or_operators_are_enough() {
        let clusters = json!({"placement": [{"namespace": "dev", "name": "all"}], "clusterVersion": {"version": "4.12.0"}});
        assert!(spec(clusters).is_ok());
        let operators = json!({"clusterSelector": {}, "ocpOperators": {"approveAllUpgrades": true}});
        let found = spec(operators).expect("operators only");
        assert!(found.target.is_none() && found.operators.is_some());
        assert_eq!(found.strategy, Strategy::default());
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let rows = [
            (
                json!({"clusterVersion": {"version": "4.12.0"}}),
                vec!["spec.placement:"],
            ),
            (json!({"clusterSelector": {}}), vec!["spec.clusterVersion:"]),
            (
                json!({"clusterSelector": {}, "ocpOperators": {"exclude": [{"name": "a", "namespace": "b"}]}}),
                vec!["spec.clusterVersion:"],
            ),
            (
                json!({"placement": [{"namespace": "", "name": "a"}, {"namespace": "", "name": "a"}],
                       "clusterVersion": {"version": "x"}, "upgradeStrategy": {"maxConcurrency": 0},
                       "preUpgradeAction": {"manifestWork": {}}}),
                vec![
                    "spec.placement[0].namespace",
                    "spec.placement[1].namespace",
                    "spec.placement[1]:",
                    "spec.clusterVersion.version",
                    "spec.upgradeStrategy.maxConcurrency",
                    "spec.preUpgradeAction.manifestWork.workload.manifests",
                ],
            ),
        ];
        for (raw, places) in rows {
            let wrong = spec(raw).expect_err("faults");
            assert_eq!(wrong.len(), places.len(), "{wrong:?}");
            for (told, place) in wrong.iter().zip(places) {
                assert!(told.starts_with(place), "{told} {place}");
            }
        }
    }
}
