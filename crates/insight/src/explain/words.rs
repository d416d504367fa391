//! The words that objects on the hub carry: reasons of conditions, and names of annotations, labels and finalizers.
//!
//! Decides what each of them says to a user who meets it in `kubectl get`. A test walks what the code can write
//! (`tests/words.rs`), so that none is without a sentence.

/// A word of an object on the hub, what it is, and what it says.
pub(super) struct Term {
    pub(super) word: &'static str,
    pub(super) kind: &'static str,
    pub(super) says: &'static str,
}

macro_rules! terms {
    ($(#[$about:meta])* $name:ident, $($kind:literal { $($word:literal: $says:literal;)* })*) => {
        $(#[$about])*
        pub(super) const $name: &[Term] = &[$($(Term { word: $word, kind: $kind, says: $says },)*)*];
    };
}

terms! {
    /// Every reason that the controllers write.
    REASONS,
    "a reason of conditions" {
        "Installing": "Progressing: the first installation on the cluster is on its way. `tidegate why` says what it waits for.";
        "InstallSucceed": "Progressing: the first installation on the cluster is done.";
        "InstallFailed": "Progressing: the first installation failed; the message is that of whoever refused it. `tidegate why` names the object.";
        "Upgrading": "Progressing: a change of version or configuration is on its way to the cluster.";
        "UpgradeSucceed": "Progressing: the last change has arrived. It stays there until the next change, also while the cluster waits for its turn: see Ready.";
        "UpgradeFailed": "Progressing: the last change failed; the message is that of whoever refused it.";
        "Rollingback": "Progressing: the return to a lower version is on its way.";
        "RollbackSucceed": "Progressing: the return to a lower version is done.";
        "RollbackFailed": "Progressing: the return to a lower version failed.";
        "Progressing": "A change is on its way (with --progressing-reasons ocm or --compat ocm on the cluster; always so for a placement as a whole). On a cluster with the default words: what had arrived is made anew, or does not work at the moment; nothing is installed or upgraded.";
        "Completed": "The change is done (with --progressing-reasons ocm or --compat ocm on the cluster; always so for a placement as a whole). On a cluster with the default words: what was made anew is there again.";
        "Failed": "The change failed (with --progressing-reasons ocm). With the default words: what had arrived cannot be applied any more; no install, upgrade or rollback is under way. The message is that of whoever refused it.";
        "HookRunning": "The pre-delete hooks run.";
        "HookSucceed": "The pre-delete hooks have completed.";
        "HookFailed": "A pre-delete hook has failed; it is tried again. `tidegate why` says how to let the add-on go without it.";
        "HookTimedOut": "The pre-delete hooks have not completed in time. With the policy release the add-on goes without them, with block it stays.";
        "NamespaceTerminating": "HookManifestCompleted: the namespace of the cluster is being deleted, so the pre-delete hooks cannot run. The add-on goes without them.";
        "HookRenderingFailed": "The pre-delete hooks cannot be made of the AddOnTemplate.";
        "HookUnknown": "What the pre-delete hooks were is no longer on the hub: the AddOnTemplate is gone or was edited.";
        "HookManifestIsCompleted": "HookManifestCompleted: every pre-delete hook has completed.";
        "HookManifestIsNotCompleted": "HookManifestCompleted: a pre-delete hook has not completed.";
        "ConfigurationsConfigured": "Configured: the cluster has the configurations that are meant for it.";
        "ConfigurationsNotConfigured": "Configured, with --compat ocm: the cluster should have other configurations, and its turn has not come. Reconciling and Stalled say why.";
        "AllLayersCount": "ConfigurationsMerged: works are made from every AddOnDeploymentConfig that the cluster is assigned, each for what those before it leave open.";
        "ConfigurationsAssigned": "Assigned: since this time the cluster has been assigned what it is to run with. Deadlines count from here.";
        "ConfigurationsConfirmed": "Assigned: since this time the agent has confirmed what is assigned. minSuccessTime counts from here.";
        "ConfigurationNotFound": "A configuration that is referred to does not exist. Create it, or correct the reference.";
        "ConfigurationHashUnknown": "A configuration has not been read yet. That takes a moment.";
        "ConfigurationForbidden": "The controllers may not read a configuration: give them get, list and watch for its type.";
        "ConfigurationKindNotServed": "The hub does not serve the type of a configuration.";
        "ConfigurationTypeOffLimits": "Objects of that type are never read as configurations.";
        "ConfigurationUnsupported": "The add-on does not support the type of a configuration: list it in spec.supportedConfigs, or remove the reference.";
        "TooManyConfigurationTypes": "Whoever refers to the configuration refers to more types than are looked at.";
        "TemplateOfAnotherAddon": "The AddOnTemplate is made for another add-on: its spec.addonName says so.";
        "InvalidVersion": "No AddOnTemplate offers the version that is asked for. status.supportedVersions of the ClusterManagementAddOn lists those that exist.";
        "ContentSuperseded": "What the cluster was assigned was edited or deleted before it arrived, so that it cannot be made any more.";
        "RenderingFailed": "The works cannot be made of the AddOnTemplate and its values. Correct the template or the configuration.";
        "ProgressDeadlineExceeded": "The agent has not confirmed the configuration within progressDeadline; the cluster counts as failed for the rollout.";
        "RolloutPaused": "The annotation tidegate.io/paused of the ClusterManagementAddOn pauses the rollout. Take it away to go on.";
        "TooManyFailures": "More clusters failed than maxFailures tolerates, so nothing new starts. `tidegate why` names them.";
        "RollingBack": "The rollout was undone because too many clusters failed (tidegate.io/on-failure): they are on their way back to what was last known to be good.";
        "RolledBack": "The rollout was undone because too many clusters failed (tidegate.io/on-failure): clusters run with what was last known to be good until the content changes, or until `tidegate rollout retry`.";
        "UndoImpossible": "The rollout is to be undone (tidegate.io/on-failure), and there is nothing to go back to: the message says why, and what would help.";
        "EveryClusterRunsWell": "The content that all clusters of the placement were last seen to run well, as a whole: where a rollout is undone they go back to it.";
        "WaitingForGroup": "Decision groups that go first are not done. `tidegate why` names them and the clusters that are waited for.";
        "WaitingForDependency": "An add-on that this one depends on (tidegate.io/depends-on) is not installed on the cluster, not up to date or not available. `tidegate why` says which.";
        "WaitingForApproval": "The change waits until somebody approves of it before it enters the decision group of the cluster (tidegate.io/approval-before). `tidegate rollout approve` does; the message has the entry of tidegate.io/approved.";
        "RolloutApprovalInvalid": "The annotation tidegate.io/approval-before has no meaning. Clusters keep what they have until it is corrected.";
        "WaitingForWindow": "Changes of the add-on travel in windows (tidegate.io/rollout-window), and none is open. `tidegate why` says when one opens.";
        "RolloutWindowInvalid": "The annotation tidegate.io/rollout-window has no meaning. Clusters keep what they have until it is corrected.";
        "DependencyCycle": "Add-ons depend on each other in a circle, so that none can go first. The message has the circle; take one out of tidegate.io/depends-on.";
        "DependencyNotFound": "An add-on that this one depends on does not exist. Create it, or correct tidegate.io/depends-on.";
        "WaitingForSlot": "Only so many clusters change at once, and others have the slots. `tidegate why` names them.";
        "WaitingForCanary": "Known to Open Cluster Management, never written by these controllers: WaitingForGroup says it.";
        "OutsideRollout": "A change of spec.configuration reaches the clusters of one placement, and this is none of them. It is ready with what it has.";
        "RolloutStrategyInvalid": "A rollout strategy has no meaning. Clusters keep what they have until it is corrected.";
        "PlacementNotFound": "A placement that the add-on or the upgrade names does not exist. It is waited for, for ten seconds, because it may still be applied; then an administrator has to act.";
        "PlacementNotDecided": "Nobody has decided the placement, so nobody knows whose turn it is.";
        "AppliedByOthers": "Adopted: somebody else applies the ManagedClusterAddOn. Its fields are theirs, and no install strategy takes it away.";
        "NotSelected": "Adopted: nothing selects the cluster, and the add-on stays because somebody else applies it. The message says how to let it go.";
        "DecisionNotFound": "The placement exists, but has no decisions yet. See its conditions and the bindings of its namespace.";
        "ClusterNotFound": "The ManagedCluster does not exist or is being deleted.";
        "WaitingForManifestApplied": "The program that deploys the add-on has not said that the works are written.";
        "WaitingForHostingManifestApplied": "The program that deploys the add-on has not said that the works for the hosting cluster are written.";
        "WorkNotFound": "Available: the add-on has no work on the cluster.";
        "WorkApplyFailed": "Available: the cluster could not apply the work.";
        "WorkNotApplied": "Available: the work is not applied yet, or not available. Of a cluster of an upgrade: the agent could not apply a work of the upgrade; the message has its words, and it tries again by itself.";
        "WorkApplied": "Available: the work is applied and there.";
        "NoProbeResult": "Available: the cluster has reported nothing yet that health could be told from.";
        "ProbeUnavailable": "Available: a workload has fewer ready replicas than it wants.";
        "ProbeAvailable": "Available: every workload is ready.";
        "Unavailable": "Ready: everything has arrived, but the agent does not work. See Available.";
        "AvailabilityUnknown": "Ready: everything has arrived, but nobody knows whether the agent works.";
        "ManagedClusterUnknown": "The hub does not hear of the cluster, so what was last said about it is out of date.";
        "ManagedClusterAddOnLeaseUpdateStopped": "Available: the agent has stopped to renew its lease.";
        "ManagedClusterAddOnLeaseNotFound": "Available: the agent has no lease.";
        "ManagedClusterAddOnLeaseUpdated": "Available: the agent renews its lease.";
        "AddonManifestApplied": "ManifestApplied: the works are written.";
        "AddonManifestAppliedFailed": "ManifestApplied: the cluster could not apply the works.";
        "ManifestWorkApplyFailed": "ManifestApplied: the works could not be made or written.";
        "HostingClusterValid": "HostingClusterValidity: the hosting cluster is a cluster of this hub.";
        "HostingClusterInvalid": "HostingClusterValidity: the hosting cluster is not a cluster of this hub.";
        "Ready": "Ready: everything that was asked for is there.";
        "NobodySelected": "Ready of the add-on: no cluster is to have it, and the message says why. Nobody has to act, unless somebody was meant.";
        "Settled": "Reconciling: there is nothing left to do.";
        "NotStalled": "Stalled: nobody has to act.";
        "ClustersStalled": "Stalled of the add-on: clusters are at fault that only a human can help. `tidegate why` groups them by cause.";
        "ClustersUnavailable": "Ready of the add-on: agents on some clusters do not work.";
        "ClustersAbsent": "Stalled of the add-on: ManagedClusters are absent that nobody saw go, so their add-ons stay.";
        "RemovalHeld": "Stalled of the add-on: more instances would go than a minute has. The message says how to let all of them go.";
        "RemovalUnconfirmed": "Stalled of the add-on: a reason for a removal cannot be read once more, so the instance stays.";
        "ReadFailed": "Stalled of the add-on: an object that no list shows cannot be read by its name, so what depends on it is not planned.";
        "ClockUnknown": "Stalled of the add-on: nobody knows what time it is on the hub, so nothing is planned.";
        "InstallStrategyUnknown": "The install strategy has a type that this version does not drive.";
        "LabelSelectorInvalid": "The label selector of the install strategy has no meaning, so nothing is installed or removed.";
        "LabelSelectorMissing": "The install strategy follows labels, but has no selector.";
        "SelfManaged": "Managed: the add-on manages itself, because its lifecycle annotation says so. The hub installs it nowhere.";
        "EmptyLifecycle": "Managed: the lifecycle annotation has no value; the operator's --empty-lifecycle says what that means.";
        "NilRegistration": "RegistrationApplied: the add-on asks for no identity on the hub.";
        "SetPermissionApplied": "RegistrationApplied: the agent has its permissions on the hub.";
        "SetPermissionFailed": "RegistrationApplied: the permissions of the agent could not be written.";
        "PermissionConfigPending": "RegistrationApplied: the permissions wait for something that is not there yet.";
        "RegistrationNotApplied": "The program that registers the agent reports that the registration is not applied, with a reason of its own in RegistrationApplied.";
        "RegistrationUnknown": "RegistrationApplied: what the add-on asks for could not be worked out.";
        "TokenInfrastructureApplyFailed": "TokenInfrastructureReady: the service account, role or binding could not be written.";
        "CertificateNotIssued": "A certificate request was approved, and no certificate has come.";
        "CertificateRequestRefused": "A certificate request of the agent is not the one that the add-on may make.";
        "AutoApprovedByHubCSRApprovingController": "A certificate request: it asks for what the add-on's agent may have.";
        "NamesNotAllowed": "A certificate request asks for names of servers; agents are clients.";
        "RequestMalformed": "A certificate request cannot be read.";
        "RequesterNotAllowed": "A certificate request was made by somebody who is not the cluster's agent.";
        "SignerNotRegistered": "A certificate request is for a signer that the add-on does not register with.";
        "SubjectNotAllowed": "A certificate request asks for another subject than the agent's own.";
        "UsagesNotAllowed": "A certificate request asks for usages that an agent does not need.";
        "InForce": "A policy: it compiles, and the gate judges by it.";
        "FormerInForce": "A policy: it does not compile; the one of the same name in the group that the kind had before stays in force.";
        "Superseded": "A policy in the group that the kind had before: the one of the same name in tidegate.io is in force.";
        "NotInForce": "A policy: it does not compile, and nothing is judged by it.";
        "OlderInForce": "A policy: its present form does not compile; the gate judges by an older one.";
        "Compiled": "A policy compiles.";
        "DoesNotCompile": "A policy does not compile. The message names the place; `tidegate policy lint` shows it.";
        "Compliant": "An event: an object that was at fault is so no more.";
        "WebhookAltered": "An event: a webhook of Tidegate is missing or edited, or a mutating webhook of somebody else is asked about add-ons. `tidegate doctor` says which.";
        "WebhookMended": "An event: a webhook is as it should be again.";
        "NonCompliant": "An event: a stored object breaks a rule.";
        "EventsSummarized": "An event that stands for many that would have said the same.";
        "ManagedClustersSelected": "Selected: the upgrade selects clusters.";
        "ManagedClustersNotSelected": "Selected: neither a placement of the upgrade nor its selector finds a cluster. A selector finds clusters of sets alone that are bound to the namespace of the upgrade.";
        "ManagedClustersUpgradeApplied": "Applied: whether a cluster has taken a work of the upgrade.";
        "ManagedClustersUpgradeInProgress": "InProgress: whether a cluster is on its way to the version.";
        "ManagedClustersUpgradeComplete": "Complete: whether every selected cluster has the version, its operators and the action after it.";
        "ManagedClustersUpgradeFailed": "Failed: clusters have failed; status.clusters names them with their reasons. The annotation cluster.open-cluster-management.io/mcu-retry tries them again.";
        "NoFailure": "Failed: no cluster has failed, or those that had are tried again.";
        "SpecInvalid": "The upgrade has no meaning, and everything stays as it is; the message says why.";
        "Canary": "Of an upgrade: clusters that go first are on their way, the others wait for them.";
        "Waiting": "Of an upgrade: nothing new starts until the window opens, or until those have ended who are on their way to what was asked before.";
        "Pending": "Of an upgrade: no cluster is selected.";
        "Preview": "Of an upgrade: spec.preview is set; status.plan says what would happen, and nothing does.";
        "Halted": "Of an upgrade: no further cluster starts until an administrator acts: a canary failed, more clusters failed than maxFailures, no canary exists, no cluster can start, a placement does not exist, or the spec is invalid. Clusters already upgrading finish.";
        "Complete": "Of an upgrade: every selected cluster is upgraded.";
        "ClustersHeld": "Of an upgrade: no cluster that is left can start until an administrator acts, for several reasons; the message names them.";
        "Failing": "The ClusterVersion of the cluster is failing; the message is that of its condition Failing. The upgrade goes on by itself when the cause is repaired, or fails when its time is over.";
        "AlreadyAtVersion": "The cluster had the version before the upgrade came to it.";
        "NotAccepted": "The cluster does not take the version; the message is that of its version operator, and `tidegate why mcu/NAME` has the fix: the channel does not offer the version, or an operator of the cluster is not upgradeable.";
        "WorkRefused": "The hub takes no work for the cluster; the message is the hub's. It is tried again, and the cluster takes no slot meanwhile.";
        "PlacementAccessUnproven": "A placement of another namespace selects the cluster, and no valid record shows that the author of the upgrade may use it: the upgrade was stored while the webhook was unavailable, or its spec has changed since. A user who may get the placement sets the annotation tidegate.io/placement-access to \"renew\".";
        "Withdrawing": "Works of an earlier run or try are on their way out; then the cluster waits for its turn.";
        "Conflict": "Another upgrade has the cluster, or a work of that name is there which is nobody's upgrade.";
        "ClusterUnavailable": "The cluster does not answer. It is upgraded when it does.";
        "ClusterIDUnknown": "Neither the label clusterID nor the claim id.openshift.io tells the id of the cluster.";
        "ClusterRemoved": "The cluster has left the hub while it was upgraded.";
        "PrecheckFailed": "The cluster cannot go there: it has a higher version, or a minor version would be left out.";
        "PreActionDegraded": "The action before the upgrade has failed on the cluster. It is upgraded when the action succeeds after all.";
        "PreActionFailed": "The action before the upgrade took longer than it may.";
        "PostActionFailed": "The action after the upgrade has failed or took longer than it may.";
        "NotApplied": "The cluster has not taken the work within clusterUpgradeTimeout; the work was withdrawn.";
        "UpgradeTimeout": "The upgrade took longer than clusterUpgradeTimeout. The cluster is no longer told anything, only looked at; if it arrives, the message says so.";
        "OperatorsFailed": "The Job that approves upgrades of operators has failed.";
        "OperatorsTimeout": "The Job that approves upgrades of operators took longer than operatorsUpgradeTimeout.";
        "RunCompleted": "An event of an upgrade: all clusters are upgraded.";
        "RunFailed": "An event of an upgrade: every cluster has ended, and not all are upgraded.";
        "ClusterUpgradeStarted": "An event of an upgrade: the upgrade of a cluster has begun.";
        "ClusterUpgradeCompleted": "An event of an upgrade: the upgrade of a cluster is complete.";
        "ClusterUpgradeFailed": "An event of an upgrade: the upgrade of a cluster has failed.";
        "ClusterHeld": "An event of an upgrade: a cluster cannot start.";
    }
}

terms! {
    /// Names of annotations, labels and finalizers.
    NAMES,
    "an annotation" {
        "tidegate.io/approval-before": "On a ClusterManagementAddOn: before which decision groups a change waits until somebody approves of it. A list such as `namespace/name=prod`, a group by name or index or `*` for all, or `*=prod` for every placement.";
        "tidegate.io/approved": "On a ClusterManagementAddOn: of what somebody has approved. A list such as `namespace/name/prod=<hash>`, with the hash of the content that `tidegate rollout status` and the waiting clusters tell. `tidegate rollout approve` writes it.";
        "tidegate.io/promoted": "On a ClusterManagementAddOn: ends soaks. A list of placements with a time, as `namespace/name=2026-01-31T12:00:00Z`, or `*=<time>` for all: clusters that had succeeded before need not stay successful for minSuccessTime any longer. `tidegate rollout promote` writes it.";
        "tidegate.io/on-failure": "On a ClusterManagementAddOn: what becomes of rollouts that stop because too many clusters failed. `undo`: clusters go back to what was last known to be good; `stop`: nothing new starts; or a list of placements as `namespace/name=undo`.";
        "tidegate.io/retried": "On a ClusterManagementAddOn: content that was undone before a time is tried again. A list of placements with a time, as `namespace/name=2026-01-31T12:00:00Z`, or `*=<time>` for all. `tidegate rollout retry` writes it.";
        "tidegate.io/rollout-window": "On a ClusterManagementAddOn: when changes may start, as `0 2 * * 0 for 4h in Europe/Paris`: a schedule of five fields, a duration, perhaps a time zone; several separated by `;`. First installations do not wait.";
        "tidegate.io/depends-on": "On a ClusterManagementAddOn: the add-ons, separated by commas, that have to be installed on a cluster, up to date and available before this one is installed or upgraded there.";
        "tidegate.io/paused": "On a ClusterManagementAddOn: pauses rollouts. A list of placements as `namespace/name`, or `*` for all. What is under way goes on.";
        "tidegate.io/v1alpha1-only": "On an add-on object in v1beta1: what only v1alpha1 can hold, so that a conversion loses nothing. Not for people.";
        "tidegate.io/v1beta1-only": "On an add-on object in v1alpha1: what only v1beta1 can hold, so that a conversion loses nothing. Not for people.";
        "tidegate.io/deletion-guard": "On a ClusterManagementAddOn: `true` refuses to delete it while clusters have the add-on.";
        "tidegate.io/removals-allowed-until": "On a ClusterManagementAddOn: until this time (RFC 3339, at most a day ahead) removals have no budget.";
        "tidegate.io/opt-out": "On a ManagedCluster: the add-ons, separated by commas, that no install strategy may give it; `*` means all.";
        "tidegate.io/skip-hooks": "On a ManagedClusterAddOn: `true` lets it go without its pre-delete hooks.";
        "tidegate.io/hook-timeout": "On a ManagedClusterAddOn: how long its pre-delete hooks may take, such as `10m`; `0` means for ever.";
        "tidegate.io/hook-timeout-policy": "On a ManagedClusterAddOn: `release` or `block`, for the time after the hook time-out.";
        "tidegate.io/hook-failed": "On a ManagedClusterAddOn that is being deleted, written by the controllers: how often its hooks have failed, and when last.";
        "tidegate.io/hook-of": "On a ManifestWork of hooks, written by the controllers: the uid of the ManagedClusterAddOn that they run for.";
        "tidegate.io/installed-by": "On a ManagedClusterAddOn, written by the controllers: the placement that gave it, or `label-selector`. Only add-ons with this mark are taken away again, and none that somebody else applies.";
        "tidegate.io/deselected-at": "On a ManagedClusterAddOn, written by the controllers: since when nothing selects its cluster. It goes when the decision grace is over.";
        "tidegate.io/copied-annotations": "On a ManagedClusterAddOn, written by the controllers: which annotations came from its cluster.";
        "tidegate.io/given-version": "On a ManagedClusterAddOn, written by the controllers: the version that its placement gave. While spec.desiredVersion is the same and no other field manager owns it, it follows the placement; so it does where the manager that applies the add-on leaves it out.";
        "tidegate.io/kept-content": "On a ControllerRevision, written by the controllers: it holds content that an add-on ran well, to which a rollout can go back. The value is the name of the add-on.";
        "tidegate.io/signs-for": "On a Secret with a signer's certificate and key: the add-ons, separated by commas, that it may sign for.";
        "tidegate.io/audit-content": "On a report of the audit: a digest of what it says.";
        "tidegate.io/audit-left-out": "On a report of the audit: how many findings did not fit.";
        "addon.open-cluster-management.io/lifecycle": "On a ClusterManagementAddOn: `addon-manager`, or absent, lets the hub manage the add-on; `tidegate` lets Tidegate manage it and nobody else; `self` and everything else leaves it to its own manager.";
        "addon.open-cluster-management.io/addon-pre-delete": "On a Job or Pod of an AddOnTemplate: it runs before the add-on is deleted. As a finalizer of a ManagedClusterAddOn: it stays until these have completed.";
        "addon.open-cluster-management.io/deletion-orphan": "On a manifest: its object stays on the cluster when the add-on goes.";
        "addon.open-cluster-management.io/values": "Values for add-ons that render charts; travels from a ManagedCluster to its add-ons.";
        "addon.open-cluster-management.io/hosting-cluster-name": "On a ManagedClusterAddOn: the cluster on which its agent runs instead.";
        "addon.open-cluster-management.io/hosted-manifest-location": "On a manifest in hosted mode: `managed`, `hosting` or `none`.";
        "addon.open-cluster-management.io/v1alpha1-install-namespace": "The install namespace of a ManagedClusterAddOn as v1beta1 shows it.";
        "addon.open-cluster-management.io/disable-automatic-installation": "Known to old hubs; ignored.";
        "open-cluster-management.io/csr-user": "On a CertificateSigningRequest of the hub's gRPC server: the agent for which it asks. Of any other requester it counts for nothing.";
        "open-cluster-management.io/config-spec-hash": "On a ManifestWork: the hashes of the configurations that it was made from.";
        "tidegate.io/placement-access": "On a ManagedClustersUpgrade: the signed record that its author may use the placements of other namespaces. A user who may get them renews it with the value renew.";
        "cluster.open-cluster-management.io/mcu-retry": "On a ManagedClustersUpgrade: each new value tries again, once, the clusters that have failed.";
        "open-cluster-management.io/image-registries": "On a ManagedCluster: image mirrors that AddOnTemplates are rendered with.";
        "configSpecHash": "On a ManifestWork: a mirror of open-cluster-management.io/config-spec-hash.";
        "configsSpecHash": "On a ManifestWork: another spelling of configSpecHash that is read, never written.";
        "tidegate.io/merged-configs": "On a ClusterManagementAddOn: types of which every layer counts for what the layers above it leave open, as <resource>.<group>; addondeploymentconfigs.addon.open-cluster-management.io is the only one.";
        "tidegate.io/protected-configs": "On a ClusterManagementAddOn: types that no cluster may override, as <resource>.<group>, separated by commas; with addonhubconfigs or addontemplates also the version.";
        "tidegate.io/added-fields": "On a CustomResourceDefinition of Open Cluster Management, by `tidegate definitions apply`: which fields and columns it has added, so that `revert` takes out no other.";
        "tidegate.io/hub-without-ocm": "On a CustomResourceDefinition, by `tidegate crds --for-hub-without-ocm`: a kind of Open Cluster Management, in the form for a hub that has not got it.";
        "simulated-cluster/faults": "On a ManagedCluster that `tidegate dev` simulates: what goes wrong there, one fault a line, as in `tidegate dev fault`.";
    }
    "a label" {
        "tidegate.io/permission": "On a RoleBinding, written by the controllers: the permission of the AddOnTemplate that it stands for.";
        "tidegate.io/hub-permissions": "On a Role or ClusterRole: `allowed` means that add-on agents may be given it.";
        "addon.open-cluster-management.io/version": "On an AddOnTemplate: the version that it offers.";
        "addon.open-cluster-management.io/name": "On the objects of the token infrastructure: the add-on that they are for.";
        "addon.open-cluster-management.io/token-infrastructure": "On a ServiceAccount, Role or RoleBinding: it belongs to the token infrastructure of an add-on.";
        "cluster.open-cluster-management.io/clusterset": "On a ManagedCluster: its cluster set.";
        "cluster.open-cluster-management.io/placement": "On a PlacementDecision: its placement.";
        "cluster.open-cluster-management.io/decision-group-index": "On a PlacementDecision: the index of its decision group.";
        "cluster.open-cluster-management.io/decision-group-name": "On a PlacementDecision: the name of its decision group.";
        "open-cluster-management.io/addon-name": "On a ManifestWork, a certificate request or a RoleBinding: the add-on that it is for.";
        "open-cluster-management.io/addon-namespace": "On a ManifestWork in the namespace of a hosting cluster: the namespace of its ManagedClusterAddOn.";
        "open-cluster-management.io/cluster-name": "On a certificate request: the cluster.";
        "open-cluster-management.io/addon-template-name": "On a RoleBinding: it comes from an AddOnTemplate.";
        "open-cluster-management.io/addon-version": "On a ManifestWork: the version of the add-on that it carries.";
        "feature.open-cluster-management.io/addon-": "On a ManagedCluster, with the name of an add-on behind it: how the add-on is there (`available`, `unhealthy`, `unreachable`).";
    }
    "the name of a reporter" {
        "tidegate.io/controllers": "Who has written an event: the controllers.";
    }
    "a finalizer" {
        "addon.open-cluster-management.io/hosting-addon-pre-delete": "Of a ManagedClusterAddOn: it stays until the pre-delete manifests on the hosting cluster have completed.";
        "addon.open-cluster-management.io/hosting-manifests-cleanup": "Of a ManagedClusterAddOn: it stays until the works of the hosting cluster are gone.";
        "cluster.open-cluster-management.io/addon-pre-delete": "An old spelling, taken away when the finalizers are written.";
        "cluster.open-cluster-management.io/hosting-addon-pre-delete": "An old spelling, taken away when the finalizers are written.";
        "cluster.open-cluster-management.io/hosting-manifests-cleanup": "An old spelling, taken away when the finalizers are written.";
    }
}

/// Returns what a word says, whatever case it is written in.
pub(super) fn term(word: &str) -> Option<&'static Term> {
    let bare = word.trim_end_matches('=');
    let all = || REASONS.iter().chain(NAMES);
    let exact = all().find(|term| term.word == bare);
    exact
        .or_else(|| all().find(|term| term.word.eq_ignore_ascii_case(bare)))
        .or_else(|| {
            NAMES
                .iter()
                .find(|term| term.word.ends_with('-') && bare.starts_with(term.word))
        })
}
