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
    ROLLING_PLACEMENT_MISSING = "why/rolling-placement-missing",
        "The placement that changes of spec.configuration go by does not exist.",
        "With RollingUpdateWithPlacement a change of spec.configuration reaches the clusters of one placement, and there is none of that \
         name: it reaches nobody, and every cluster keeps what it has. Create the placement, correct name and namespace, or choose \
         UpdateAll.",
        "create the Placement, or correct spec.configuration.rolloutStrategy.rollingUpdateWithPlacement";
    PLACEMENT_UNDECIDED = "why/placement-undecided",
        "A placement exists, but nobody has decided it.",
        "The placement controller writes PlacementDecisions. Without them nothing is known, so nothing changes. See the \
         conditions of the Placement, the ManagedClusterSetBindings of its namespace, and whether the controller runs.",
        "see the conditions of the Placement and the bindings of its namespace";
    BINDING_MISSING = "why/cluster-set-unbound",
        "A placement may choose from no cluster set.",
        "A Placement sees the clusters of the ManagedClusterSets that are bound to its namespace by a ManagedClusterSetBinding. \
         There is no binding that counts, so it can decide for nobody.",
        "bind a cluster set to the namespace of the Placement";
    ADDON_DELETING = "why/addon-deleting",
        "The ClusterManagementAddOn is being deleted.",
        "What is going away gets nothing new. Its ManagedClusterAddOns go first, with their hooks; finalizers say whom it \
         waits for.",
        "delete what is left of it, or see the finalizers of what does not go";
    SELF_MANAGED = "why/self-managed",
        "The add-on manages itself, so the hub installs it nowhere.",
        "Its annotation addon.open-cluster-management.io/lifecycle is neither absent nor addon-manager. Then the install strategy is \
         for the add-on's own manager to follow; it has not, or there is none, because the value is a slip.",
        "run the add-on's own manager, or let the hub manage the add-on";
    NOBODY = "why/no-clusters-selected",
        "No cluster has the add-on, and none is to get it.",
        "Nothing is selected: no placement has decided for a cluster, no label matches, or, with the install strategy Manual, \
         nobody has created a ManagedClusterAddOn. An add-on that is nowhere is not ready.",
        "select clusters in spec.installStrategy, or create a ManagedClusterAddOn in the namespace of a cluster";
    NOT_SELECTED = "why/not-selected",
        "Nothing selects the cluster.",
        "None of the placements of the add-on has decided for the cluster, and nobody has created a ManagedClusterAddOn \
         there by hand. Compare the predicates and tolerations of the Placement with the labels and taints of the cluster.",
        "let a placement or a label select the cluster, or create a ManagedClusterAddOn in its namespace";
    CLUSTER_MISSING = "why/cluster-missing",
        "The hub has no ManagedCluster of that name.",
        "A decision or a ManagedClusterAddOn outlived its cluster, or names one that never joined. Nothing is installed until \
         it exists, and what is reported there is out of date.",
        "let the cluster join, or have its placement decide again, or delete the ManagedClusterAddOn";
    CLUSTER_LEAVING = "why/cluster-leaving",
        "The ManagedCluster is being deleted.",
        "A cluster that leaves gets nothing new. What is on it goes with it.",
        "nothing; the add-on goes with the cluster";
    NOT_ACCEPTED = "why/cluster-not-accepted",
        "The hub has not accepted the cluster.",
        "Before spec.hubAcceptsClient is true a cluster has no namespace on the hub, so nothing can be created for it.",
        "accept it: spec.hubAcceptsClient: true of the ManagedCluster";
    NAMESPACE_MISSING = "why/cluster-namespace-missing",
        "The cluster has no namespace on the hub.",
        "A ManagedClusterAddOn lives in the namespace that has the name of its cluster. The registration controller of the hub creates it \
         when the cluster is accepted; it has not, or somebody has deleted it. Until it is there, nothing can be created for the cluster.",
        "see why the hub's registration controller does not create the namespace, or create it";
    OPTED_OUT = "why/opted-out",
        "The cluster does not want the add-on.",
        "An annotation of the ManagedCluster lists the add-on, or all of them. Remove it from there if that is over.",
        "remove the add-on from the opt-out annotation of the ManagedCluster";
    GRACE = "why/deselected",
        "Nothing selects the cluster any more; the add-on is about to go.",
        "It stays for the decision grace, so that a placement that flaps removes nothing. Select the cluster again to keep it.",
        "select the cluster again if the add-on should stay";
    ADOPTED = "why/adopted",
        "Nothing selects the cluster, and the add-on stays because somebody else applies it.",
        "Argo CD, Flux or kubectl applies the ManagedClusterAddOn: it is theirs, whatever our marks say, and an install strategy takes \
         away only what it gave. A tool that prunes takes it away when it goes out of Git; Argo CD does not, because the \
         ManagedClusterAddOn has an owner.",
        "take the ManagedClusterAddOn out of what applies it, then delete it if it is still there";
    REMOVAL_HELD = "why/removal-held",
        "Nothing selects the cluster any more, but the add-on does not go yet.",
        "So many instances would go that something else may be wrong: a selector, a scheduler, or a hub that does not show its \
         clusters. Some go every minute; where clusters are absent that nobody saw go, none does.",
        "annotate the ClusterManagementAddOn with tidegate.io/removals-allowed-until=<time> if all of them shall go";
    REMOVAL_UNCONFIRMED = "why/removal-unconfirmed",
        "Nothing selects the cluster any more, but the reasons cannot be read again.",
        "Before an instance is taken away, the add-on, its placements, their decisions and the cluster are read by name. The hub \
         refuses one of them or does not answer, so the instance stays. The object and the answer are named.",
        "let the controllers read the object that is named, or see why the hub does not answer";
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
    WORK_NOT_REMOVED = "why/work-not-removed",
        "The cluster's agent has not let go of a work.",
        "The work is being deleted. Its agent takes what it deployed off the cluster and then removes its finalizer; until then the work \
         stays.",
        "see whether the cluster is available and its work agent runs";
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
    PAUSED = "why/rollout-paused",
        "Somebody has paused the rollout.",
        "The annotation tidegate.io/paused of the ClusterManagementAddOn names the placement, or all of them. What is under way goes on; \
         nothing new starts until the annotation is taken away.",
        "take the placement out of the annotation when the pause is over";
    SLOT = "why/waits-for-slot",
        "The cluster waits until others have made room.",
        "Only so many clusters of the placement change at once. The clusters that take the slots are named; each gives its slot back when \
         it is done and has stayed successful for minSuccessTime, or when it has failed. Where each of them is at fault, so is the wait.",
        "see to the clusters that take the slots";
    TURN_OF_GROUP = "why/waits-for-group",
        "The cluster waits for decision groups that go first.",
        "Mandatory groups go before all others, and with ProgressivePerGroup every group before the next. The groups and their clusters \
         that are not done yet are named. Where one of them is at fault, so is the wait.",
        "see to the clusters of the groups that go first";
    FAILURES = "why/too-many-failures",
        "The rollout has stopped: more clusters failed than it tolerates.",
        "Nothing new starts while more clusters have failed, or have taken longer than progressDeadline, than maxFailures tolerates. \
         It goes on as soon as enough of them have recovered, or have got another configuration.",
        "fix the clusters that failed, return to what they had, or raise maxFailures";
    MANDATORY = "why/mandatory-group-failed",
        "The rollout has stopped: a cluster of a mandatory decision group has failed.",
        "Mandatory groups go first, one after the other, and tolerate no failure: maxFailures is for the other groups. Nothing new starts \
         until the cluster has recovered, or has got another configuration, or the group is no longer mandatory.",
        "fix the clusters of that group, return to what they had, or take the group out of mandatoryDecisionGroups of the rollout strategy";
    UNDONE = "why/rolled-back",
        "The rollout was undone: the cluster runs with what was last known to be good.",
        "Too many clusters failed with what the specs want, and the annotation tidegate.io/on-failure asks for an undo. What failed is not given \
         to anybody until it has other content, or until somebody wants it tried again.",
        "push content that works, put the old references back, or try again with `tidegate rollout retry`";
    NO_WAY_BACK = "why/undo-impossible",
        "The rollout is to be undone, and what was known to be good is no longer on the hub.",
        "Works are only made of content that has the hash that was assigned. An object that was edited in place has no content but its present \
         one, and one that is gone has none.",
        "apply the content that was good again, or push content that works";
    ROLLOUT_STRATEGY = "why/rollout-strategy",
        "A rollout strategy has no meaning.",
        "Until it has one, clusters keep what they have: to guess could change all of them at once.",
        "correct the rollout strategy in the ClusterManagementAddOn";
    APPROVAL = "why/rollout-approval",
        "The change waits until somebody approves of it.",
        "The annotation tidegate.io/approval-before of the ClusterManagementAddOn asks for an approval before a change enters the decision \
         group of the cluster. Whoever goes before it is done. The message has the entry of the annotation tidegate.io/approved that gives the \
         approval: it is for this content alone, and means nothing to the next change.",
        "look at the clusters that went first, and approve";
    APPROVAL_INVALID = "why/rollout-approval-invalid",
        "Where the rollout waits for an approval has no meaning.",
        "Until the annotation tidegate.io/approval-before has one, clusters keep what they have: a change that asked for care must not travel \
         without it.",
        "correct the annotation tidegate.io/approval-before of the ClusterManagementAddOn";
    WINDOW = "why/rollout-window",
        "Changes of the add-on travel in windows, and none is open.",
        "The annotation tidegate.io/rollout-window says when changes may start; what is under way goes on. The message says when it opens.",
        "wait for the window, or take the annotation tidegate.io/rollout-window away";
    WINDOW_INVALID = "why/rollout-window-invalid",
        "The windows in which changes of the add-on travel have no meaning.",
        "Until the annotation tidegate.io/rollout-window has one, clusters keep what they have: a change that asked for care must not travel \
         without it.",
        "correct the annotation tidegate.io/rollout-window of the ClusterManagementAddOn";
    DEPENDENCY = "why/dependency",
        "Another add-on has to run on the cluster first.",
        "The annotation tidegate.io/depends-on names add-ons that have to be installed on a cluster, up to date and available before this one is \
         installed or upgraded there. One of them is not; this one goes on by itself when it is.",
        "see what the other add-on waits for on this cluster";
    DEPENDENCY_LIST = "why/dependency-list",
        "The list of add-ons that this one depends on can never be satisfied.",
        "The annotation tidegate.io/depends-on names an add-on that does not exist, or add-ons depend on each other in a circle. Nobody moves who \
         has something to take; what runs goes on.",
        "correct the annotation tidegate.io/depends-on of the ClusterManagementAddOn";
    OUTSIDE = "why/outside-rollout",
        "A change is only meant for other clusters.",
        "With RollingUpdateWithPlacement a change of spec.configuration reaches the clusters of one placement. The others keep what they \
         have, and are ready with it.",
        "nothing; name a wider placement, or UpdateAll, when the change shall reach every cluster";
    DEADLINE = "why/progress-deadline",
        "The cluster has taken longer than the rollout allows.",
        "The agent has not confirmed the configuration within progressDeadline. The cluster counts as failed for the rollout; it still may \
         come to be ready, and then it counts as that.",
        "see what the cluster's agent does";
    TURN = "why/rollout-holds",
        "The rollout holds the cluster back.",
        "It is not the cluster's turn: the budget is spent, a group has to soak, too many clusters have failed, or somebody \
         has paused the rollout. The cluster keeps what it has.",
        "look at the clusters that the rollout waits for";
    RENDERING = "why/rendering-failed",
        "The works of the add-on cannot be made.",
        "The AddOnTemplate, or what it is filled in with, is wrong: a variable that has no value, a manifest that is no object, too large, or \
         twice the same. This is fixed on the hub; the agent has nothing to do with it.",
        "correct the AddOnTemplate, or the configuration that it is filled in with";
    NOT_DEPLOYED = "why/not-deployed",
        "Nobody has deployed the add-on on the cluster.",
        "No AddOnTemplate makes its works, so the add-on's own manager has to: it writes them and says so in the condition \
         ManifestApplied. It has not.",
        "see whether the add-on's own manager runs, or list an AddOnTemplate in spec.supportedConfigs";
    CREATION = "why/creation-refused",
        "The hub refuses to create the ManagedClusterAddOn.",
        "The message is the hub's own: a namespace that is not there or goes, a quota, a webhook, a right that the controllers lack. It is \
         tried again and again.",
        "fix what the hub complains about";
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
    REGISTRATION = "why/not-registered",
        "The agent of the add-on has not got what it needs on the hub.",
        "Its identity or its permissions could not be written. The message says which and why.",
        "see the message and the spec.registration of the AddOnTemplate";
    CLOCK = "why/clock-unknown",
        "Nobody knows what time it is, so nothing is planned.",
        "The API servers of the hub do not agree on the time, or clocks jump. Deadlines, soaks and times of grace would end when they have \
         only begun. It goes on when the answers of the hub have agreed for a minute.",
        "put the clocks of the hub's API servers and of the machine of the controllers right";
    READ_FAILED = "why/read-failed",
        "The controllers cannot read an object that the add-on depends on.",
        "No list shows the object, and reading it by its name fails, so it is not known whether it is there. Nothing that depends on \
         it is planned; other add-ons go on. The object and the hub's answer are named.",
        "let the controllers read the object that is named (tidegate doctor shows missing rights), or see why the hub does not answer";
    ADDON_STALLED = "why/addon-stalled",
        "The ClusterManagementAddOn says that nothing changes any more without a human.",
        "Its condition Stalled is True, with a reason that this program does not know: another version has written it.",
        "see the condition Stalled of the ClusterManagementAddOn";
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
