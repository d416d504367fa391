//! Names that are part of the interface between hub, agents and users: labels, annotations, finalizers, conditions.
//!
//! Every constant is one spelling; what it means stands beside it. Never decides when one is set.

/// Namespace on managed clusters that agents are installed into where neither add-on nor configuration names another.
pub const DEFAULT_INSTALL_NAMESPACE: &str = "open-cluster-management-agent-addon";
/// Namespace of a configuration that a placement's template names without one: that of Open Cluster Management's own examples.
pub const DEFAULT_CONFIG_NAMESPACE: &str = "open-cluster-management";
/// Name in `v1beta1` default configurations that means "this type, without a default".
pub const RESERVED_NO_DEFAULT: &str = "__reserved_no_default__";
/// Group of the kinds that are Tidegate's alone; their version is `v1alpha1`.
pub const OWN_GROUP: &str = "tidegate.io";
/// Group and version of the JSON that the commands print; a field with another meaning changes the version.
pub const OUTPUT_VERSION: &str = "output.tidegate.io/v1alpha1";
/// Version of an add-on that is changing or was never valid.
pub const UNKNOWN_VERSION: &str = "unknown";

/// Labels.
pub mod labels {
    /// Add-on of a work, a certificate request or a role binding.
    pub const ADDON_NAME: &str = "open-cluster-management.io/addon-name";
    /// Namespace of the ManagedClusterAddOn of a work in a hosting cluster's namespace.
    pub const ADDON_NAMESPACE: &str = "open-cluster-management.io/addon-namespace";
    /// Cluster of a certificate request.
    pub const CLUSTER_NAME: &str = "open-cluster-management.io/cluster-name";
    /// Marks role bindings of template add-ons; the value is empty.
    pub const ADDON_TEMPLATE_NAME: &str = "open-cluster-management.io/addon-template-name";
    /// On a work: the version of the add-on that it deploys.
    pub const ADDON_VERSION: &str = "open-cluster-management.io/addon-version";
    /// On an AddOnTemplate: its version of the add-on.
    pub const TEMPLATE_VERSION: &str = "addon.open-cluster-management.io/version";
    /// On the objects of the token infrastructure: their add-on.
    pub const TOKEN_ADDON_NAME: &str = "addon.open-cluster-management.io/name";
    /// On the objects of the token infrastructure: `true`.
    pub const TOKEN_INFRASTRUCTURE: &str = "addon.open-cluster-management.io/token-infrastructure";
    /// Prefix of the labels of a ManagedCluster for its add-ons; the add-on's name follows.
    pub const FEATURE_PREFIX: &str = "feature.open-cluster-management.io/addon-";
    /// On a ManagedCluster: its exclusive set.
    pub const CLUSTER_SET: &str = "cluster.open-cluster-management.io/clusterset";
    /// On a PlacementDecision: its Placement.
    pub const PLACEMENT: &str = "cluster.open-cluster-management.io/placement";
    /// On a PlacementDecision: the index of its decision group.
    pub const DECISION_GROUP_INDEX: &str = "cluster.open-cluster-management.io/decision-group-index";
    /// On a PlacementDecision: the name of its decision group.
    pub const DECISION_GROUP_NAME: &str = "cluster.open-cluster-management.io/decision-group-name";
}

/// Annotations.
pub mod annotations {
    /// On a CustomResourceDefinition: one of Open Cluster Management's kinds, as Tidegate serves it on a hub that lacks them.
    pub const HUB_WITHOUT_OCM: &str = "tidegate.io/hub-without-ocm";
    /// On a CustomResourceDefinition of Open Cluster Management: what `tidegate definitions apply` has added to it.
    pub const ADDED_FIELDS: &str = "tidegate.io/added-fields";
    /// On a ClusterManagementAddOn: what manages it; absent means [`LIFECYCLE_ADDON_MANAGER`].
    pub const LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";
    /// Value of [`LIFECYCLE`]: the hub manages the add-on.
    pub const LIFECYCLE_ADDON_MANAGER: &str = "addon-manager";
    /// Value of [`LIFECYCLE`]: the add-on manages itself.
    pub const LIFECYCLE_SELF: &str = "self";
    /// Value of [`LIFECYCLE`]: Tidegate manages the add-on, and the add-on manager of Open Cluster Management leaves it alone.
    pub const LIFECYCLE_TIDEGATE: &str = "tidegate";
    /// On a CertificateSigningRequest of the hub's gRPC server: the agent that it is for.
    pub const CSR_USER: &str = "open-cluster-management.io/csr-user";
    /// On a ManifestWork: hashes of the configurations that it was rendered from.
    pub const CONFIG_SPEC_HASH: &str = "open-cluster-management.io/config-spec-hash";
    /// On a ManifestWork: the value of [`CONFIG_SPEC_HASH`] again, without a prefix.
    pub const CONFIG_SPEC_HASH_MIRROR: &str = "configSpecHash";
    /// Another spelling of [`CONFIG_SPEC_HASH_MIRROR`] that is read, never written.
    pub const CONFIG_SPEC_HASH_ALTERNATIVE: &str = "configsSpecHash";
    /// On a ManagedClusterAddOn in `v1beta1`: its install namespace.
    pub const INSTALL_NAMESPACE: &str = "addon.open-cluster-management.io/v1alpha1-install-namespace";
    /// On a ManagedClusterAddOn in hosted mode: its hosting cluster.
    pub const HOSTING_CLUSTER_NAME: &str = "addon.open-cluster-management.io/hosting-cluster-name";
    /// On a Job or Pod among the manifests: a pre-delete hook.
    pub const ADDON_PRE_DELETE: &str = "addon.open-cluster-management.io/addon-pre-delete";
    /// On a manifest: its object stays when the work is deleted.
    pub const DELETION_ORPHAN: &str = "addon.open-cluster-management.io/deletion-orphan";
    /// On a ManagedClusterAddOn: values for add-ons that render charts.
    pub const VALUES: &str = "addon.open-cluster-management.io/values";
    /// On a ManagedClustersUpgrade: the record that its author may use placements of other namespaces. The webhook writes it; a
    /// user who may use them sets another value to renew it.
    pub const PLACEMENT_ACCESS: &str = "tidegate.io/placement-access";
    /// On an AddOnRollout, RolloutProfile or RolloutFreeze: who set each pause or the freeze, and when, one line each: `PART TIME USER`.
    /// PART is `namespace/name` of a placement, or `*`. The webhook writes it and replaces any other value.
    pub const SET_BY: &str = "tidegate.io/set-by";
    /// On a ManagedClustersUpgrade: a new value retries the clusters that have failed.
    pub const UPGRADE_RETRY: &str = "cluster.open-cluster-management.io/mcu-retry";
    /// On a ManagedCluster: its image mirrors.
    pub const IMAGE_REGISTRIES: &str = "open-cluster-management.io/image-registries";
}

/// Finalizers of a ManagedClusterAddOn.
pub mod finalizers {
    /// Kept until the pre-delete manifests have completed.
    pub const ADDON_PRE_DELETE: &str = "addon.open-cluster-management.io/addon-pre-delete";
    /// Kept until the pre-delete manifests on the hosting cluster have completed.
    pub const HOSTING_ADDON_PRE_DELETE: &str = "addon.open-cluster-management.io/hosting-addon-pre-delete";
    /// Kept until the works of the hosting cluster are deleted.
    pub const HOSTING_MANIFESTS_CLEANUP: &str = "addon.open-cluster-management.io/hosting-manifests-cleanup";
    /// Old spellings, removed whenever a finalizer is touched.
    pub const DEPRECATED: [&str; 3] = [
        "cluster.open-cluster-management.io/addon-pre-delete",
        "cluster.open-cluster-management.io/hosting-addon-pre-delete",
        "cluster.open-cluster-management.io/hosting-manifests-cleanup",
    ];
}

/// Condition types.
pub mod conditions {
    /// The add-on's agent works.
    pub const AVAILABLE: &str = "Available";
    /// The add-on's agent works, but not as it should.
    pub const DEGRADED: &str = "Degraded";
    /// The state of the last change on the cluster.
    pub const PROGRESSING: &str = "Progressing";
    /// The configuration of the cluster is known.
    pub const CONFIGURED: &str = "Configured";
    /// Everything is applied and available: the roll-up.
    pub const READY: &str = "Ready";
    /// The controllers are working on it, in kstatus' words.
    pub const RECONCILING: &str = "Reconciling";
    /// The controllers cannot go on, in kstatus' words.
    pub const STALLED: &str = "Stalled";
    /// The manifests of the add-on were written as works.
    pub const MANIFEST_APPLIED: &str = "ManifestApplied";
    /// The manifests for the hosting cluster were written as works.
    pub const HOSTING_MANIFEST_APPLIED: &str = "HostingManifestApplied";
    /// The pre-delete manifests have completed.
    pub const HOOK_MANIFEST_COMPLETED: &str = "HookManifestCompleted";
    /// The hosting cluster is a cluster of this hub.
    pub const HOSTING_CLUSTER_VALIDITY: &str = "HostingClusterValidity";
    /// The registration of the agent is set up.
    pub const REGISTRATION_APPLIED: &str = "RegistrationApplied";
    /// A certificate request of the agent is left alone, and why.
    pub const CERTIFICATE_REQUEST_REFUSED: &str = "CertificateRequestRefused";
    /// The objects for token registration are there.
    pub const TOKEN_INFRASTRUCTURE_READY: &str = "TokenInfrastructureReady";

    /// A ManifestWork was applied.
    pub const WORK_APPLIED: &str = "Applied";
    /// The objects of a ManifestWork are there.
    pub const WORK_AVAILABLE: &str = "Available";
    /// A ManagedCluster answers.
    pub const CLUSTER_AVAILABLE: &str = "ManagedClusterConditionAvailable";
    /// A Placement found its clusters.
    pub const PLACEMENT_SATISFIED: &str = "PlacementSatisfied";
}
