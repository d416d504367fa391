//! Which clusters an upgrade selects by set and label.
//!
//! Decides what a selector matches, with the one key that is no label. Never looks which sets a namespace may select from.

use std::collections::{BTreeMap, BTreeSet};

use api::LabelSelector;
use api::cluster::UpgradeClusterSelector;
use kubernetes::field::{Class, Fault, Path, Violation, selector_fault};
use kubernetes::labels::Selector;

use crate::rule;

/// The key that means the cluster's name where a cluster has no such label: some hubs put that label on every cluster, others on none.
pub const NAME_KEY: &str = "name";

/// Clusters by set and label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSelector {
    sets: BTreeSet<String>,
    labels: Selector,
}

impl ClusterSelector {
    /// Reads a selector that stands at `path`.
    pub fn parse(raw: &UpgradeClusterSelector, path: &Path) -> Result<Self, Vec<Violation>> {
        let selector = LabelSelector {
            match_expressions: Some(raw.match_expressions.clone()),
            match_labels: Some(raw.match_labels.clone()),
        };
        let mut wrong: Vec<Violation> = Vec::new();
        for (at, set) in raw.cluster_sets.iter().enumerate() {
            if set.is_empty() {
                let fault = Fault::bare(Class::Required, "must be the name of a cluster set");
                wrong.push(fault.at(path.key("clusterSets").index(at), rule::UPGRADE_SELECTOR));
            }
        }
        let labels = match Selector::from_object(&selector) {
            Ok(labels) => Some(labels),
            Err(faults) => {
                wrong.extend(faults.iter().map(|fault| {
                    let (at, fault) = selector_fault(fault, path);
                    fault.at(at, rule::UPGRADE_SELECTOR)
                }));
                None
            }
        };
        match (labels, wrong.is_empty()) {
            (Some(labels), true) => Ok(Self {
                sets: raw.cluster_sets.iter().cloned().collect(),
                labels,
            }),
            (None, _) | (_, false) => Err(wrong),
        }
    }

    /// Returns the sets to select from; every one that may be selected from when there is none.
    pub fn sets(&self) -> &BTreeSet<String> {
        &self.sets
    }

    /// Tells whether the labels of a cluster match. Its sets are not looked at.
    pub fn matches(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        self.matches_by(name, |key| labels.get(key).map(String::as_str))
    }

    /// Tells the same of a cluster whose labels are asked for one by one.
    pub fn matches_by<'a>(&self, name: &'a str, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.labels
            .matches(|key| label(key).or_else(|| (key == NAME_KEY).then_some(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn selector(raw: Value) -> Result<ClusterSelector, Vec<String>> {
        let raw = serde_json::from_value(raw).map_err(|error| vec![error.to_string()])?;
        ClusterSelector::parse(&raw, &Path::root().key("s"))
            .map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn name_is_a_label_and_without_one_the_name_of_the_cluster() {
        let one = |operator: &str, values: &[&str]| {
            selector(json!({"matchExpressions": [{"key": "name", "operator": operator, "values": values}]}))
                .expect("a selector")
        };
        let bare = BTreeMap::new();
        let labelled = BTreeMap::from([("name".to_owned(), "other".to_owned())]);
        assert!(one("In", &["dev1"]).matches("dev1", &bare));
        assert!(!one("In", &["dev1"]).matches("dev2", &bare));
        assert!(!one("In", &["dev1"]).matches("dev1", &labelled), "the label wins");
        assert!(one("In", &["other"]).matches("dev1", &labelled));
        assert!(!one("NotIn", &["dev1"]).matches("dev1", &bare));
        assert!(one("Exists", &[]).matches("dev1", &bare));
        let labels = selector(json!({"matchLabels": {"name": "dev1"}})).expect("a selector");
        assert!(labels.matches("dev1", &bare));
        assert!(
            ClusterSelector::default().matches("dev1", &bare),
            "the empty one matches everything"
        );
    }

    #[test]
    fn faults_are_reported_with_their_fields() {
        let wrong =
            selector(json!({"clusterSets": [""], "matchExpressions": [{"key": "a", "operator": "In"}]}))
                .expect_err("two faults");
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("s.clusterSets[0]"), "{wrong:?}");
        assert!(wrong[1].starts_with("s.matchExpressions[0].values"), "{wrong:?}");
    }
}
