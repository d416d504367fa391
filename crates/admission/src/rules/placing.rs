//! Rules about Placements and ManagedClusterSetBindings. Page: `tests/rules/placing.md`.
//!
//! Warns about deletions that affect add-ons. Never refuses, because other programs use Placements and bindings as well.
//! ManagedClusterSets are not read: the clusters of a set are those with its label, and `global` has all clusters.

use crate::rules::reach::known;
use crate::subject::{Placement, SetBinding, Subject, rules};
use api::names::labels::CLUSTER_SET;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use store::{AddonFacts, Facts};

const PLACEMENT_IN_USE: &str = "deletion/placement-in-use";
/// The cluster set of Open Cluster Management that contains every cluster.
const GLOBAL: &str = "global";
const BINDING_IN_USE: &str = "deletion/binding-in-use";

rules! { pub(crate) ON_PLACEMENTS of Placement {
    warns PLACEMENT_IN_USE, Delete, placement_in_use =>
        "A Placement is deleted when no add-on refers to it.\n\n\
         Deleting the Placement uninstalls nothing: its clusters keep the add-on but receive no further changes, and \
         new clusters do not get the add-on. Warns once for each ClusterManagementAddOn that names the Placement in its \
         install strategy or in the rollout strategy of `spec.configuration`, with the number of clusters. Remove the \
         Placement from the ClusterManagementAddOn first.";
} }

rules! { pub(crate) ON_SET_BINDINGS of SetBinding {
    warns BINDING_IN_USE, Delete, binding_in_use =>
        "A ManagedClusterSetBinding is deleted only when no add-on uses clusters of its set.\n\n\
         A Placement selects clusters only from the sets that are bound to its namespace. Without the binding, the \
         Placement no longer selects the clusters of the set, and its add-ons are uninstalled there unless another \
         bound set contains the clusters. Warns once for each Placement that an add-on uses and that has selected \
         clusters of the set, with the number of clusters. The clusters of a set are those with its label; the set \
         `global` contains all clusters. Remove the add-on from these clusters first, or bind another set that contains \
         them.";
} }

fn placement_in_use(subject: &Subject<'_, Placement>, findings: &mut Findings) {
    let place = (subject.namespace, subject.name);
    let count = known(subject.facts, place).map_or(0, |found| found.clusters.len());
    let clusters = its_clusters(count);
    let addons = subject
        .facts
        .addons
        .iter()
        .take_while(|_| subject.effort.spend(1));
    for (addon, says) in addons {
        let detail = if installs(says, place) {
            format!(
                "add-on {} uses this placement: {clusters} will receive no further changes",
                quoted(addon)
            )
        } else if rolls(says, place) {
            format!(
                "add-on {} uses this placement to roll out changes of spec.configuration to {clusters}",
                quoted(addon)
            )
        } else {
            continue;
        };
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
        let fault = fault.hint("remove it from the ClusterManagementAddOn first");
        findings.warn(fault.at(Path::root().key("metadata").key("name"), PLACEMENT_IN_USE));
    }
}

fn its_clusters(count: usize) -> String {
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
        let mut installed = false;
        let users = addons.filter(|(_, says)| {
            let installs = installs(says, place);
            installed |= installs;
            installs || rolls(says, place)
        });
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
        let used_by = match addons.len().saturating_sub(1) {
            0 => format!("add-on {first} uses"),
            more => format!("add-on {first} and {more} more use"),
        };
        let all = found.clusters.len();
        let effect = if installed {
            "the add-on is uninstalled there"
        } else {
            "changes of spec.configuration no longer reach them"
        };
        let detail = format!(
            "placement {name}, which {used_by}, has {lost} of its {all} clusters from this set: unless another bound set has them, {effect}"
        );
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
