//! Every reason of a condition or an event that Tidegate writes, or reads of Open Cluster Management.
//!
//! A reason is a row of the table below: its word on the hub, its description, and how the planners and the tools treat it. A reader
//! of a stored object parses the word once, with [`Reason::of`].

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// How planners and tools treat a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A change is in progress.
    UnderWay,
    /// The program that deploys the add-on has not written its works.
    Undeployed,
    /// A change was applied, in either vocabulary.
    Succeeded,
    /// A change failed, in either vocabulary.
    Failed,
    /// A rollout does not let the cluster start.
    Turn,
    /// A rollout starts no cluster until an administrator acts.
    Brake,
    /// A user stopped the rollout, or has to approve it.
    Suspended,
    /// Something is absent that may still arrive by itself.
    Absence,
    /// The controllers cannot read an object.
    Unread,
    /// The upgrade of a cluster does not go on until an administrator acts.
    NeedsAdmin,
    /// A part of an upgrade exceeded its timeout.
    TimedOut,
}

/// Whether an administrator has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Nothing changes until an administrator acts.
    Needed,
    /// It continues by itself.
    Waits,
}

/// Whether to act, what to do, and what to type; `{mcu}`, `{namespace}` and `{cluster}` are replaced by names.
pub type NextStep = (Act, &'static str, &'static str);

const PLACEMENTS: &str = "kubectl get placements -A";
const CLUSTER: &str = "kubectl get managedcluster {cluster} -o yaml";
/// The works of a cluster.
pub const WORKS: &str = "kubectl get manifestwork -n {cluster} -o yaml";
/// An upgrade.
pub const UPGRADE: &str = "kubectl get mcu {mcu} -n {namespace} -o yaml";
/// Tries the failed clusters of an upgrade again.
pub const RETRY: &str = "tidegate rollout retry mcu/{namespace}/{mcu}";

struct Row {
    word: &'static str,
    says: &'static str,
    classes: &'static [Class],
    /// The cause in a few words, and the same with the condition that has the whole sentence.
    short: Option<(&'static str, &'static str)>,
    next: Option<NextStep>,
}

macro_rules! row_option {
    () => {
        None
    };
    ($some:expr) => {
        Some($some)
    };
}

macro_rules! reasons {
    ($($word:ident $([$($class:ident)*])?: $says:literal
        $(, short $short:literal in $condition:ident)?
        $(, next $act:ident $fix:literal $command:ident)?;)*) => {
        /// A reason of a condition or an event. The name of a variant is its word on the hub.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason {
            $(#[doc = $says] $word,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$word),*];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$word => &Row {
                        word: stringify!($word),
                        says: $says,
                        classes: &[$($(Class::$class),*)?],
                        short: row_option!($(($short, concat!($short, "; see the condition ", stringify!($condition))))?),
                        next: row_option!($((Act::$act, $fix, $command))?),
                    },)*
                }
            }
        }
    };
}

impl Reason {
    /// Parses the word of a stored condition.
    pub fn of(word: &str) -> Option<Self> {
        static BY_WORD: LazyLock<BTreeMap<&str, Reason>> = LazyLock::new(|| {
            Reason::ALL
                .iter()
                .map(|reason| (reason.as_str(), *reason))
                .collect()
        });
        BY_WORD.get(word).copied()
    }

    /// Returns its word on the hub.
    pub const fn as_str(self) -> &'static str {
        self.row().word
    }

    /// Returns its description for users.
    pub const fn says(self) -> &'static str {
        self.row().says
    }

    /// Returns whether it is one of a class.
    pub fn is(self, class: Class) -> bool {
        self.row().classes.contains(&class)
    }

    /// Returns whether a word is a reason of a class.
    pub fn word_is(word: &str, class: Class) -> bool {
        Self::of(word).is_some_and(|reason| reason.is(class))
    }

    /// Returns the cause in a few words, with the condition that has the whole sentence.
    pub fn cause(self) -> &'static str {
        self.row()
            .short
            .map_or("see the condition Progressing", |(_, cause)| cause)
    }

    /// Returns the cause in a few words, for a condition of the roll-up that has the whole sentence.
    pub fn cause_in(self, condition: &str) -> String {
        match self.row().short {
            Some((short, _)) => format!("{short}; see the condition {condition}"),
            None => format!("see the condition {condition}"),
        }
    }

    /// Returns what to do about it where it keeps a cluster from its upgrade.
    pub fn next_step(self) -> Option<NextStep> {
        self.row().next
    }
}

impl PartialOrd for Reason {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reason {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl PartialEq<Reason> for str {
    fn eq(&self, reason: &Reason) -> bool {
        *self == *reason.as_str()
    }
}

reasons! {
    Installing [UnderWay]: "Progressing: the first installation on the cluster is in progress. `tidegate why` shows what it waits for.";
    InstallSucceed [Succeeded]: "Progressing: the first installation on the cluster is done.";
    InstallFailed [Failed]: "Progressing: the first installation failed; the message is the error of the API server or agent that rejected it. `tidegate why` names the object.", short "the installation failed" in Progressing;
    Upgrading [UnderWay]: "Progressing: a change of version or configuration is being rolled out to the cluster.";
    UpgradeSucceed [Succeeded]: "Progressing: the last change is applied. This reason stays until the next change, also while the cluster waits for its turn: see Ready.";
    UpgradeFailed [Failed]: "Progressing: the last change failed; the message is the error of the API server or agent that rejected it.", short "the last change failed" in Progressing;
    Rollingback [UnderWay]: "Progressing: the return to a lower version is in progress.";
    RollbackSucceed [Succeeded]: "Progressing: the return to a lower version is done.";
    RollbackFailed [Failed]: "Progressing: the return to a lower version failed.", short "the rollback failed" in Progressing;
    Progressing [UnderWay]: "A change is in progress (with --progressing-reasons ocm or --compat ocm on the cluster; always for a placement as a whole). On a cluster with the default reasons: something that had been applied is created again, or does not work at the moment; nothing is installed or upgraded.";
    Completed [Succeeded]: "The change is done (with --progressing-reasons ocm or --compat ocm on the cluster; always for a placement as a whole). On a cluster with the default reasons: what had to be created again exists again.";
    Failed [Failed]: "The change failed (with --progressing-reasons ocm). With the default reasons: something that had been applied cannot be applied any more; no installation, upgrade or rollback is in progress. The message is the error of the API server or agent that rejected it.", short "the last change failed" in Progressing;
    HookRunning: "The pre-delete hooks run.";
    HookSucceed: "The pre-delete hooks have completed.";
    HookFailed: "A pre-delete hook failed and is retried. `tidegate why` shows how to delete the add-on without it.";
    HookTimedOut: "The pre-delete hooks did not complete in time. With the policy release the add-on is deleted without them; with block it is kept.";
    NamespaceTerminating: "HookManifestCompleted: the namespace of the cluster is being deleted, so the pre-delete hooks cannot run. The add-on is deleted without them.";
    HookRenderingFailed: "The pre-delete hooks cannot be rendered from the AddOnTemplate.";
    HookUnknown: "The definition of the pre-delete hooks is no longer on the hub: the AddOnTemplate was deleted or edited.";
    HookManifestIsCompleted: "HookManifestCompleted: every pre-delete hook has completed.";
    HookManifestIsNotCompleted: "HookManifestCompleted: a pre-delete hook has not completed.";
    ConfigurationsConfigured: "Configured: the cluster has its desired configurations.";
    ConfigurationsNotConfigured: "Configured, with --compat ocm: the cluster does not have its desired configurations, and is waiting to be updated. See Reconciling and Stalled for the cause.";
    LayersMerged: "ConfigurationsMerged: works are rendered from every AddOnDeploymentConfig assigned to the cluster; each sets what those before it leave unset.";
    ConfigurationsAssigned: "Assigned: the time since which the cluster has its present assignment. Deadlines start here.";
    ConfigurationsConfirmed: "Assigned: the time since which the agent has confirmed the assignment. minSuccessTime starts here.";
    ConfigurationNotFound [Absence]: "A referenced configuration does not exist. Create it, or correct the reference.", short "a configuration does not exist" in Configured;
    ConfigurationHashUnknown: "A configuration has not been read yet. This takes a moment.", short "a configuration has not been read yet" in Configured;
    ConfigurationForbidden: "The controllers are not allowed to read a configuration: grant them get, list and watch for its type.", short "the controllers are not allowed to read a configuration" in Configured;
    ConfigurationKindNotServed [Absence]: "The hub does not serve the type of a configuration.", short "the hub does not serve the kind of a configuration" in Configured;
    ConfigurationTypeOffLimits: "Objects of that type are never read as configurations.", short "the type of a configuration is not allowed" in Configured;
    ConfigurationUnsupported: "The add-on does not support the type of a configuration: list it in spec.supportedConfigs, or remove the reference.", short "the add-on does not support the type of a configuration" in Configured;
    TooManyConfigurationTypes: "The object that refers to the configuration refers to more types than are read.", short "there are too many types of configurations" in Configured;
    TemplateOfAnotherAddon: "The AddOnTemplate is for another add-on (its spec.addonName), and requests hub permissions or a custom signer.", short "the template is for another add-on" in Configured;
    InvalidVersion [Absence]: "No AddOnTemplate provides the requested version. status.supportedVersions of the ClusterManagementAddOn lists the versions that exist.", short "no template provides the version" in Configured;
    ContentSuperseded: "The content that was assigned to the cluster was edited or deleted before it was applied, so it cannot be rendered any more.";
    RenderingFailed: "The works cannot be rendered from the AddOnTemplate and its values. Correct the template or the configuration.", short "the manifests cannot be rendered" in Progressing;
    ProgressDeadlineExceeded: "The agent has not confirmed the configuration within progressDeadline; the cluster counts as failed for the rollout.", short "the progressDeadline has passed" in Stalled;
    RolloutPaused [Turn Brake Suspended]: "The rollout is paused (spec.pause of the AddOnRollout). Resume it with `tidegate rollout resume`.", short "the rollout is paused" in Configured;
    TooManyFailures [Turn Brake]: "More clusters failed or timed out than maxFailures allows, so no further cluster is updated. `tidegate why` names them.", short "too many clusters have failed" in Configured;
    RollingBack: "The rollout was undone because too many clusters failed (spec.onFailure of the AddOnRollout): clusters are being rolled back to the last known good content.";
    RolledBack: "The rollout was undone because too many clusters failed (spec.onFailure of the AddOnRollout): clusters run the last known good content until the content changes, or until `tidegate rollout retry`.";
    UndoImpossible [Turn]: "The rollout should be undone (spec.onFailure of the AddOnRollout), but there is no earlier content to return to: the message has the cause and the fix.", short "the rollout cannot be undone" in Configured;
    EveryClusterRunsWell: "The last content that all clusters of the placement ran successfully. An undo returns to it.";
    WaitingForGroup [Turn]: "Earlier decision groups are not complete. `tidegate why` names them and the clusters that block them.", short "waiting for an earlier decision group" in Configured;
    WaitingForDependency [Turn]: "An add-on that this one depends on (spec.dependsOn of the AddOnRollout, spec.dependencies of the ClusterManagementAddOn) is not installed on the cluster, not up to date or not available. `tidegate why` names it.", short "waiting for another add-on" in Configured;
    WaitingForApproval [Turn Brake Suspended]: "The change waits for approval before it enters the decision group of the cluster (spec.approvalBefore of the AddOnRollout), or the stage of an upgrade. Approve it with `tidegate rollout approve`; the message names the RolloutApproval.", short "waiting for approval" in Configured;
    ApprovalRejected [Turn]: "A user has rejected the change for the decision group of the cluster. The message has the reason. Change the configuration, or approve this one.", short "the change was rejected" in Configured;
    WaitingForWindow [Turn]: "Changes of the add-on are rolled out in windows (spec.windows of the AddOnRollout), and none is open. `tidegate why` shows when the next one opens.", short "waiting for a rollout window" in Configured;
    WaitingForCheck [Turn]: "A RolloutCheck that the settings of the rollout name (spec.checks of the AddOnRollout, or checks of a stage of an upgrade) has not passed since the earlier clusters were updated. The message names it and says why.", short "waiting for a RolloutCheck" in Configured;
    RolloutFrozen [Turn]: "A RolloutFreeze stops changes on the cluster. The message names it, with its reason and its end.", short "changes are frozen" in Configured;
    RolloutSettingsInvalid [Turn]: "The settings of the rollout in the AddOnRollout are invalid, or an annotation of the ClusterManagementAddOn is no longer supported. Clusters keep their current configuration until that is corrected.", short "the rollout settings are invalid" in Configured;
    DependencyCycle [Turn]: "Add-ons depend on each other in a cycle, so none can be updated first. The message lists the cycle; remove one entry of spec.dependsOn of the AddOnRollout or of spec.dependencies of the ClusterManagementAddOn.", short "add-ons depend on each other in a cycle" in Configured;
    DependencyNotFound [Turn]: "An add-on that this one depends on does not exist. Create it, or correct spec.dependsOn of the AddOnRollout or spec.dependencies of the ClusterManagementAddOn.", short "an add-on that this add-on depends on does not exist" in Configured;
    WaitingForSlot [Turn]: "maxConcurrency limits how many clusters are updated at the same time, and other clusters use the slots. `tidegate why` names them.", short "waiting for a free slot" in Configured;
    WaitingForCanary: "A reason of Open Cluster Management; Tidegate sets WaitingForGroup instead.";
    OutsideRollout: "A change of spec.configuration applies to the clusters of one placement, and this is not one of them. The add-on is ready with its current configuration.", short "a change is not rolled out to this cluster" in Configured;
    RolloutStrategyInvalid: "A rollout strategy is invalid. Clusters keep their current configuration until it is corrected.", short "a rollout strategy is invalid" in Configured;
    PlacementNotFound [Absence]: "A placement that the add-on or the upgrade names does not exist. The controllers wait ten seconds, because it may still be applied; then an administrator has to act.", short "a placement does not exist" in Configured, next Needed "create the placement, or correct spec.placement of the upgrade" PLACEMENTS;
    PlacementNotDecided [Turn]: "The placement has no complete PlacementDecision yet, so the order of its clusters is not known.", short "the placement has no complete PlacementDecision yet" in Configured;
    AppliedByOthers: "Adopted: another field manager applies the ManagedClusterAddOn and owns its fields; no install strategy removes it.";
    NotSelected: "Adopted: nothing selects the cluster, and the add-on is kept because another field manager applies it. The message has the fix.";
    DecisionNotFound: "The placement exists, but has no decisions yet. See its conditions and the bindings of its namespace.";
    ClusterNotFound: "The ManagedCluster does not exist or is being deleted.", short "the cluster has no ManagedCluster" in Configured;
    WaitingForManifestApplied [UnderWay Undeployed]: "The controller that deploys the add-on has not reported that the works are written.";
    WaitingForHostingManifestApplied [UnderWay Undeployed]: "The controller that deploys the add-on has not reported that the works for the hosting cluster are written.";
    WorkNotFound: "Available: the add-on has no work on the cluster.";
    WorkApplyFailed: "Available: the cluster could not apply the work.";
    WorkNotApplied [NeedsAdmin]: "Available: the work is not applied yet, or not available. In an upgrade: the agent could not apply a work of the upgrade; the message is the agent's, and it retries.", next Needed "remove what prevents the work agent of the cluster from applying the work; it retries by itself" WORKS;
    WorkApplied: "Available: the work is applied and available.";
    NoProbeResult: "Available: the cluster has not reported any health information yet.";
    ProbeUnavailable: "Available: a workload has fewer ready replicas than its spec requires.";
    ProbeAvailable: "Available: every workload is ready.";
    Unavailable: "Ready: everything is applied, but the agent does not work. See Available.";
    AvailabilityUnknown: "Ready: everything is applied, but it is not known whether the agent works.";
    ManagedClusterUnknown: "The hub has no contact with the cluster, so its last report is out of date.";
    ManagedClusterAddOnLeaseUpdateStopped: "Available: the agent stopped renewing its lease.";
    ManagedClusterAddOnLeaseNotFound: "Available: the agent has no lease.";
    ManagedClusterAddOnLeaseUpdated: "Available: the agent renews its lease.";
    AddonManifestApplied: "ManifestApplied: the works are written.";
    AddonManifestAppliedFailed: "ManifestApplied: the cluster could not apply the works.";
    ManifestWorkApplyFailed: "ManifestApplied: the works could not be rendered or written.";
    HostingClusterValid: "HostingClusterValidity: the hosting cluster is a cluster of this hub.";
    HostingClusterInvalid: "HostingClusterValidity: the hosting cluster is not a cluster of this hub.";
    Ready: "Ready: everything is applied.";
    NoClustersSelected: "Ready of the add-on: no cluster is selected; the message has the cause. No action is needed unless a cluster should be selected.";
    Settled: "Reconciling: nothing is left to do.";
    NotStalled: "Stalled: no action is needed.";
    ClustersStalled: "Stalled of the add-on: some clusters need an administrator. `tidegate why` groups them by cause.";
    ClustersUnavailable: "Ready of the add-on: agents on some clusters do not work.";
    ClustersAbsent: "Stalled of the add-on: ManagedClusters are absent although no deletion was observed, so their add-ons are kept.";
    RemovalHeld: "Stalled of the add-on: more instances would be removed than the budget of one minute allows. The message has the command that allows all of them.";
    RemovalUnconfirmed [Unread]: "Stalled of the add-on: the cause of a removal cannot be confirmed with another read, so the ManagedClusterAddOn is kept.";
    ReadFailed [Absence Unread]: "Stalled of the add-on: an object that no list contains cannot be read by its name, so nothing that depends on it is changed.";
    ClockUnknown: "Stalled of the add-on: the time of the hub is not known, so nothing is planned.";
    InstallStrategyUnknown: "This version does not recognise the type of the install strategy.";
    LabelSelectorInvalid: "The label selector of the install strategy is invalid, so nothing is installed or removed.";
    LabelSelectorMissing: "The install strategy uses labels, but has no selector.";
    SelfManaged: "Managed: the add-on manages itself (lifecycle annotation). The hub does not install it.";
    EmptyLifecycle: "Managed: the lifecycle annotation has no value; the option --empty-lifecycle decides what that means.";
    NilRegistration: "RegistrationApplied: the add-on requests no identity on the hub.";
    SetPermissionApplied: "RegistrationApplied: the agent has its permissions on the hub.";
    SetPermissionFailed [Absence]: "RegistrationApplied: the permissions of the agent could not be written.";
    PermissionConfigPending: "RegistrationApplied: the permissions wait for something that does not exist yet.";
    RegistrationNotApplied: "The controller that registers the agent reports that the registration is not applied; the reason is in RegistrationApplied.";
    RegistrationUnknown: "RegistrationApplied: what the add-on requests could not be determined.";
    TokenInfrastructureReady: "TokenInfrastructureReady: the service account, the role and the binding of the add-on exist.";
    TokenInfrastructureApplyFailed: "TokenInfrastructureReady: the service account, role or binding could not be written.";
    CertificateNotIssued: "A certificate request was approved, but no certificate was issued.";
    CertificateRequestRefused: "A certificate request of the agent is not allowed for the add-on.";
    AutoApprovedByHubCSRApprovingController: "A certificate request: it is valid for the agent of the add-on.";
    NamesNotAllowed: "A certificate request requests names of servers; agents are clients.";
    RequestMalformed: "A certificate request cannot be read.";
    RequesterNotAllowed: "A certificate request was made by a user that is not the cluster's agent.";
    SignerNotRegistered: "A certificate request is for a signer that the add-on does not register with.";
    SubjectNotAllowed: "A certificate request requests a subject other than the agent's own.";
    UsagesNotAllowed: "A certificate request requests usages that an agent does not need.";
    InForce: "A policy: it compiles and is enforced.";
    FormerInForce: "A policy: it does not compile; the policy of the same name in the API group that the kind had before is enforced.";
    Superseded: "A policy in the API group that the kind had before: the policy of the same name in tidegate.io is enforced.";
    NotInForce: "A policy: it does not compile and is not enforced.";
    OlderInForce: "A policy: its present version does not compile; the webhook enforces an older version.";
    Compiled: "A policy compiles.";
    DoesNotCompile: "A policy does not compile. The message names the line; see `tidegate policy lint`.";
    Compliant: "An event: an object that violated a rule no longer violates it.";
    WebhookAltered: "An event: a webhook of Tidegate is missing or edited, or a foreign mutating webhook is called for add-ons. See `tidegate doctor`.";
    WebhookRestored: "An event: the registration of a webhook is correct again.";
    NonCompliant: "An event: a stored object violates a rule.";
    Removed: "An event: the controllers deleted a ManagedClusterAddOn; the message has the cause.";
    EventsSummarized: "One event that replaces many with the same content.";
    ManagedClustersSelected: "Selected: the upgrade selects clusters.";
    ManagedClustersNotSelected: "Selected: neither a placement of the upgrade nor its selector finds a cluster. A selector finds only clusters of sets that are bound to the namespace of the upgrade.";
    ManagedClustersUpgradeApplied: "Applied: whether a cluster has applied a work of the upgrade.";
    ManagedClustersUpgradeInProgress: "InProgress: whether a cluster is being upgraded to the version.";
    ManagedClustersUpgradeComplete: "Complete: whether every selected cluster has the version, its operators and the action after it.";
    ManagedClustersUpgradeFailed: "Failed: clusters have failed; status.clusters names them with their reasons. The annotation cluster.open-cluster-management.io/mcu-retry tries them again.";
    NoFailure: "Failed: no cluster has failed, or those that had failed are retried.";
    SpecInvalid: "The spec of the upgrade is invalid, and nothing is changed; the message has the cause.";
    Canary: "Of an upgrade: the canary clusters are updating, and the others wait for them.";
    Waiting: "Of an upgrade: no further cluster starts until the window opens, or until the clusters that are updating to an earlier version have finished.";
    Paused [Suspended]: "Of an upgrade: spec.suspend is set; clusters that have started continue, and no further cluster starts.";
    WaitingForStage: "Of an upgrade: the cluster waits for an earlier stage, whose clusters are not complete or have not been complete for minSuccessTime. The message names the stage.", next Waits "the clusters of the earlier stage finish first" UPGRADE;
    WorkerPoolsUpdating [UnderWay]: "Of an upgrade: the cluster has the version, and machines of its worker pools are still being updated (waitForWorkerPools).", next Waits "the machines of the worker pools are being updated" WORKS;
    NotUpgradeable [NeedsAdmin]: "Of an upgrade: the ClusterVersion of the cluster reports Upgradeable=False, so an upgrade to another minor version does not start there; the message is that of the condition. The upgrade continues when the condition is no longer False.", next Needed "resolve what the message names on the cluster; the upgrade continues by itself" WORKS;
    Pending: "Of an upgrade: no cluster is selected.";
    Preview [Suspended]: "Of an upgrade: spec.preview is set; status.plan shows what would happen, and nothing is changed.";
    Halted: "Of an upgrade: no further cluster starts until an administrator acts: a canary failed, more clusters failed than maxFailures, no canary exists, no cluster can start, a placement does not exist, or the spec is invalid. Clusters already upgrading finish.";
    Complete: "Of an upgrade: every selected cluster is upgraded.";
    ClustersHeld: "Of an upgrade: no remaining cluster can start until an administrator acts, for several reasons; the message names them.";
    Failing [NeedsAdmin]: "The ClusterVersion of the cluster is failing; the message is that of its condition Failing. The upgrade continues when the cause is fixed, or fails at its timeout.", next Needed "fix what the ClusterVersion of the cluster reports; the upgrade continues by itself, or fails at its timeout" WORKS;
    AlreadyAtVersion: "The cluster had the version before the upgrade started there.";
    NotAccepted [NeedsAdmin]: "The cluster does not accept the version; the message is that of its version operator, and `tidegate why mcu/NAME` has the fix: the channel does not offer the version, or an operator of the cluster is not upgradeable.";
    WorkRefused [NeedsAdmin]: "The hub rejects the work for the cluster; the message is the hub's. The write is retried, and the cluster uses no slot meanwhile.", next Needed "remove the cause for which the hub rejects the work; it is retried by itself" WORKS;
    PlacementAccessUnproven [NeedsAdmin]: "A placement of another namespace selects the cluster, and no valid record shows that the author of the upgrade may use it: the upgrade was stored while the webhook was unavailable, or its spec has changed since. A user who may get the placement sets the annotation tidegate.io/placement-access to \"renew\".", next Needed "set the annotation tidegate.io/placement-access of the upgrade to \"renew\" as a user who may get its placements" PLACEMENTS;
    Withdrawing: "Works of an earlier run or attempt are being deleted; then the cluster waits for its turn.", next Waits "works of an earlier attempt are being deleted" WORKS;
    Conflict: "Another upgrade manages the cluster, or a ManifestWork of that name exists that belongs to no upgrade.", next Needed "let the other upgrade finish, or remove the cluster from one of them; delete a work that belongs to no upgrade by hand" WORKS;
    ClusterUnavailable: "The cluster is not available. It is upgraded when it is.", next Needed "make the cluster available again; it is upgraded then" CLUSTER;
    ClusterIDUnknown [NeedsAdmin]: "The cluster has neither the label clusterID nor the claim id.openshift.io, so its id is not known.", next Needed "give the cluster the label clusterID or the claim id.openshift.io; do not select a cluster that is not OpenShift" CLUSTER;
    ClusterRemoved: "The cluster left the hub while it was upgraded.", next Needed "the cluster has left the hub; a new value of the annotation removes it from the status" RETRY;
    PrecheckFailed [NeedsAdmin]: "The cluster cannot be upgraded to the version: it has a higher version, or a minor version would be skipped.", next Needed "choose a version that the cluster can be upgraded to, or do not select the cluster" CLUSTER;
    PreActionDegraded [NeedsAdmin]: "The action before the upgrade failed on the cluster. The cluster is upgraded when the action succeeds.", next Needed "fix what failed on the cluster, so that the action succeeds; the cluster is then upgraded" WORKS;
    PreActionFailed: "The action before the upgrade exceeded its timeout.", next Needed "fix the cluster, then retry the failed clusters; OpenShift cannot return to the earlier version" RETRY;
    PostActionFailed: "The action after the upgrade failed or exceeded its timeout.", next Needed "fix the cluster, then retry the failed clusters; OpenShift cannot return to the earlier version" RETRY;
    NotApplied [TimedOut]: "The cluster did not apply the work within clusterUpgradeTimeout; the work was withdrawn.", next Needed "fix the cluster, then retry the failed clusters; OpenShift cannot return to the earlier version" RETRY;
    UpgradeTimeout [TimedOut]: "The upgrade exceeded clusterUpgradeTimeout. From then on the cluster is only observed; if it reaches the version, the message says so.", next Needed "fix the cluster, then retry the failed clusters; OpenShift cannot return to the earlier version" RETRY;
    OperatorsFailed: "The Job that approves upgrades of operators has failed.", next Needed "fix the cluster, then retry the failed clusters; OpenShift cannot return to the earlier version" RETRY;
    OperatorsTimeout [TimedOut]: "The Job that approves upgrades of operators exceeded operatorsUpgradeTimeout.", next Needed "fix the cluster, then retry the failed clusters; OpenShift cannot return to the earlier version" RETRY;
    RunCompleted: "An event of an upgrade: all clusters are upgraded.";
    RunFailed: "An event of an upgrade: all clusters have finished, but not all are upgraded.";
    ClusterUpgradeStarted: "An event of an upgrade: the upgrade of a cluster has started.";
    ClusterUpgradeCompleted: "An event of an upgrade: the upgrade of a cluster is complete.";
    ClusterUpgradeFailed: "An event of an upgrade: the upgrade of a cluster has failed.";
    ClusterHeld: "An event of an upgrade: a cluster cannot start.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_back_from_its_word_and_has_a_sentence() {
        for reason in Reason::ALL {
            assert_eq!(Reason::of(reason.as_str()), Some(*reason));
            assert!(reason.says().ends_with('.'), "{reason}: {}", reason.says());
        }
        assert_eq!(Reason::of("Nonsense"), None);
    }

    #[test]
    fn no_reason_is_of_two_outcomes() {
        let outcomes = [Class::UnderWay, Class::Succeeded, Class::Failed, Class::Turn];
        for reason in Reason::ALL {
            let of = outcomes.iter().filter(|class| reason.is(**class)).count();
            assert!(of <= 1, "{reason}");
        }
    }
}
