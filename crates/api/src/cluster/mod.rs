//! Kinds of `cluster.open-cluster-management.io`: clusters, sets of them, and how they are selected.
//!
//! Holds shapes only; placements are scheduled elsewhere.

mod managed_cluster;
mod managed_cluster_set;
mod managed_cluster_set_binding;
mod placement;
mod placement_decision;
mod upgrade;

pub use managed_cluster::{
    ClientConfig, ClusterClaim, ClusterVersion, ManagedCluster, ManagedClusterSpec, ManagedClusterStatus,
    ManagedNamespaceStatus, Taint,
};
pub use managed_cluster_set::{
    ManagedClusterSelector, ManagedClusterSet, ManagedClusterSetSpec, ManagedClusterSetStatus,
    ManagedNamespace,
};
pub use managed_cluster_set_binding::{
    ManagedClusterSetBinding, ManagedClusterSetBindingSpec, ManagedClusterSetBindingStatus,
};
pub use placement::{
    AddOnScore, CelSelector, ClaimSelector, ClusterPredicate, ClusterSelector, DecisionGroup,
    DecisionGroupStatus, DecisionStrategy, GroupClusterSelector, GroupStrategy, Placement, PlacementSpec,
    PlacementStatus, PlacementToleration, PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate,
    SpreadConstraint, SpreadPolicy,
};
pub use placement_decision::{
    ClusterDecision, PlacementDecision, PlacementDecisionFields, PlacementDecisionStatus,
};
pub use upgrade::{
    ManagedClustersUpgrade, ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus, OcpOperators,
    OperatorRef, UpgradeAction, UpgradeActionSummary, UpgradeCanary, UpgradeClusterSelector,
    UpgradeClusterStatus, UpgradePlan, UpgradeSettled, UpgradeStateCounts, UpgradeStrategy, UpgradeSummary,
    UpgradeVersion, UpgradeWave, UpgradeWindow,
};

/// API group of these kinds.
pub const GROUP: &str = "cluster.open-cluster-management.io";
