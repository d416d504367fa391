//! The causes that can be named, each with its cure.
//!
//! Decides their ids and words: the table is the page of `tidegate explain why/…`.

/// A cause and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct CauseDoc {
    /// Its id: `why/what`.
    pub id: &'static str,
    /// One sentence: what is the matter.
    pub summary: &'static str,
    /// Why that stops the add-on, and the cure.
    pub text: &'static str,
    /// The cure in one line.
    pub fix: &'static str,
}

macro_rules! causes {
    ($($name:ident = $id:literal, $summary:literal, $text:literal, $fix:literal;)*) => {
        $(pub(super) const $name: &CauseDoc = &CauseDoc { id: $id, summary: $summary, text: $text, fix: $fix };)*
        /// Every cause, in the order in which a chain can stop.
        pub const CAUSES: &[&CauseDoc] = &[$($name),*];
    };
}

causes! {
    STRATEGY = "why/install-strategy",
        "The install strategy selects no cluster.",
        "Its type is not driven, its label selector is absent or cannot be read, so nothing is installed and nothing is \
         removed. Correct spec.installStrategy of the ClusterManagementAddOn.",
        "correct spec.installStrategy of the ClusterManagementAddOn";
    PLACEMENT_MISSING = "why/placement-missing",
        "A placement of the install strategy does not exist.",
        "An add-on follows the decisions of placements; one that is not there decides nothing. Create it, or correct \
         namespace and name in spec.installStrategy.placements.",
        "create the Placement, or correct spec.installStrategy.placements";
    PLACEMENT_UNDECIDED = "why/placement-undecided",
        "A placement exists, but nobody has decided it.",
        "The placement controller writes PlacementDecisions. Without them nothing is known, so nothing changes. See the \
         conditions of the Placement, the ManagedClusterSetBindings of its namespace, and whether the controller runs.",
        "see the conditions of the Placement and the bindings of its namespace";
    NOT_SELECTED = "why/not-selected",
        "Nothing selects the cluster.",
        "None of the placements of the add-on has decided for the cluster, and nobody has created a ManagedClusterAddOn \
         there by hand. Compare the predicates and tolerations of the Placement with the labels and taints of the cluster.",
        "compare the Placement's predicates and tolerations with the cluster's labels and taints";
    CLUSTER_MISSING = "why/cluster-missing",
        "The cluster is selected, but the hub has no ManagedCluster of that name.",
        "A decision outlived its cluster, or names one that never joined. Nothing is installed until it exists.",
        "let the cluster join, or have its placement decide again";
    CLUSTER_LEAVING = "why/cluster-leaving",
        "The ManagedCluster is being deleted.",
        "A cluster that leaves gets nothing new. What is on it goes with it.",
        "nothing; the add-on goes with the cluster";
    NOT_ACCEPTED = "why/cluster-not-accepted",
        "The hub has not accepted the cluster.",
        "Before spec.hubAcceptsClient is true a cluster has no namespace on the hub, so nothing can be created for it.",
        "accept it: spec.hubAcceptsClient: true of the ManagedCluster";
    OPTED_OUT = "why/opted-out",
        "The cluster does not want the add-on.",
        "An annotation of the ManagedCluster lists the add-on, or all of them. Remove it from there if that is over.",
        "remove the add-on from the opt-out annotation of the ManagedCluster";
    GRACE = "why/deselected",
        "Nothing selects the cluster any more; the add-on is about to go.",
        "It stays for the decision grace, so that a placement that flaps removes nothing. Select the cluster again to keep it.",
        "select the cluster again if the add-on should stay";
    DELETING = "why/deleting",
        "The ManagedClusterAddOn is being deleted.",
        "What is going away gets nothing new; it is created again afterwards if the cluster is still selected. Finalizers \
         say whom it waits for.",
        "see metadata.finalizers of the ManagedClusterAddOn";
    HOOK = "why/pre-delete-hook",
        "A pre-delete hook has not completed.",
        "The Jobs and Pods that an add-on wants to run before it goes hold its deletion. After the hook time-out it goes \
         without them, unless the policy is to block. See the work of the hooks and its feedback.",
        "see the hook's Job on the cluster; annotate the add-on to skip it";
    LABEL = "why/name-too-long",
        "The name of the add-on does not fit into a label.",
        "Clusters tell by a label that they have an add-on; this name is too long for one. Everything else works.",
        "choose a shorter name";
    UNSUPPORTED = "why/unsupported-config",
        "A configuration has a type that the add-on does not support.",
        "The ManagedClusterAddOn refers to a type that stands neither in spec.supportedConfigs nor in \
         spec.configuration.configs of the ClusterManagementAddOn.",
        "remove the reference, or list the type in spec.supportedConfigs";
    CONFIG = "why/config-missing",
        "A configuration cannot be used.",
        "It does not exist, its kind is not served or may not be read, or it names a namespace that it must not name. Until \
         it can be used the cluster keeps what it has.",
        "create the configuration, or correct the reference";
    CONTENT = "why/content-gone",
        "The content that was assigned to the cluster is no longer on the hub.",
        "The configuration was edited or deleted while the rollout held this cluster back. Its works stay as they are until \
         the rollout reaches it.",
        "nothing; or let the rollout go on";
    VERSION = "why/version-unknown",
        "No template offers the version that is asked for.",
        "Versions come from the label addon.open-cluster-management.io/version of the AddOnTemplates for this add-on.",
        "ask for a version that exists, or create its AddOnTemplate";
    TURN = "why/rollout-holds",
        "The rollout holds the cluster back.",
        "It is not the cluster's turn: the budget is spent, a group has to soak, too many clusters have failed, or somebody \
         has paused the rollout. The cluster keeps what it has.",
        "look at the clusters that the rollout waits for";
    WORK_MISSING = "why/work-missing",
        "The cluster has no ManifestWork of the add-on.",
        "Nothing has been rendered for it yet: the controllers are behind or not running, or the add-on deploys its works \
         by itself.",
        "see whether the controllers run, and the events of the ClusterManagementAddOn";
    APPLY_FAILED = "why/work-not-applied",
        "The agent of the cluster could not apply the work.",
        "The cluster's API server refused a manifest: a quota, a missing namespace or kind, a webhook, an immutable field. \
         The message is the cluster's own.",
        "correct what the cluster's API server refuses";
    NOT_REPORTED = "why/agent-silent",
        "The agent of the cluster has not reported on the present work.",
        "It is behind, cannot reach the hub, or does not run. What the work's conditions say is about an older state.",
        "see whether the cluster is available and its work agent runs";
    UNREACHABLE = "why/cluster-unreachable",
        "The hub does not hear of the cluster.",
        "Its availability is not True: the registration agent does not renew its lease. Nothing is known of the add-on there.",
        "bring the cluster's connection to the hub back";
    WORKLOAD = "why/workload-not-ready",
        "A workload of the add-on is not ready on the cluster.",
        "The manifests are applied, but a Deployment or DaemonSet has fewer ready replicas than it wants.",
        "look at the pods of that workload on the cluster";
    UNAVAILABLE = "why/resources-unavailable",
        "Resources of the work are not available on the cluster.",
        "They were applied and are not there, or their kind reports no availability.",
        "look at these resources on the cluster";
    AGENT = "why/agent-waits",
        "The agent of the add-on is not done.",
        "It has been given everything and has not said that it runs well.",
        "look at the add-on's agent on the cluster";
    CONDITION = "why/condition",
        "A condition of the ManagedClusterAddOn says that something is wrong.",
        "Somebody else than these controllers has written it: the add-on's own manager, or the registration agent.",
        "ask the writer of the condition";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_words() {
        for cause in CAUSES {
            assert!(cause.id.starts_with("why/"), "{}", cause.id);
            assert!(
                cause.summary.ends_with('.') && cause.text.ends_with('.'),
                "{}",
                cause.id
            );
            assert!(!cause.fix.ends_with('.') && !cause.fix.is_empty(), "{}", cause.id);
        }
        let mut ids: Vec<&str> = CAUSES.iter().map(|cause| cause.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CAUSES.len());
    }
}
