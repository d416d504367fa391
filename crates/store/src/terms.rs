//! Annotations, labels and condition types of our own that plans write and the store reads back.
//!
//! Those that other programs know are in `api::names`.

use crate::kind::Kind;
pub use api::names::RESERVED_NO_DEFAULT as NO_DEFAULT;
pub use api::names::annotations::{
    ADDON_PRE_DELETE as PRE_DELETE, CONFIG_SPEC_HASH as CONFIG_HASHES,
    CONFIG_SPEC_HASH_MIRROR as CONFIG_HASHES_MIRROR, CSR_USER, HOSTING_CLUSTER_NAME as HOSTING_CLUSTER,
};
pub use api::names::finalizers;
pub use api::names::labels::{
    ADDON_NAME, ADDON_NAMESPACE, ADDON_VERSION, CLUSTER_NAME, FEATURE_PREFIX, TEMPLATE_VERSION,
    TOKEN_ADDON_NAME,
};

/// Name under which the API server records what the controllers write.
pub const FIELD_MANAGER: &str = "tidegate";

/// Annotation on a `ManagedClusterAddOn` that an install strategy created: `<namespace>/<name>` of the placement, or
/// [`BY_LABELS`]. Only objects with this annotation are deleted when nothing selects their cluster any more.
pub const INSTALLED_BY: &str = "tidegate.io/installed-by";
/// Value of [`INSTALLED_BY`] when a label selector selects the cluster.
pub const BY_LABELS: &str = "label-selector";
/// Annotation on a `ManagedClusterAddOn` with [`INSTALLED_BY`]: the time since which nothing selects its cluster.
pub const DESELECTED_AT: &str = "tidegate.io/deselected-at";
/// Annotation on a `ManagedClusterAddOn`: which annotations of the cluster were copied to it, with a digest of each value.
pub const COPIED_ANNOTATIONS: &str = "tidegate.io/copied-annotations";
/// Annotation on a `ManagedCluster`: the add-ons, separated by commas, that no install strategy may install on it; `*` means all.
pub const OPT_OUT: &str = "tidegate.io/opt-out";
/// Annotation on a `ManagedClusterAddOn` that a placement installed: the version in the placement's template when
/// `spec.desiredVersion` was written. While both are equal, the version follows the placement.
pub const GIVEN_VERSION: &str = "tidegate.io/given-version";
/// Annotations of a `ManagedCluster` with this prefix are copied to its add-ons.
pub const COPIED_PREFIX: &str = "addon.open-cluster-management.io/";
/// Label on a role binding that was created for a template's permission: the index of the permission. Only role bindings with
/// this label are changed or deleted.
pub const PERMISSION: &str = "tidegate.io/permission";
/// Label on a ClusterRole or Role: agents may have it. Its only value is [`ALLOWED`].
pub const HUB_PERMISSIONS: &str = "tidegate.io/hub-permissions";
/// Value of [`HUB_PERMISSIONS`].
pub const ALLOWED: &str = "allowed";
/// Annotation on an `AddOnRollout` that the controllers created: there was one with settings, which was deleted.
pub const SETTINGS_DELETED: &str = "tidegate.io/settings-deleted";

/// An annotation on a `ClusterManagementAddOn` that an earlier version read, and the field that has replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replaced {
    /// Its key.
    pub annotation: &'static str,
    /// The field.
    pub field: &'static str,
    /// The kind of the object with the field.
    pub kind: Kind,
}

impl Replaced {
    const fn new(annotation: &'static str, field: &'static str) -> Self {
        Self {
            annotation,
            field,
            kind: Kind::Rollout,
        }
    }

    /// Tells where the setting stands now.
    pub fn told(self) -> String {
        let Self {
            annotation,
            field,
            kind,
        } = self;
        let whose = if kind == Kind::Approval {
            "the RolloutApproval that waits"
        } else {
            "the AddOnRollout with the name of the add-on"
        };
        format!(
            "the annotation {annotation} is no longer supported: set {field} of {whose}, and remove the annotation"
        )
    }
}

/// Every annotation that was replaced.
pub const REPLACED: [Replaced; 8] = [
    Replaced::new("tidegate.io/approval-before", "spec.approvalBefore"),
    Replaced {
        annotation: "tidegate.io/approved",
        field: "spec.decision",
        kind: Kind::Approval,
    },
    Replaced::new("tidegate.io/depends-on", "spec.dependsOn"),
    Replaced::new("tidegate.io/on-failure", "spec.onFailure"),
    Replaced::new("tidegate.io/paused", "spec.pause"),
    Replaced::new("tidegate.io/promoted", "spec.promotedAt"),
    Replaced::new("tidegate.io/retried", "spec.retriedAt"),
    Replaced::new("tidegate.io/rollout-window", "spec.windows"),
];

/// Annotation on a `ClusterManagementAddOn`: the types that no cluster may override, `<resource>.<group>`, separated by commas.
pub const PROTECTED_CONFIGS: &str = "tidegate.io/protected-configs";
/// Annotation on a `ClusterManagementAddOn`: the types whose layers are merged: each layer sets what the layers above it leave unset,
/// as `<resource>.<group>`, separated by commas. Only `AddOnDeploymentConfig` can be merged.
pub const MERGED_CONFIGS: &str = "tidegate.io/merged-configs";

/// Annotation on a `ClusterManagementAddOn`: until this time (RFC 3339, at most a day ahead) its removals have no budget, and do
/// not wait for proof that clusters were deleted.
pub const REMOVALS_ALLOWED_UNTIL: &str = "tidegate.io/removals-allowed-until";

/// Annotation on a `ClusterManagementAddOn`: `"true"` refuses to delete it while clusters have the add-on.
pub const DELETION_GUARD: &str = "tidegate.io/deletion-guard";

/// Label on a `ControllerRevision` in which Tidegate keeps content of an add-on: the name of the add-on, empty where it
/// is too long for a label.
pub const KEPT_CONTENT: &str = "tidegate.io/kept-content";
/// Annotation on a `ControllerRevision` with kept content: the field manager that wrote the content.
pub const EDITED_BY: &str = "tidegate.io/edited-by";
/// Annotation on a `ControllerRevision` with kept content: when the content was written.
pub const EDITED_AT: &str = "tidegate.io/edited-at";
/// Annotation of Kubernetes, on a configuration: the reason of the last change. `tidegate rollout history` shows it.
pub const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
/// Field of the data of such an object: the reason why there is no copy.
pub const NOT_KEPT: &str = "notKept";

/// Annotation on a `ManagedClusterAddOn`: `"true"` deletes it without its pre-delete hooks.
pub const SKIP_HOOKS: &str = "tidegate.io/skip-hooks";
/// Annotation on a `ManagedClusterAddOn`: how long its pre-delete hooks may take, `0` for no limit.
pub const HOOK_TIMEOUT: &str = "tidegate.io/hook-timeout";
/// Annotation on a `ManagedClusterAddOn`: what happens after the timeout of its hooks: `release` or `block`.
pub const HOOK_TIMEOUT_POLICY: &str = "tidegate.io/hook-timeout-policy";
/// Annotation on a `ManagedClusterAddOn` that is being deleted: how often its hooks failed, and when they last failed.
pub const HOOK_FAILED: &str = "tidegate.io/hook-failed";
/// Annotation on a work of pre-delete hooks: the uid of the `ManagedClusterAddOn` that they run for.
pub const HOOK_OF: &str = "tidegate.io/hook-of";

/// Returns the name of the work with the pre-delete hooks of an add-on.
pub fn hook_work(addon: &str) -> String {
    format!("addon-{addon}-pre-delete")
}

/// Condition of a `ManagedClusterAddOn` whose works are rendered from all of its `AddOnDeploymentConfig`s, not from the first
/// alone. It is set and removed with an assignment.
pub const MERGED: &str = "ConfigurationsMerged";
/// Condition of an entry of `status.installProgressions` whose rollout may be undone: the whole content last known to be good.
pub const KNOWN_GOOD: &str = "KnownGood";
/// Condition of an entry of `status.installProgressions`: the content that was undone. While it is the desired content, its
/// clusters run the content of [`KNOWN_GOOD`].
pub const UNDONE: &str = "Undone";

/// Condition of an entry of `status.installProgressions` whose rollout waits for checks: the hash of the content that is being rolled
/// out, since the first cluster started.
pub const CHANGE_STARTED: &str = "ChangeStarted";

/// Condition of a `ManagedClusterAddOn` that records the last assignment.
pub const ASSIGNED: &str = "Assigned";
