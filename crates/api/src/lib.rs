//! Wire types of every kind that Tidegate reads or writes, the names that go with them, and the CRDs made from them.
//!
//! Holds shapes, never decisions: what a user may get wrong stays text here and is parsed by `model`.
//! `v1alpha1` is the storage version; `v1beta1` is derived from it for hubs of our own. Objects go from one to the other in `conversion`.
#![expect(
    clippy::doc_markdown,
    reason = "doc comments become descriptions in the definitions, where backticks are noise"
)]
#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns of one type repeat it, and have to"
)]

mod addon_rollout;
pub mod cluster;
pub mod conversion;
mod crds;
pub mod definitions;
pub mod hash;
mod json_schemas;
mod lenient;
pub mod names;
pub mod output;
pub mod reason;
mod rollout_approval;
mod rollout_check;
mod rollout_freeze;
mod rollout_profile;
mod rollout_settings;
mod schemas;
mod shared;
pub mod v1alpha1;
mod v1beta1;
pub mod work;

pub use addon_rollout::{
    AddOnRollout, AddOnRolloutSpec, AddOnRolloutStatus, RolloutClusters, RolloutPlacement,
};
pub use crds::{crds, crds_yaml, is_ours, through_type};
pub use json_schemas::{EVERYTHING, json_schemas};
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    Condition, LabelSelector, LabelSelectorRequirement,
};
pub use rollout_approval::{
    ApprovalDecision, RolloutApproval, RolloutApprovalSpec, RolloutApprovalStatus, approval_name,
    upgrade_approval_name,
};
pub use rollout_check::{
    CheckQuery, ExternalCheck, PrometheusCheck, RolloutCheck, RolloutCheckSpec, RolloutCheckStatus,
};
pub use rollout_freeze::{RolloutFreeze, RolloutFreezeSpec};
pub use rollout_profile::{ClusterWindows, RolloutProfile, RolloutProfileSpec};
pub use rollout_settings::{PlacementRolloutSettings, RolloutActions, RolloutPause, RolloutSettings};
pub use shared::{AddOnConfig, ConfigReferent, ConfigSpecHash, GroupResource, IntOrString, PlacementRef};
pub use v1beta1::{Converter, serve_v1beta1};
