//! Cluster sets: which are bound to a namespace, and who belongs to them.

use std::collections::BTreeSet;

use super::{Cluster, Scene};
use crate::wire::{
    Condition, ManagedClusterSet, ManagedClusterSetBinding, Placement, Selector, SelectorType, Truth, label,
    read_selector,
};

/// Returns the sets that the placement may use, or the condition that says why there is none.
pub(super) fn eligible<'a>(
    placement: &Placement,
    scene: &Scene<'a>,
) -> Result<Vec<&'a ManagedClusterSet>, (&'static str, String)> {
    let here = scene
        .bindings
        .iter()
        .filter(|binding| binding.meta.namespace == placement.meta.namespace);
    // A binding is named as the set it binds; one without its set counts for nothing.
    let names: BTreeSet<_> = here.map(|binding| binding.meta.name.as_str()).collect();
    let bound: Vec<_> = scene
        .sets
        .iter()
        .filter(|set| names.contains(set.meta.name.as_str()))
        .collect();
    if bound.is_empty() {
        return Err((
            "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace".to_owned(),
        ));
    }
    let wanted = &placement.spec.cluster_sets;
    let mut usable: Vec<_> = bound
        .into_iter()
        .filter(|set| wanted.is_empty() || wanted.contains(&set.meta.name))
        .collect();
    if usable.is_empty() {
        let message = format!(
            "None of ManagedClusterSets [{}] is bound to placement namespace",
            wanted.join(",")
        );
        return Err(("NoIntersection", message));
    }
    usable.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    Ok(usable)
}

/// Returns the living clusters of these sets by name, each once.
pub(super) fn members<'a>(sets: &[&ManagedClusterSet], clusters: &'a [Cluster]) -> Vec<&'a Cluster> {
    let tests: Vec<_> = sets.iter().map(|set| Membership::of(set)).collect();
    let living = clusters.iter().filter(|cluster| !cluster.terminating);
    let mut members: Vec<_> = living
        .filter(|cluster| tests.iter().any(|test| test.holds(cluster)))
        .collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    members
}

/// Returns the condition of a set: whether any cluster belongs to it.
pub(crate) fn emptiness_condition(set: &ManagedClusterSet, clusters: &[Cluster]) -> Condition {
    match members(&[set], clusters).len() {
        0 => Condition::new(
            "ClusterSetEmpty",
            Truth::True,
            "NoClusterMatched",
            "No ManagedCluster selected",
        ),
        count => {
            let message = format!("{count} ManagedClusters selected");
            Condition::new("ClusterSetEmpty", Truth::False, "ClustersSelected", message)
        }
    }
}

/// Returns the condition of a binding: whether its set exists.
pub(crate) fn binding_condition(binding: &ManagedClusterSetBinding, sets: &[ManagedClusterSet]) -> Condition {
    if sets.iter().any(|set| set.meta.name == binding.spec.cluster_set) {
        Condition::new("Bound", Truth::True, "ClusterSetBound", "")
    } else {
        Condition::new("Bound", Truth::False, "ClusterSetNotFound", "")
    }
}

enum Membership<'a> {
    Label(&'a str),
    Selector(Selector),
    Nothing,
}

impl<'a> Membership<'a> {
    fn of(set: &'a ManagedClusterSet) -> Self {
        let selector = &set.spec.cluster_selector;
        match (selector.selector_type, &selector.label_selector) {
            (SelectorType::ExclusiveClusterSetLabel, _) => Self::Label(&set.meta.name),
            // Kubernetes reads an absent selector as "nothing" and an empty one as "everything".
            (SelectorType::LabelSelector, None) => Self::Nothing,
            (SelectorType::LabelSelector, Some(written)) => {
                read_selector(written).map_or(Self::Nothing, Self::Selector)
            }
        }
    }

    fn holds(&self, cluster: &Cluster) -> bool {
        match self {
            Self::Label(set) => cluster
                .labels
                .get(label::CLUSTER_SET)
                .is_some_and(|value| value == set),
            Self::Selector(selector) => selector.matches_map(&cluster.labels),
            Self::Nothing => false,
        }
    }
}
