//! What a fleet looks like: how many clusters, their names and labels, the faults scripted for them.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::FleetError;
use crate::{
    fault::{FaultRule, Faults},
    openshift::OpenShift,
};

/// What a fleet looks like.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// How many clusters there are.
    pub clusters: usize,
    /// Their names are this and a number from 1.
    pub name_prefix: String,
    /// The cluster set that they belong to; it is created when the hub does not have it.
    pub cluster_set: String,
    /// The labels that they carry besides that of their set.
    pub labels: LabelPattern,
    /// What goes wrong.
    pub faults: Faults,
    /// Whether a cluster that is offline is tainted `unreachable`, as a hub of Open Cluster Management does: placements
    /// without a toleration then give it up.
    pub taint_offline: bool,
    /// Makes the clusters differ in size; the same seed makes the same clusters.
    pub seed: u64,
    /// Which clusters play OpenShift; absent means none.
    pub openshift: Option<OpenShift>,
    /// Whether the fleet plays the controller of `ManifestWorkReplicaSet`s, which hubs have off by default, too. The hub
    /// has to know the kind.
    pub replica_sets: bool,
}

impl Default for FleetOptions {
    fn default() -> Self {
        Self {
            clusters: 12,
            name_prefix: "cluster".to_owned(),
            cluster_set: "default".to_owned(),
            labels: LabelPattern::default(),
            faults: Faults::none(),
            taint_offline: false,
            seed: 0,
            openshift: None,
            replica_sets: false,
        }
    }
}

impl FleetOptions {
    /// Returns the names of the clusters, in the order of their numbers.
    pub fn names(&self) -> Vec<String> {
        (1..=self.clusters)
            .map(|number| format!("{}{number}", self.name_prefix))
            .collect()
    }

    pub(super) fn check(&self) -> Result<(), FleetError> {
        let legal = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let begins = self
            .name_prefix
            .starts_with(|letter: char| letter.is_ascii_lowercase());
        // A cluster's name is a namespace's name: 63 characters, of which the number needs some.
        if !begins || !self.name_prefix.chars().all(legal) || self.name_prefix.len() > 50 {
            return Err(FleetError::NamePrefix {
                prefix: self.name_prefix.clone(),
            });
        }
        self.faults
            .rules()
            .iter()
            .try_for_each(|rule| self.check_fault(rule))
    }

    pub(super) fn check_fault(&self, rule: &FaultRule) -> Result<(), FleetError> {
        let names = self.names();
        if names.iter().any(|name| rule.cluster.matches(name)) {
            return Ok(());
        }
        let fleet = match names.as_slice() {
            [] => "the fleet has no clusters".to_owned(),
            [one] => format!("the fleet has \"{one}\""),
            [first, .., last] => format!("the fleet has \"{first}\" to \"{last}\""),
        };
        Err(FleetError::UnknownCluster {
            cluster: rule.cluster.as_str().to_owned(),
            fleet,
        })
    }
}

/// Which labels the clusters carry.
#[derive(Clone)]
pub struct LabelPattern(Arc<dyn Fn(usize) -> BTreeMap<String, String> + Send + Sync>);

impl LabelPattern {
    /// Returns the pattern that this function makes of a cluster's index, which counts from 0.
    pub fn new(labels: impl Fn(usize) -> BTreeMap<String, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(labels))
    }

    /// Returns the pattern in which every label takes its values in turn. Lists whose lengths have no common divisor
    /// give every combination.
    pub fn round_robin(labels: &[(&str, &[&str])]) -> Self {
        let labels: Vec<(String, Vec<String>)> = labels
            .iter()
            .map(|(key, values)| {
                (
                    (*key).to_owned(),
                    values.iter().map(|value| (*value).to_owned()).collect(),
                )
            })
            .collect();
        Self::new(move |index| {
            let turn = |values: &Vec<String>| values.get(index.checked_rem(values.len())?).cloned();
            labels
                .iter()
                .filter_map(|(key, values)| Some((key.clone(), turn(values)?)))
                .collect()
        })
    }

    /// Returns the labels of the cluster with this index.
    pub fn labels(&self, index: usize) -> BTreeMap<String, String> {
        (self.0)(index)
    }
}

impl Default for LabelPattern {
    fn default() -> Self {
        Self::round_robin(&[
            ("environment", &["dev", "stage", "prod"]),
            (
                "region",
                &["eu-west-1", "us-east-1", "ap-southeast-1", "sa-east-1"],
            ),
            ("vendor", &["OpenShift", "EKS", "AKS", "GKE", "Other"]),
        ])
    }
}

impl fmt::Debug for LabelPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("LabelPattern").field(&self.labels(0)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(options: &FleetOptions) -> String {
        options
            .check()
            .expect_err("options that make no sense")
            .to_string()
    }

    #[test]
    fn options_that_make_no_sense_say_why() {
        let right = FleetOptions::default();
        assert!(right.check().is_ok());
        let prefix = FleetOptions {
            name_prefix: "Cluster_".to_owned(),
            ..right.clone()
        };
        assert!(
            fault(&prefix).starts_with("\"Cluster_\" cannot begin the names of clusters"),
            "{}",
            fault(&prefix)
        );
        let faults = Faults::parse(["cluster13=offline"]).expect("a fault");
        let stray = FleetOptions {
            faults: faults.clone(),
            ..right.clone()
        };
        assert_eq!(
            fault(&stray),
            "no cluster is called \"cluster13\": the fleet has \"cluster1\" to \"cluster12\""
        );
        let empty = FleetOptions {
            clusters: 0,
            faults,
            ..right
        };
        assert_eq!(
            fault(&empty),
            "no cluster is called \"cluster13\": the fleet has no clusters"
        );
    }

    #[test]
    fn labels_take_their_values_in_turn() {
        let pattern = LabelPattern::default();
        let environment = |index: usize| pattern.labels(index).remove("environment").unwrap_or_default();
        assert_eq!([0, 1, 2, 3].map(environment), ["dev", "stage", "prod", "dev"]);
        assert_eq!(
            LabelPattern::round_robin(&[("empty", &[])]).labels(7),
            BTreeMap::new()
        );
    }
}
