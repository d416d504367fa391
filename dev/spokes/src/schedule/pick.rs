//! Which clusters of the sets a placement selects: predicates, taints, number.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;

use super::{
    Cluster, Scene,
    taints::{self, Tolerance},
};
use crate::wire::{ClusterSelector, Placement, Selector, read_selector};

/// The clusters that a placement selects, by name.
#[derive(Debug, Default)]
pub(super) struct Picked<'a> {
    pub(super) clusters: Vec<&'a Cluster>,
    /// How many clusters are missing to the number asked for.
    pub(super) missing: usize,
    /// When a toleration ends.
    pub(super) recheck_at: Option<Timestamp>,
}

/// Label and claim selectors that are known to make sense.
pub(super) struct Choice {
    labels: Selector,
    claims: Selector,
}

impl Choice {
    /// Returns the choice, or the phrase that says why it cannot be made.
    pub(super) fn parse(written: &ClusterSelector) -> Result<Self, String> {
        if !written.cel_selector.cel_expressions.is_empty() {
            return Err("celSelector is not evaluated by simulated clusters".to_owned());
        }
        let labels = read_selector(&written.label_selector)?;
        let claims = read_selector(&written.claim_selector)?;
        Ok(Self { labels, claims })
    }

    pub(super) fn holds(&self, cluster: &Cluster) -> bool {
        self.labels.matches_map(&cluster.labels) && self.claims.matches_map(&cluster.claims)
    }
}

/// Returns the clusters selected among the members, or `<part>:<what is wrong>` of a placement that cannot be read.
pub(super) fn pick<'a>(
    placement: &Placement,
    members: Vec<&'a Cluster>,
    scene: &Scene<'a>,
) -> Result<Picked<'a>, String> {
    let spec = &placement.spec;
    let choices: Vec<_> = spec
        .predicates
        .iter()
        .map(|predicate| Choice::parse(&predicate.required_cluster_selector))
        .collect::<Result<_, _>>()
        .map_err(|fault| format!("Predicate:{fault}"))?;
    taints::check(&spec.tolerations).map_err(|fault| format!("TaintToleration:{fault}"))?;

    let mut ends = BTreeMap::new();
    let mut fitting: Vec<&Cluster> = members;
    fitting.retain(|cluster| choices.is_empty() || choices.iter().any(|choice| choice.holds(cluster)));
    fitting.retain(|cluster| {
        let chosen = scene.chosen.contains(&cluster.name);
        match taints::tolerance(&cluster.taints, &spec.tolerations, chosen, scene.now) {
            Tolerance::Refused => false,
            Tolerance::Tolerated { until } => {
                ends.extend(until.map(|end| (cluster.name.as_str(), end)));
                true
            }
        }
    });
    // Clusters that the placement has stay before new ones; among equals the name decides.
    fitting.sort_by_key(|cluster| (!scene.chosen.contains(&cluster.name), cluster.name.as_str()));
    let wanted = spec
        .number_of_clusters
        .map(|number| usize::try_from(number).unwrap_or_default());
    fitting.truncate(wanted.unwrap_or(usize::MAX));
    fitting.sort_by(|a, b| a.name.cmp(&b.name));

    let missing = wanted.unwrap_or_default().saturating_sub(fitting.len());
    let recheck_at = fitting
        .iter()
        .filter_map(|cluster| ends.get(cluster.name.as_str()).copied())
        .min();
    Ok(Picked {
        clusters: fitting,
        missing,
        recheck_at,
    })
}
