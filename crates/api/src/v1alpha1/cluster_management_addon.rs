//! ClusterManagementAddOn: an add-on as the whole hub sees it.
//!
//! Holds its wire shape only; install, configuration and rollout are decided by `plan`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::managed_cluster_addon::{AddOnMeta, ConfigCoordinates};
use super::rollout::{ConfigurationRollout, CreationTemplate, RolloutStrategy};
use crate::lenient::{absent_is_default, null_is_default};
use crate::schemas;
use crate::{
    AddOnConfig, Condition, ConfigReferent, ConfigSpecHash, GroupResource, LabelSelector, PlacementRef,
};

/// What the add-on is, where it is installed and how it is configured.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterManagementAddOn",
    plural = "clustermanagementaddons",
    shortname = "cma",
    shortname = "cmas",
    status = "ClusterManagementAddOnStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ClusterManagementAddOn registers an add-on on the hub. Its name is the name of the add-on.",
    printcolumn(
        name = "DISPLAY NAME",
        type_ = "string",
        json_path = ".spec.addOnMeta.displayName"
    ),
    printcolumn(
        name = "CRD NAME",
        type_ = "string",
        json_path = ".spec.addOnConfiguration.crdName"
    ),
    printcolumn(name = "Install", type_ = "string", json_path = ".spec.installStrategy.type"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = ".status.defaultVersion",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    )
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct ClusterManagementAddOnSpec {
    /// Name and description of the add-on, for people.
    pub add_on_meta: Option<AddOnMeta>,

    /// Deprecated: use supportedConfigs.
    pub add_on_configuration: Option<ConfigCoordinates>,

    /// Types of configuration that the add-on understands, each with at most one default.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["group", "resource"]))]
    pub supported_configs: Vec<ConfigMeta>,

    /// On which clusters the add-on is installed.
    #[schemars(extend("default" = {"type": "Manual"}))]
    pub install_strategy: Option<InstallStrategy>,

    /// Add-ons that have to run on a cluster before this one is installed or changed there. OCM has proposed this field; its CRD does not
    /// have it yet.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<AddOnDependency>,

    /// Configurations of the add-on on every cluster, and how a change of them is rolled out.
    pub configuration: Option<Configuration>,
}

absent_is_default!(ClusterManagementAddOnSpec);

/// An add-on that another one depends on.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct AddOnDependency {
    /// Name of the add-on.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Required waits for the add-on; Optional does not.
    #[serde(rename = "type")]
    #[schemars(extend("default" = "Required", "enum" = ["Required", "Optional"]))]
    pub type_: String,

    /// What does not work without the add-on.
    pub message: String,
}

/// A type of configuration, with the default object of that type.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["resource"]))]
pub struct ConfigMeta {
    /// API group of the configuration type; empty for the core group.
    #[serde(deserialize_with = "null_is_default")]
    #[serde_with(skip_apply)]
    pub group: String,

    /// Plural name of the configuration type, such as addondeploymentconfigs.
    #[schemars(length(min = 1))]
    pub resource: String,

    /// The configuration that clusters use unless a more specific one is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_config: Option<ConfigReferent>,
}

/// On which clusters the add-on is installed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct InstallStrategy {
    /// Manual leaves it to users, Placements follows placements, ClusterLabelSelector follows the labels of clusters.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("default" = "Manual", "enum" = ["Manual", "Placements", "ClusterLabelSelector"]))]
    pub type_: String,

    /// Placements that select the clusters when the type is Placements. Later entries win where they overlap.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace", "name"]))]
    pub placements: Vec<PlacementStrategy>,

    /// Labels that select the clusters when the type is ClusterLabelSelector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schemas::label_selector")]
    pub label_selector: Option<LabelSelector>,
}

/// A placement, with the configurations and the rollout of its clusters.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct PlacementStrategy {
    /// Namespace of the placement.
    #[schemars(length(min = 1))]
    pub namespace: String,

    /// Name of the placement.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Configurations of the add-on on the selected clusters; they override the defaults of the same type.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<AddOnConfig>,

    /// How a change of configuration is rolled out to the selected clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"type": "All"}))]
    pub rollout_strategy: Option<RolloutStrategy>,

    /// The spec that a ManagedClusterAddOn of a selected cluster is created with.
    #[serde(rename = "addonSpec", skip_serializing_if = "Option::is_none")]
    pub addon_spec: Option<CreationTemplate>,

    /// Another name of addonSpec. Setting both to different content is rejected.
    #[serde(rename = "addonTemplate", skip_serializing_if = "Option::is_none")]
    pub addon_template: Option<CreationTemplate>,
}

/// Configurations of the add-on on every cluster, and how a change of them is rolled out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Configuration {
    /// Default configurations. For the same type they win over supportedConfigs.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<AddOnConfig>,

    /// How a change of these configurations is rolled out. A change during a rollout starts a new rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout_strategy: Option<ConfigurationRollout>,
}

/// What the controllers observed about the add-on.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterManagementAddOnStatus {
    /// The metadata.generation that this status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// State of the add-on on all its clusters.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// Default configurations with their hashes. The spelling of the key is historical.
    #[serde(
        rename = "defaultconfigReferences",
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[serde_with(skip_apply)]
    pub default_config_references: Vec<DefaultConfigReference>,

    /// Progress of the rollout, one entry per placement.
    pub install_progressions: Vec<InstallProgression>,

    /// Versions of the add-on that can be requested, lowest first.
    pub supported_versions: Vec<String>,

    /// Version that is installed where none is requested.
    pub default_version: String,
}

/// A default configuration and the hash of its content.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["resource"]))]
pub struct DefaultConfigReference {
    /// API group of the configuration type; empty for the core group.
    #[serde(deserialize_with = "null_is_default")]
    #[serde_with(skip_apply)]
    pub group: String,

    /// Plural name of the configuration type.
    #[schemars(length(min = 1))]
    pub resource: String,

    /// The desired configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<ConfigSpecHash>,
}

/// Progress of the rollout over the clusters of one placement.
#[serde_with::apply(
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct InstallProgression {
    /// Namespace of the placement.
    #[schemars(length(min = 1))]
    pub namespace: String,

    /// Name of the placement.
    #[schemars(length(min = 1))]
    pub name: String,

    /// Configurations of the placement's clusters.
    pub config_references: Vec<InstallConfigReference>,

    /// State of the rollout.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}

/// One configuration of a placement: desired, applied on every cluster, and last known good.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["resource"]))]
pub struct InstallConfigReference {
    /// API group of the configuration type; empty for the core group.
    #[serde(deserialize_with = "null_is_default")]
    #[serde_with(skip_apply)]
    pub group: String,

    /// Plural name of the configuration type.
    #[schemars(length(min = 1))]
    pub resource: String,

    /// The desired configuration.
    pub desired_config: Option<ConfigSpecHash>,

    /// The configuration that every cluster of the placement last confirmed.
    pub last_applied_config: Option<ConfigSpecHash>,

    /// The configuration of the last rollout that completed.
    pub last_known_good_config: Option<ConfigSpecHash>,
}

impl AddOnDependency {
    /// The type of a dependency that no change waits for.
    pub const OPTIONAL: &str = "Optional";
}

impl ConfigMeta {
    /// Returns the type of the configuration.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.resource.clone())
    }
}

impl PlacementStrategy {
    /// Returns the place of the placement.
    pub fn placement(&self) -> PlacementRef {
        PlacementRef {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl InstallProgression {
    /// Returns the place of the placement.
    pub fn placement(&self) -> PlacementRef {
        PlacementRef {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl DefaultConfigReference {
    /// Returns the type of the configuration.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.resource.clone())
    }
}

impl InstallConfigReference {
    /// Returns the type of the configuration.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.resource.clone())
    }
}
