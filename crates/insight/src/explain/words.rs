//! The words that objects on the hub carry: names of annotations, labels and finalizers, beside the reasons of conditions.
//!
//! Decides what each of them says to a user who meets it in `kubectl get`. A test walks what the code can write
//! (`tests/pure/words.rs`), so that none is without a sentence.

use api::reason::Reason;

/// A word of an object on the hub, what it is, and what it says.
#[derive(Clone, Copy)]
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
    /// Names of annotations, labels and finalizers.
    NAMES,
    "an annotation" {
        "tidegate.io/settings-deleted": "On an AddOnRollout: the controllers created it because an AddOnRollout with settings was deleted. No cluster of the add-on starts until you remove the annotation. Apply the settings again first if you need them.";
        "tidegate.io/v1alpha1-only": "On an add-on object in v1beta1: fields that only v1alpha1 has, so that a conversion loses nothing. Do not edit it.";
        "tidegate.io/v1beta1-only": "On an add-on object in v1alpha1: fields that only v1beta1 has, so that a conversion loses nothing. Do not edit it.";
        "tidegate.io/deletion-guard": "On a ClusterManagementAddOn: with `true`, the webhook rejects its deletion while clusters have the add-on.";
        "tidegate.io/removals-allowed-until": "On a ClusterManagementAddOn: until this time (RFC 3339, at most a day ahead) the number of removals is not limited.";
        "tidegate.io/opt-out": "On a ManagedCluster: the add-ons, separated by commas, that no install strategy may install on it; `*` means all.";
        "tidegate.io/skip-hooks": "On a ManagedClusterAddOn: with `true`, it is deleted without its pre-delete hooks.";
        "tidegate.io/hook-timeout": "On a ManagedClusterAddOn: how long its pre-delete hooks may take, such as `10m`; `0` means indefinitely.";
        "tidegate.io/hook-timeout-policy": "On a ManagedClusterAddOn: what happens after the hook time-out: `release` or `block`.";
        "tidegate.io/hook-failed": "On a ManagedClusterAddOn that is being deleted, written by the controllers: how often its hooks have failed, and when they last failed.";
        "tidegate.io/hook-of": "On a ManifestWork of hooks, written by the controllers: the uid of the ManagedClusterAddOn that they run for.";
        "tidegate.io/installed-by": "On a ManagedClusterAddOn, written by the controllers: the placement that selected it, or `label-selector`. The controllers remove only add-ons with this annotation, and none that another field manager applies.";
        "tidegate.io/deselected-at": "On a ManagedClusterAddOn, written by the controllers: since when no placement selects its cluster. It is removed when the decision grace has passed.";
        "tidegate.io/copied-annotations": "On a ManagedClusterAddOn, written by the controllers: which annotations were copied from its cluster.";
        "tidegate.io/given-version": "On a ManagedClusterAddOn, written by the controllers: the version that its placement has set. While spec.desiredVersion is equal to it and no other field manager owns the field, the field follows the placement, also if the manager that applies the add-on omits it.";
        "tidegate.io/kept-content": "On a ControllerRevision, written by the controllers: it has content that an add-on ran successfully, to which a rollout can be rolled back. The value is the name of the add-on.";
        "tidegate.io/edited-by": "On a ControllerRevision with kept content: the field manager that wrote the content. `tidegate rollout history` shows it.";
        "tidegate.io/edited-at": "On a ControllerRevision with kept content: when the content was written.";
        "tidegate.io/signs-for": "On a Secret with a signer's certificate and key: the add-ons, separated by commas, that it may sign for.";
        "tidegate.io/audit-content": "On a report of the audit: a digest of its content.";
        "tidegate.io/audit-left-out": "On a report of the audit: the number of findings that are not listed.";
        "addon.open-cluster-management.io/lifecycle": "On a ClusterManagementAddOn: `addon-manager`, or absent: the hub manages the add-on; `tidegate`: only Tidegate manages it; `self` or any other value: its own manager manages it.";
        "addon.open-cluster-management.io/addon-pre-delete": "On a Job or Pod of an AddOnTemplate: it runs before the add-on is deleted. As a finalizer of a ManagedClusterAddOn: it blocks the deletion until these have completed.";
        "addon.open-cluster-management.io/deletion-orphan": "On a manifest: its object stays on the cluster when the add-on is removed.";
        "addon.open-cluster-management.io/values": "Values for add-ons that render charts; it is copied from a ManagedCluster to its add-ons.";
        "addon.open-cluster-management.io/hosting-cluster-name": "On a ManagedClusterAddOn: the cluster on which its agent runs instead.";
        "addon.open-cluster-management.io/v1alpha1-install-namespace": "The install namespace of a ManagedClusterAddOn as v1beta1 shows it.";
        "open-cluster-management.io/csr-user": "On a CertificateSigningRequest of the hub's gRPC server: the agent that requests the certificate. It is ignored on requests of any other user.";
        "open-cluster-management.io/config-spec-hash": "On a ManifestWork: the hashes of the configurations from which it was rendered.";
        "tidegate.io/placement-access": "On a ManagedClustersUpgrade: the signed record that its author may use placements in other namespaces. A user with permission to get them renews it with the value `renew`.";
        "tidegate.io/set-by": "On an AddOnRollout, RolloutProfile or RolloutFreeze, written by the webhook: who has set each pause or the freeze, and when. Omit it from manifests: the webhook replaces the value.";
        "cluster.open-cluster-management.io/mcu-retry": "On a ManagedClustersUpgrade: each new value retries the failed clusters once.";
        "open-cluster-management.io/image-registries": "On a ManagedCluster: image mirrors that AddOnTemplates are rendered with.";
        "configSpecHash": "On a ManifestWork: a mirror of open-cluster-management.io/config-spec-hash.";
        "configsSpecHash": "On a ManifestWork: another spelling of configSpecHash; it is read, but never written.";
        "tidegate.io/merged-configs": "On a ClusterManagementAddOn: types whose layers are merged: each layer sets the fields that the layers above it do not set. Written as <resource>.<group>; addondeploymentconfigs.addon.open-cluster-management.io is the only one.";
        "tidegate.io/protected-configs": "On a ClusterManagementAddOn: types that no cluster may override, as <resource>.<group>, separated by commas; with addonhubconfigs or addontemplates also the version.";
        "tidegate.io/added-fields": "On a CustomResourceDefinition of Open Cluster Management, by `tidegate definitions apply`: which fields and columns it has added, so that `revert` removes no others.";
        "tidegate.io/hub-without-ocm": "On a CustomResourceDefinition, by `tidegate crds --for-hub-without-ocm`: a kind of Open Cluster Management, for a hub without OCM.";
        "simulated-cluster/faults": "On a ManagedCluster that `tidegate dev` simulates: its simulated faults, one per line, as in `tidegate dev fault`.";
    }
    "a label" {
        "tidegate.io/permission": "On a RoleBinding, written by the controllers: the permission of the AddOnTemplate for which it was created.";
        "tidegate.io/hub-permissions": "On a Role or ClusterRole: `allowed` means that it may be bound to add-on agents.";
        "addon.open-cluster-management.io/version": "On an AddOnTemplate: its version of the add-on.";
        "addon.open-cluster-management.io/name": "On the objects of the token infrastructure: the add-on that they are for.";
        "addon.open-cluster-management.io/token-infrastructure": "On a ServiceAccount, Role or RoleBinding: it is part of the token infrastructure of an add-on.";
        "cluster.open-cluster-management.io/clusterset": "On a ManagedCluster: its cluster set.";
        "cluster.open-cluster-management.io/placement": "On a PlacementDecision: its placement.";
        "cluster.open-cluster-management.io/decision-group-index": "On a PlacementDecision: the index of its decision group.";
        "cluster.open-cluster-management.io/decision-group-name": "On a PlacementDecision: the name of its decision group.";
        "open-cluster-management.io/addon-name": "On a ManifestWork, a certificate request or a RoleBinding: the add-on that it is for.";
        "open-cluster-management.io/addon-namespace": "On a ManifestWork in the namespace of a hosting cluster: the namespace of its ManagedClusterAddOn.";
        "open-cluster-management.io/cluster-name": "On a certificate request: the cluster.";
        "open-cluster-management.io/addon-template-name": "On a RoleBinding: it was created for an AddOnTemplate.";
        "open-cluster-management.io/addon-version": "On a ManifestWork: the version of the add-on that it deploys.";
        "feature.open-cluster-management.io/addon-": "On a ManagedCluster, followed by the name of an add-on: the state of the add-on on the cluster (`available`, `unhealthy`, `unreachable`).";
    }
    "the name of a reporter" {
        "tidegate.io/controllers": "The reporter of events: the controllers.";
    }
    "a finalizer" {
        "addon.open-cluster-management.io/hosting-addon-pre-delete": "On a ManagedClusterAddOn: blocks its deletion until the pre-delete manifests on the hosting cluster have completed.";
        "addon.open-cluster-management.io/hosting-manifests-cleanup": "On a ManagedClusterAddOn: blocks its deletion until the works on the hosting cluster are deleted.";
        "cluster.open-cluster-management.io/addon-pre-delete": "An old spelling, removed when the finalizers are written.";
        "cluster.open-cluster-management.io/hosting-addon-pre-delete": "An old spelling, removed when the finalizers are written.";
        "cluster.open-cluster-management.io/hosting-manifests-cleanup": "An old spelling, removed when the finalizers are written.";
    }
}

/// Returns the reasons of conditions, which are a table of their own, and the names.
pub(super) fn terms() -> impl Iterator<Item = Term> {
    let reasons = Reason::ALL.iter().map(|reason| Term {
        word: reason.as_str(),
        kind: "a reason of conditions",
        says: reason.says(),
    });
    reasons.chain(NAMES.iter().copied())
}

/// Returns what a word says, whatever case it is written in.
pub(super) fn term(word: &str) -> Option<Term> {
    let bare = word.trim_end_matches('=');
    terms()
        .find(|term| term.word == bare)
        .or_else(|| terms().find(|term| term.word.eq_ignore_ascii_case(bare)))
        .or_else(|| terms().find(|term| term.word.ends_with('-') && bare.starts_with(term.word)))
}
