//! Wire forms of the hub kinds that simulated clusters read and write: only the fields this crate acts on. It never
//! decides anything, and it never fails on a field it does not know.

mod addon;
mod cluster;
mod condition;
mod names;
mod placement;
mod record;
mod replica_set;
mod selector;
mod work;

pub use addon::{AddOnSpec, AddOnStatus, ConfigType, HealthCheck, ManagedClusterAddOn};
pub use cluster::{
    Claim, ClusterSetSpec, ClusterSetStatus, ClusterSpec, ClusterStatus, ManagedCluster, ManagedClusterSet,
    ManagedClusterSetBinding, SelectorType, SetBindingSpec, SetBindingStatus, SetSelector, Taint,
};
pub use condition::{Condition, Truth, render_time};
pub(crate) use names::{Kind, annotation, finalizer, label, taint};
pub use placement::{
    CelSelector, ClusterSelector, Decision, DecisionGroup, DecisionGroupStatus, DecisionStatus,
    DecisionStrategy, GroupStrategy, Placement, PlacementDecision, PlacementSpec, PlacementStatus, Predicate,
    Toleration,
};
pub use record::{DecodeError, Meta, Record};
pub use replica_set::{
    ManifestWorkReplicaSet, PlacementRef, PlacementSummary, ReplicaSetSpec, ReplicaSetStatus,
    ReplicaSetSummary, RolloutStrategy,
};
pub use selector::{LabelSelector, Requirement, Selector, read as read_selector};
pub use work::{
    ConditionRule, DeleteOption, FeedbackRule, FeedbackValue, FieldValue, JsonPathRule, ManifestConfig,
    ManifestStatus, ManifestWork, OrphaningRule, ResourceIdentifier, ResourceMeta, ResourceStatus,
    SelectivelyOrphans, ServerSideApply, StatusFeedback, UpdateStrategy, WorkSpec, WorkStatus, Workload,
};
