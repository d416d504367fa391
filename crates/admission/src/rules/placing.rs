//! Rules about what decides for clusters. Page: `tests/rules/placing.md`.
//!
//! Decides which deletions of Placements and ManagedClusterSetBindings add-ons will notice. Never refuses: they are not the
//! add-ons' alone. Which sets there are and what they select is not read here: a set is known by the label of its clusters, and
//! `global` has all.

use crate::rules::reach::known;
use crate::subject::{Placement, SetBinding, Subject, rules};
use api::names::labels::CLUSTER_SET;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use store::{AddonFacts, Facts};

const PLACEMENT_IN_USE: &str = "deletion/placement-in-use";
/// The set of Open Cluster Management that every cluster is in.
const GLOBAL: &str = "global";
const BINDING_IN_USE: &str = "deletion/binding-in-use";

rules! { pub(crate) ON_PLACEMENTS of Placement {
    warns PLACEMENT_IN_USE, Delete, placement_in_use =>
        "A Placement is deleted when no add-on refers to it any more.\n\n\
         Deleting it uninstalls nothing: its clusters keep the add-on, and no change reaches them any more; a cluster that is \
         new gets nothing. Warns once for each ClusterManagementAddOn that names the Placement, in its install strategy or for the \
         rollout of `spec.configuration`, with the number of clusters. Take the Placement out of the add-on first.";
} }

rules! { pub(crate) ON_SET_BINDINGS of SetBinding {
    warns BINDING_IN_USE, Delete, binding_in_use =>
        "A set stays bound while add-ons are placed on its clusters.\n\n\
         A Placement selects clusters of the sets that are bound to its namespace. Without the binding it loses the clusters of the \
         set, and add-ons that go by it are uninstalled there. Warns once for each Placement that add-ons go by and that has \
         selected clusters with the label of the set, with their number; the set `global` has all clusters. Another set that is \
         bound there may still hold them.";
} }

fn placement_in_use(subject: &Subject<'_, Placement>, findings: &mut Findings) {
    let place = (subject.namespace, subject.name);
    let count = known(subject.facts, place).map_or(0, |found| found.clusters.len());
    let clusters = told(count);
    let addons = subject
        .facts
        .addons
        .iter()
        .take_while(|_| subject.effort.spend(1));
    for (addon, says) in addons {
        let detail = if installs(says, place) {
            format!(
                "add-on {} uses this placement: no change reaches {clusters} any more",
                quoted(addon)
            )
        } else if rolls(says, place) {
            format!(
                "changes of spec.configuration of add-on {} reach {clusters} by this placement",
                quoted(addon)
            )
        } else {
            continue;
        };
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
        let fault = fault.hint("take it out of the ClusterManagementAddOn first");
        findings.warn(fault.at(Path::root().key("metadata").key("name"), PLACEMENT_IN_USE));
    }
}

fn told(count: usize) -> String {
    match count {
        0 => "its clusters".to_owned(),
        1 => "its 1 cluster".to_owned(),
        count => format!("its {count} clusters"),
    }
}

fn installs(says: &AddonFacts, (namespace, name): (&str, &str)) -> bool {
    let mut placements = says.placements.iter();
    placements.any(|one| one.namespace == namespace && one.name == name)
}

fn rolls(says: &AddonFacts, (namespace, name): (&str, &str)) -> bool {
    let rolling = says.rolling();
    rolling.is_some_and(|update| update.namespace == namespace && update.name == name)
}

fn binding_in_use(subject: &Subject<'_, SetBinding>, findings: &mut Findings) {
    let (facts, effort, namespace) = (subject.facts, subject.effort, subject.namespace);
    let placements = facts.placements.get(namespace).into_iter().flatten();
    for (name, _) in placements.take_while(|_| effort.spend(1)) {
        let place = (namespace, &**name);
        let addons = facts.addons.iter().take_while(|_| effort.spend(1));
        let users = addons.filter(|(_, says)| installs(says, place) || rolls(says, place));
        let addons: Vec<String> = users.map(|(addon, _)| quoted(addon)).collect();
        let (Some(found), Some(first)) = (known(facts, place), addons.first()) else {
            continue;
        };
        let clusters = found.clusters.iter().take_while(|_| effort.spend(1));
        let lost = clusters
            .filter(|cluster| is_in(facts, cluster, subject.body.set))
            .count();
        if lost == 0 {
            continue;
        }
        let whose = match addons.len().saturating_sub(1) {
            0 => format!("add-on {first} uses it"),
            more => format!("add-on {first} and {more} more go by it"),
        };
        let all = found.clusters.len();
        let detail = format!("placement {name} has {lost} of its {all} clusters from this set, and {whose}");
        let fault = Fault::of_text(Class::Forbidden, subject.body.set, detail);
        findings.warn(fault.at(Path::root().key("spec").key("clusterSet"), BINDING_IN_USE));
    }
}

fn is_in(facts: &Facts, cluster: &str, set: &str) -> bool {
    if set == GLOBAL {
        return true;
    }
    let labels = facts.cluster(cluster).map(|found| &found.labels);
    labels.is_some_and(|labels| labels.get(CLUSTER_SET).is_some_and(|label| **label == *set))
}
