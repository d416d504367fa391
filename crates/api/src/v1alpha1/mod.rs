//! Kinds of `addon.open-cluster-management.io/v1alpha1`, the storage version.
//!
//! One file per kind; fields of Open Cluster Management first, fields of this product after them.

mod addon_deployment_config;
mod addon_hub_config;
mod addon_policy;
mod addon_template;
mod cluster_management_addon;
mod managed_cluster_addon;
mod policy_match;
mod rollout;

pub use addon_deployment_config::{
    AddOnDeploymentConfig, AddOnDeploymentConfigSpec, ContainerResourceRequirements, CustomizedVariable,
    ImageMirror, NodePlacement, ProxyConfig, ResourceClaim, ResourceRequirements,
};
pub use addon_hub_config::{AddOnHubConfig, AddOnHubConfigSpec};
pub use addon_policy::{
    AddOnPolicy, AddOnPolicySpec, AddOnPolicyStatus, AuditAnnotation, MatchCondition, Mutation, ParamKind,
    Patched, PolicyException, SchemaCheck, Validation, Variable,
};
pub use addon_template::{
    AddOnTemplate, AddOnTemplateSpec, CurrentClusterBinding, CustomSignerRegistration, HubPermission,
    KubeClientRegistration, RegistrationSpec, RoleRef, SigningCa, SingleNamespaceBinding, Subject,
};
pub use cluster_management_addon::{
    AddOnDependency, ClusterManagementAddOn, ClusterManagementAddOnSpec, ClusterManagementAddOnStatus,
    ConfigMeta, Configuration, DefaultConfigReference, InstallConfigReference, InstallProgression,
    InstallStrategy, PlacementStrategy,
};
pub use managed_cluster_addon::{
    AddOnMeta, ConfigCoordinates, ConfigReference, HealthCheck, ManagedClusterAddOn, ManagedClusterAddOnSpec,
    ManagedClusterAddOnStatus, ObjectReference, RegistrationConfig,
};
pub use policy_match::{MatchConstraints, MatchResources, ResourceRule};
pub use rollout::{
    ConfigurationRollout, CreationTemplate, MandatoryDecisionGroup, RollingUpdateWithPlacement, RolloutAll,
    RolloutProgressive, RolloutProgressivePerGroup, RolloutStrategy,
};

/// API group of these kinds.
pub const GROUP: &str = "addon.open-cluster-management.io";
/// Version of these kinds.
pub const VERSION: &str = "v1alpha1";
