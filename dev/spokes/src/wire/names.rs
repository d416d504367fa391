//! Names that Open Cluster Management fixes: kinds, labels, annotations, taints, finalizers. No logic.

use kube::api::ApiResource;

const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";

/// A kind of the hub that this crate reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Namespace,
    Placement,
    PlacementDecision,
    ManifestWork,
    ManifestWorkReplicaSet,
    ManagedClusterAddOn,
}

impl Kind {
    /// Returns where the API serves this kind.
    pub(crate) fn resource(self) -> ApiResource {
        let (group, version, kind) = self.identity();
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: self.plural().to_owned(),
        }
    }

    /// Returns the plural, as users type it.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::ManagedCluster => "managedclusters",
            Self::ManagedClusterSet => "managedclustersets",
            Self::ManagedClusterSetBinding => "managedclustersetbindings",
            Self::Namespace => "namespaces",
            Self::Placement => "placements",
            Self::PlacementDecision => "placementdecisions",
            Self::ManifestWork => "manifestworks",
            Self::ManifestWorkReplicaSet => "manifestworkreplicasets",
            Self::ManagedClusterAddOn => "managedclusteraddons",
        }
    }

    fn identity(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::ManagedCluster => (CLUSTER_GROUP, "v1", "ManagedCluster"),
            Self::ManagedClusterSet => (CLUSTER_GROUP, "v1beta2", "ManagedClusterSet"),
            Self::ManagedClusterSetBinding => (CLUSTER_GROUP, "v1beta2", "ManagedClusterSetBinding"),
            Self::Namespace => ("", "v1", "Namespace"),
            Self::Placement => (CLUSTER_GROUP, "v1beta1", "Placement"),
            Self::PlacementDecision => (CLUSTER_GROUP, "v1beta1", "PlacementDecision"),
            Self::ManifestWork => ("work.open-cluster-management.io", "v1", "ManifestWork"),
            Self::ManifestWorkReplicaSet => (
                "work.open-cluster-management.io",
                "v1alpha1",
                "ManifestWorkReplicaSet",
            ),
            Self::ManagedClusterAddOn => (
                "addon.open-cluster-management.io",
                "v1alpha1",
                "ManagedClusterAddOn",
            ),
        }
    }
}

pub(crate) mod label {
    pub(crate) const CLUSTER_SET: &str = "cluster.open-cluster-management.io/clusterset";
    pub(crate) const CLUSTER_NAME: &str = "open-cluster-management.io/cluster-name";
    pub(crate) const OPENSHIFT_VERSION: &str = "openshiftVersion";
    pub(crate) const VENDOR: &str = "vendor";
    /// On a work: the replica set that has made it.
    pub(crate) const REPLICA_SET: &str = "work.open-cluster-management.io/manifestworkreplicaset";
    /// On a work that a replica set has made: for which of its placements.
    pub(crate) const PLACEMENT_NAME: &str = "work.open-cluster-management.io/placementname";
    /// On a work: the part of an upgrade that it is.
    pub(crate) const UPGRADE_STAGE: &str = "cluster.open-cluster-management.io/mcu-stage";
    pub(crate) const PLACEMENT: &str = "cluster.open-cluster-management.io/placement";
    pub(crate) const GROUP_INDEX: &str = "cluster.open-cluster-management.io/decision-group-index";
    pub(crate) const GROUP_NAME: &str = "cluster.open-cluster-management.io/decision-group-name";
}

pub(crate) mod annotation {
    /// `"true"` takes a Placement out of the scheduler's hands.
    pub(crate) const SCHEDULING_DISABLED: &str =
        "cluster.open-cluster-management.io/experimental-scheduling-disable";
    /// What goes wrong on a simulated cluster: one fault a line.
    pub(crate) const FAULTS: &str = crate::FAULTS_ANNOTATION;
}

pub(crate) mod taint {
    /// The hub puts this on a cluster whose agent went silent.
    pub(crate) const UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";
}

pub(crate) mod finalizer {
    /// Holds a `ManifestWork` until its cluster has removed what it applied.
    pub(crate) const WORK: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";
}
