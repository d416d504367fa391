//! The causes that `tidegate why` reports, each with its fix.
//!
//! The table is also the page of `tidegate explain why/…`.

/// A cause and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct CauseDoc {
    /// Its id: `why/what`.
    pub id: &'static str,
    /// One sentence that describes the problem.
    pub summary: &'static str,
    /// Why that stops the add-on, and what to do.
    pub text: &'static str,
    /// What to do, in one line.
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
        "Tidegate does not support its type, or its label selector is missing or invalid, so no add-on is installed and none is \
         removed. Correct spec.installStrategy of the ClusterManagementAddOn.",
        "correct spec.installStrategy of the ClusterManagementAddOn";
    PLACEMENT_MISSING = "why/placement-missing",
        "A placement of the install strategy does not exist.",
        "The add-on is installed on the clusters in the PlacementDecisions of its placements. A placement that does not exist has no \
         decisions. Create it, or correct namespace and name in spec.installStrategy.placements.",
        "create the Placement, or correct spec.installStrategy.placements";
    ROLLING_PLACEMENT_MISSING = "why/rolling-placement-missing",
        "The placement of spec.configuration.rolloutStrategy does not exist.",
        "With RollingUpdateWithPlacement a change of spec.configuration is rolled out to the clusters of one placement. No placement \
         has that name, so the change is rolled out to no cluster, and every cluster keeps its configuration. Create the placement, \
         correct its name and namespace, or use UpdateAll.",
        "create the Placement, or correct spec.configuration.rolloutStrategy.rollingUpdateWithPlacement";
    PLACEMENT_UNDECIDED = "why/placement-undecided",
        "A placement has no complete PlacementDecision yet.",
        "OCM's placement controller writes PlacementDecisions. Until they are complete, the selected clusters are unknown and nothing \
         changes. Check the conditions of the Placement, the ManagedClusterSetBindings of its namespace, and whether the placement \
         controller runs.",
        "check the conditions of the Placement and the ManagedClusterSetBindings of its namespace";
    BINDING_MISSING = "why/cluster-set-unbound",
        "No cluster set is bound to the namespace of a placement.",
        "A Placement selects clusters from the ManagedClusterSets that are bound to its namespace by a ManagedClusterSetBinding. The \
         namespace has no valid binding, so the placement selects no cluster.",
        "bind a cluster set to the namespace of the Placement";
    ADDON_DELETING = "why/addon-deleting",
        "The ClusterManagementAddOn is being deleted.",
        "An add-on that is being deleted is not updated. Its ManagedClusterAddOns are deleted first, after their pre-delete hooks. The \
         finalizers show what the deletion waits for.",
        "delete the ManagedClusterAddOns that are left, or check the finalizers that block the deletion";
    SELF_MANAGED = "why/self-managed",
        "The add-on manages itself, so the hub does not install it.",
        "Its annotation addon.open-cluster-management.io/lifecycle has a value other than addon-manager and tidegate. Then the add-on's \
         own manager implements the install strategy. That manager has not created a ManagedClusterAddOn, or it does not exist because \
         the value of the annotation is a typing error.",
        "run the add-on's own manager, or let the hub manage the add-on";
    NO_CLUSTERS_SELECTED = "why/no-clusters-selected",
        "No cluster is selected, and no cluster has the add-on.",
        "No placement selects a cluster, or no cluster matches the label selector, or the install strategy is Manual and no \
         ManagedClusterAddOn was created. An add-on that is installed on no cluster is not ready.",
        "select clusters in spec.installStrategy, or create a ManagedClusterAddOn in the namespace of a cluster";
    NOT_SELECTED = "why/not-selected",
        "No placement and no label selects the cluster.",
        "No placement of the add-on selects the cluster, and no user has created a ManagedClusterAddOn for it. Compare the predicates \
         and tolerations of the Placement with the labels and taints of the cluster.",
        "select the cluster by a placement or a label, or create a ManagedClusterAddOn in its namespace";
    CLUSTER_MISSING = "why/cluster-missing",
        "The hub has no ManagedCluster of that name.",
        "A PlacementDecision or a ManagedClusterAddOn names a cluster that was deleted or has never joined. The add-on is not \
         installed until the ManagedCluster exists, and the reported status is out of date.",
        "join the cluster, wait until the placement is decided again, or delete the ManagedClusterAddOn";
    CLUSTER_LEAVING = "why/cluster-leaving",
        "The ManagedCluster is being deleted.",
        "Add-ons of a cluster that is being deleted are not updated. They are removed with the cluster.",
        "no action is necessary; the add-on is removed with the cluster";
    NOT_ACCEPTED = "why/cluster-not-accepted",
        "The hub has not accepted the cluster.",
        "While spec.hubAcceptsClient is not true, the cluster has no namespace on the hub, so no ManagedClusterAddOn can be created \
         for it.",
        "accept the cluster: set spec.hubAcceptsClient: true in the ManagedCluster";
    NAMESPACE_MISSING = "why/cluster-namespace-missing",
        "The cluster has no namespace on the hub.",
        "A ManagedClusterAddOn is created in the namespace that has the name of its cluster. OCM's registration controller creates \
         this namespace when the cluster is accepted. It has not done so, or the namespace was deleted. Until it exists, no \
         ManagedClusterAddOn can be created for the cluster.",
        "check why the hub's registration controller does not create the namespace, or create it";
    OPTED_OUT = "why/opted-out",
        "The cluster has opted out of the add-on.",
        "The opt-out annotation of the ManagedCluster lists the add-on, or `*` for all add-ons. Remove the entry if the cluster needs \
         the add-on.",
        "remove the add-on from the opt-out annotation of the ManagedCluster";
    GRACE = "why/deselected",
        "No placement selects the cluster any more; the add-on will be removed.",
        "The add-on is kept until the decision grace is over, so that a placement that changes briefly removes no add-on. Select the \
         cluster again to keep it.",
        "select the cluster again to keep the add-on";
    ADOPTED = "why/adopted",
        "No placement selects the cluster, but another field manager applies the add-on.",
        "Argo CD, Flux or kubectl applies the ManagedClusterAddOn. Tidegate removes only the add-ons that an install strategy has \
         created, even if this one has Tidegate's annotations. A GitOps tool that prunes removes it when it is deleted from Git; Argo \
         CD does not, because the ManagedClusterAddOn has an owner.",
        "delete the ManagedClusterAddOn from its source (Git), then from the hub if it still exists";
    REMOVAL_HELD = "why/removal-held",
        "No placement selects the cluster any more, but the removal is blocked.",
        "So many add-ons would be removed at the same time that the cause may be an error: a wrong selector, a failure of the \
         placement controller, or a hub that lists its clusters incompletely. Only a few are removed every minute. If ManagedClusters \
         are missing whose deletion the controllers have not observed, none is removed.",
        "annotate the ClusterManagementAddOn with tidegate.io/removals-allowed-until=<time> to remove them all";
    REMOVAL_UNCONFIRMED = "why/removal-unconfirmed",
        "No placement selects the cluster any more, but the controllers cannot confirm this.",
        "Before an add-on is removed, the controllers read the ClusterManagementAddOn, its placements, their decisions and the cluster \
         by name. The hub rejects one of these requests or does not respond, so the add-on is kept. The message names the object and \
         the response.",
        "grant the controllers permission to read the object in the message, or check why the hub does not respond";
    DELETING = "why/deleting",
        "The ManagedClusterAddOn is being deleted.",
        "An add-on that is being deleted is not updated. If the cluster is still selected, the add-on is created again after the \
         deletion. The finalizers show what the deletion waits for.",
        "check metadata.finalizers of the ManagedClusterAddOn";
    HOOK = "why/pre-delete-hook",
        "A pre-delete hook has not completed.",
        "The deletion waits for the add-on's pre-delete Jobs and Pods. After the hook time-out the add-on is deleted without them, \
         unless the policy is block. Check the ManifestWork of the hooks and its status feedback.",
        "check the hook's Job on the cluster; annotate the add-on to skip it";
    LABEL = "why/name-too-long",
        "The name of the add-on is too long for a label.",
        "The controllers set a label with the name of the add-on on its ManagedClusters; this name is too long for it. Everything else \
         works.",
        "choose a shorter name";
    WORK_NOT_REMOVED = "why/work-not-removed",
        "The cluster's agent has not removed a ManifestWork.",
        "The ManifestWork is being deleted. The work agent removes the resources of the work from the cluster and then its finalizer. \
         Until then the ManifestWork exists.",
        "check whether the cluster is available and its work agent runs";
    UNSUPPORTED = "why/unsupported-config",
        "A configuration has a type that the add-on does not support.",
        "The ManagedClusterAddOn refers to a type that is neither in spec.supportedConfigs nor in spec.configuration.configs of the \
         ClusterManagementAddOn.",
        "remove the reference, or list the type in spec.supportedConfigs";
    CONFIG = "why/config-missing",
        "A configuration cannot be used.",
        "It does not exist, its kind is not served, the controllers have no permission to read it, or its reference has a namespace \
         that is not allowed. Until it can be used, the cluster keeps its configuration.",
        "create the configuration, or correct the reference";
    CONTENT = "why/content-gone",
        "The configuration that is assigned to the cluster is no longer on the hub.",
        "The configuration was edited or deleted while the rollout had not reached this cluster yet. The ManifestWorks of the cluster \
         do not change until the rollout updates it.",
        "no action is necessary; or resume the rollout";
    VERSION = "why/version-unknown",
        "No AddOnTemplate has the requested version.",
        "Versions come from the label addon.open-cluster-management.io/version of the AddOnTemplates for this add-on.",
        "request a version that exists, or create its AddOnTemplate";
    PAUSED = "why/rollout-paused",
        "The rollout is paused.",
        "spec.pause of the AddOnRollout pauses all placements of the add-on, or one of them. Clusters that are being updated finish; no \
         other cluster starts until the rollout is resumed.",
        "resume the rollout";
    SLOT = "why/waits-for-slot",
        "The cluster is waiting for a free slot (maxConcurrency).",
        "The rollout strategy limits how many clusters of a placement are updated at the same time. The message names the clusters \
         that use the slots. A cluster frees its slot when it is updated and has stayed successful for minSuccessTime, or when it has \
         failed. If all of these clusters have problems, their problem is the cause.",
        "check the clusters that use the slots";
    TURN_OF_GROUP = "why/waits-for-group",
        "The cluster is waiting for decision groups that are updated first.",
        "Mandatory groups are updated before all others, and with ProgressivePerGroup each group is updated before the next. The \
         message names the groups and the clusters that are not updated yet. If all of these clusters have problems, their problem is \
         the cause.",
        "check the clusters of the groups that are updated first";
    FAILURES = "why/too-many-failures",
        "The rollout has stopped: more clusters failed than maxFailures allows.",
        "No other cluster starts while more clusters than maxFailures have failed or have exceeded progressDeadline. The rollout \
         continues when enough of them have recovered or have received another configuration.",
        "fix the failed clusters, restore their previous configuration, or raise maxFailures";
    MANDATORY = "why/mandatory-group-failed",
        "The rollout has stopped: a cluster of a mandatory decision group has failed.",
        "Mandatory groups are updated first, one after the other, and tolerate no failure: maxFailures applies to the other groups. No \
         other cluster starts until the cluster has recovered or has received another configuration, or until the group is no longer \
         mandatory.",
        "fix the clusters of that group, restore their previous configuration, or remove the group from mandatoryDecisionGroups of the \
         rollout strategy";
    UNDONE = "why/rolled-back",
        "The rollout was rolled back: the cluster runs the last known good configuration.",
        "Too many clusters failed with the requested configuration, and spec.onFailure of the AddOnRollout requests a rollback. \
         The failed configuration is not rolled out again until it changes, or until a user retries it.",
        "apply a configuration that works, restore the previous references, or run `tidegate rollout retry`";
    NO_WAY_BACK = "why/undo-impossible",
        "The rollout cannot be rolled back: the last known good configuration is no longer on the hub.",
        "The controllers render ManifestWorks only from content with the assigned hash. Of an object that was edited in place, only \
         the present content is on the hub; of an object that was deleted, none.",
        "apply the last known good content again, or apply a configuration that works";
    ROLLOUT_STRATEGY = "why/rollout-strategy",
        "A rollout strategy is invalid.",
        "Until it is valid, clusters keep their configuration: a default strategy could update all of them at once.",
        "correct the rollout strategy in the ClusterManagementAddOn";
    APPROVAL = "why/rollout-approval",
        "The change is waiting for approval.",
        "spec.approvalBefore of the AddOnRollout requires an approval before a change is rolled out to the decision group of the cluster. The groups before it are done. The message names the RolloutApproval in which a user decides. A decision is about this content \
         only; the next change needs another one.",
        "check the clusters that were updated first, then approve";
    REJECTED = "why/rollout-rejected",
        "A user has rejected the change.",
        "The decision in the RolloutApproval is about this content. The clusters of the decision group keep their current configuration; \
         the groups before it keep what they have. Another content waits for another decision.",
        "change the configuration, or undo the change; to roll it out all the same, approve it";
    WINDOW = "why/rollout-window",
        "No rollout window is open.",
        "spec.windows of the AddOnRollout defines when changes may start; clusters that are being updated finish. The message names the \
         time at which the next window opens.",
        "wait for the window, or remove spec.windows of the AddOnRollout";
    CHECK = "why/rollout-check",
        "A RolloutCheck has not passed.",
        "spec.checks of the AddOnRollout names RolloutChecks that must pass before the next decision group starts, and during the soak. A \
         result counts if it was reported after the earlier clusters were updated, until it expires. The message names the checks and says \
         why. The rollout continues automatically when all of them have passed.",
        "check what the RolloutCheck reports, or report a result; to continue without it, remove it from spec.checks";
    FREEZE = "why/rollout-freeze",
        "A RolloutFreeze stops changes on the cluster.",
        "While a RolloutFreeze is in force, no change starts on the clusters that it selects; clusters that are being updated finish. The \
         message has its reason and its end. An invalid RolloutFreeze stops all changes until it is corrected.",
        "end the freeze, or correct the RolloutFreeze if it is invalid";
    SETTINGS_INVALID = "why/rollout-settings-invalid",
        "The settings of the rollout are invalid.",
        "It is not known what the AddOnRollout of the add-on sets, or the ClusterManagementAddOn has an annotation that is no longer \
         supported. Until that is corrected, clusters keep their configuration, so that no change is rolled out in spite of a pause, a \
         window or a required approval.",
        "correct what the message names";
    DEPENDENCY = "why/dependency",
        "The cluster needs another add-on first.",
        "spec.dependsOn of the AddOnRollout or spec.dependencies of the ClusterManagementAddOn names add-ons that must be installed on a \
         cluster, up to date and available before this one is installed or updated there. One of them is not. This add-on continues \
         automatically when it is.",
        "check why the other add-on is not ready on this cluster";
    DEPENDENCY_LIST = "why/dependency-list",
        "The dependencies of the add-on can never be satisfied.",
        "spec.dependsOn of the AddOnRollout or spec.dependencies of the ClusterManagementAddOn names an add-on that does not exist, or \
         add-ons depend on each other in a cycle. \
         Clusters that need a change are not updated; installed add-ons keep running.",
        "correct the field that names the add-on";
    OUTSIDE = "why/outside-rollout",
        "The change is not rolled out to this cluster.",
        "With RollingUpdateWithPlacement a change of spec.configuration is rolled out to the clusters of one placement. The other \
         clusters keep their configuration, and are ready with it.",
        "no action is necessary; use a placement with more clusters, or UpdateAll, to update every cluster";
    DEADLINE = "why/progress-deadline",
        "The cluster has exceeded the progressDeadline of the rollout.",
        "The agent has not confirmed the configuration within progressDeadline. The cluster counts as failed for the rollout. If it \
         becomes ready later, it counts as ready.",
        "check the agent of the cluster";
    TURN = "why/rollout-holds",
        "The rollout has not reached the cluster yet.",
        "No slot is free (maxConcurrency), a group is in its soak time, too many clusters have failed, or the rollout is paused. The \
         cluster keeps its configuration.",
        "check the clusters that the rollout waits for";
    RENDERING = "why/rendering-failed",
        "The ManifestWorks of the add-on cannot be rendered.",
        "The AddOnTemplate or its values are invalid: a variable has no value, or a manifest is not an object, is too large, or occurs \
         twice. Correct this on the hub; the agent is not the cause.",
        "correct the AddOnTemplate, or the configuration with its values";
    NOT_DEPLOYED = "why/not-deployed",
        "The add-on's own manager has not deployed the add-on on the cluster.",
        "The add-on has no AddOnTemplate, so its own manager must create the ManifestWorks and report the condition ManifestApplied. \
         It has not done so.",
        "check whether the add-on's own manager runs, or list an AddOnTemplate in spec.supportedConfigs";
    CREATION = "why/creation-refused",
        "The hub rejects the creation of the ManagedClusterAddOn.",
        "The message comes from the hub: the namespace does not exist or is being deleted, a quota is exceeded, a webhook rejects the \
         request, or the controllers lack a permission. The controllers retry.",
        "fix the error that the hub reports";
    WORK_MISSING = "why/work-missing",
        "The cluster has no ManifestWork of the add-on.",
        "No ManifestWork was rendered yet: the controllers do not run or are still busy, or the add-on's own manager deploys its works.",
        "check whether the controllers run, and the events of the ClusterManagementAddOn";
    APPLY_FAILED = "why/work-not-applied",
        "The agent of the cluster could not apply the work.",
        "The cluster's API server rejected a manifest: a quota, a missing namespace or kind, a webhook, or an immutable field. The \
         message comes from the cluster.",
        "correct the manifest that the cluster's API server rejects";
    NOT_REPORTED = "why/agent-silent",
        "The agent of the cluster has not reported on the current generation of the work.",
        "The agent is slow, cannot reach the hub, or does not run. The conditions of the work describe an older generation.",
        "check whether the cluster is available and its work agent runs";
    UNREACHABLE = "why/cluster-unreachable",
        "The cluster is not available to the hub.",
        "The condition ManagedClusterConditionAvailable is not True: the registration agent does not renew its lease. The state of the \
         add-on on the cluster is unknown.",
        "restore the connection of the cluster to the hub";
    WORKLOAD = "why/workload-not-ready",
        "A workload of the add-on is not ready on the cluster.",
        "The manifests are applied, but a Deployment or DaemonSet has fewer ready replicas than desired.",
        "check the pods of that workload on the cluster";
    UNAVAILABLE = "why/resources-unavailable",
        "Resources of the work are not available on the cluster.",
        "They were applied and do not exist on the cluster, or their kind reports no availability.",
        "check these resources on the cluster";
    AGENT = "why/agent-waits",
        "The agent of the add-on has not reported that it is available.",
        "All resources of the add-on were delivered, but its agent has not reported that it runs correctly.",
        "check the add-on's agent on the cluster";
    REGISTRATION = "why/not-registered",
        "The registration of the add-on's agent on the hub is not complete.",
        "The controllers could not write the agent's identity or permissions. The message names the object and the error.",
        "check the message and spec.registration of the AddOnTemplate";
    CLOCK = "why/clock-unknown",
        "The time of the hub is uncertain, so no changes are made.",
        "The API servers of the hub report different times, or their clocks jump. With a wrong time, deadlines, soak times and grace \
         periods would end too early. The controllers continue when the hub's responses have agreed for a minute.",
        "synchronize the clocks of the hub's API servers and of the machine of the controllers";
    READ_FAILED = "why/read-failed",
        "The controllers cannot read an object that the add-on depends on.",
        "No list contains the object, and a request for it by name fails, so the controllers cannot determine whether it exists. \
         Add-ons that depend on it do not change; other add-ons do. The message names the object and the hub's response.",
        "grant the controllers permission to read the object in the message (tidegate doctor shows missing permissions), or check why \
         the hub does not respond";
    ADDON_STALLED = "why/addon-stalled",
        "The ClusterManagementAddOn is stalled for a reason that this version does not recognise.",
        "Its condition Stalled is True, with a reason of another version of Tidegate. An administrator must act before the add-on \
         continues.",
        "check the condition Stalled of the ClusterManagementAddOn";
    CONDITION = "why/condition",
        "A condition of the ManagedClusterAddOn reports a problem.",
        "Another controller than Tidegate has written the condition: the add-on's own manager, or the registration agent.",
        "check the controller that has written the condition";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_texts() {
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
