//! ManagedClustersUpgrade: managed clusters that get a version of OpenShift, some of them before the others.
//!
//! Holds shapes only. The kind is proposed for this group and Open Cluster Management serves none of its name, so that its definition is
//! one of ours and can be installed beside theirs.

mod spec;
mod status;

pub use spec::{
    ManagedClustersUpgrade, ManagedClustersUpgradeSpec, OcpOperators, OperatorRef, UpgradeAction,
    UpgradeCanary, UpgradeClusterSelector, UpgradeStage, UpgradeStrategy, UpgradeVersion, UpgradeWindow,
};
pub use status::{
    ManagedClustersUpgradeStatus, UpgradeActionSummary, UpgradeClusterStatus, UpgradePlan, UpgradeSettled,
    UpgradeStageStatus, UpgradeStateCounts, UpgradeSummary, UpgradeWave,
};
