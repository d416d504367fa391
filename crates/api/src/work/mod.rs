//! Kinds of `work.open-cluster-management.io`: what is applied on managed clusters.
//!
//! Holds shapes only; the work agents own their behaviour.

mod manifest_config;
mod manifest_work;
mod manifest_work_replica_set;
mod manifest_work_status;

pub use manifest_config::{
    ConditionRule, FeedbackRule, IgnoreFields, JsonPath, ManifestConfig, ResourceIdentifier, ServerSideApply,
    UpdateStrategy,
};
pub use manifest_work::{
    DeleteOption, Executor, ExecutorServiceAccount, ExecutorSubject, ManifestWork, ManifestWorkSpec,
    OrphaningRule, SelectivelyOrphan, Workload,
};
pub use manifest_work_replica_set::{
    LocalPlacementReference, ManifestWorkReplicaSet, ManifestWorkReplicaSetSpec, ManifestWorkReplicaSetStatus,
};
pub use manifest_work_status::{
    FeedbackValue, FieldValue, ManifestCondition, ManifestResourceMeta, ManifestResourceStatus,
    ManifestWorkStatus, StatusFeedback,
};

/// API group of these kinds.
pub const GROUP: &str = "work.open-cluster-management.io";
/// Version of these kinds.
pub const VERSION: &str = "v1";
