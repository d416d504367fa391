//! Kinds of `cluster.open-cluster-management.io`: clusters, sets of them, and how they are selected.
//!
//! Holds shapes only; placements are scheduled elsewhere.

mod managed_cluster;
mod managed_cluster_set;
mod placement;
mod upgrade;

pub use managed_cluster::{
    ClientConfig, ClusterClaim, ClusterVersion, ManagedCluster, ManagedClusterSpec, ManagedClusterStatus,
    ManagedNamespaceStatus, Taint,
};
pub use managed_cluster_set::{
    ManagedClusterSelector, ManagedClusterSet, ManagedClusterSetBinding, ManagedClusterSetBindingSpec,
    ManagedClusterSetBindingStatus, ManagedClusterSetSpec, ManagedClusterSetStatus, ManagedNamespace,
};
pub use placement::{
    AddOnScore, CelSelector, ClaimSelector, ClusterDecision, ClusterPredicate, ClusterSelector,
    DecisionGroup, DecisionGroupStatus, DecisionStrategy, GroupClusterSelector, GroupStrategy, Placement,
    PlacementDecision, PlacementDecisionFields, PlacementDecisionStatus, PlacementSpec, PlacementStatus,
    PlacementToleration, PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate, SpreadConstraint,
    SpreadPolicy,
};
pub use upgrade::{
    ManagedClustersUpgrade, ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus, OcpOperators,
    OperatorRef, UpgradeAction, UpgradeActionSummary, UpgradeCanary, UpgradeClusterSelector,
    UpgradeClusterStatus, UpgradePlan, UpgradeSettled, UpgradeStage, UpgradeStageStatus, UpgradeStateCounts,
    UpgradeStrategy, UpgradeSummary, UpgradeVersion, UpgradeWave, UpgradeWindow,
};

/// API group of these kinds.
pub const GROUP: &str = "cluster.open-cluster-management.io";
