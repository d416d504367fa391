//! ManagedClusterAddOn: an add-on on one cluster. The namespace is the name of the cluster.
//!
//! Holds its wire shape only; conditions and references are decided by `plan`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::addon_template::Subject;
use crate::lenient::{absent_is_default, no_default, null_is_default};
use crate::schemas::{self, DNS_LABEL, SIGNER_NAME};
use crate::{AddOnConfig, Condition, ConfigReferent, ConfigSpecHash, GroupResource};

/// The desired state of the add-on on this cluster.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ManagedClusterAddOn",
    plural = "managedclusteraddons",
    shortname = "mca",
    shortname = "mcas",
    namespaced,
    status = "ManagedClusterAddOnStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManagedClusterAddOn installs an add-on on the cluster that its namespace is named after.",
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Available")].status"#
    ),
    printcolumn(
        name = "Degraded",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Degraded")].status"#
    ),
    printcolumn(
        name = "Progressing",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Progressing")].status"#
    ),
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
    printcolumn(
        name = "Desired",
        type_ = "string",
        json_path = ".spec.desiredVersion",
        priority = 1
    ),
    printcolumn(
        name = "Current",
        type_ = "string",
        json_path = ".status.currentVersion",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        priority = 1
    )
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct ManagedClusterAddOnSpec {
    /// Namespace on the managed cluster that the agent is installed into.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 63),
        extend("default" = crate::names::DEFAULT_INSTALL_NAMESPACE, "pattern" = DNS_LABEL)
    )]
    pub install_namespace: Option<String>,

    /// Configurations of the add-on on this cluster; they override everything else of the same type.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<AddOnConfig>,

    /// Version of the add-on that this cluster should run; the add-on's default version when empty.
    pub desired_version: String,
}

absent_is_default!(ManagedClusterAddOnSpec);

/// What the controllers and the agent observed about the add-on on this cluster.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterAddOnStatus {
    /// The metadata.generation that this status describes.
    pub observed_generation: Option<i64>,

    /// State of the add-on on this cluster.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// Namespace on the managed cluster that the agent registers and reports from.
    pub namespace: String,

    /// Objects on the hub that belong to this add-on.
    pub related_objects: Vec<ObjectReference>,

    /// Name and description of the add-on, for people.
    pub add_on_meta: Option<AddOnMeta>,

    /// Deprecated: use configReferences.
    pub add_on_configuration: Option<ConfigCoordinates>,

    /// Types of configuration that may be overridden on this cluster.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["group", "resource"]))]
    pub supported_configs: Vec<GroupResource>,

    /// Configurations in effect on this cluster, desired and applied.
    pub config_references: Vec<ConfigReference>,

    /// How the agent registers with the hub.
    pub registrations: Vec<RegistrationConfig>,

    /// How the agent authenticates to the hub.
    #[schemars(extend("enum" = ["csr", "token"]))]
    pub kube_client_driver: String,

    /// How the health of the agent is determined.
    pub health_check: Option<HealthCheck>,

    /// Version that is running; unknown while it changes.
    pub current_version: String,

    /// Version that was requested before; unknown if that was not a valid one.
    pub last_version: String,
}

/// An object on the hub.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["group", "name", "resource"]))]
pub struct ObjectReference {
    /// API group of the object; empty for the core group.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    #[serde_with(skip_apply)]
    pub group: String,

    /// Plural name of the object's type.
    pub resource: String,

    /// Namespace of the object; empty for a cluster-scoped one.
    pub namespace: String,

    /// Name of the object.
    pub name: String,
}

/// Name and description of an add-on, for people.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AddOnMeta {
    /// Name to show.
    pub display_name: String,

    /// What the add-on does.
    pub description: String,
}

/// Deprecated way to name the configuration of an add-on.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigCoordinates {
    /// Name of the CRD of the configuration.
    pub crd_name: String,

    /// Name of the configuration.
    pub cr_name: String,

    /// Generation of the configuration that was last observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_observed_generation: Option<i64>,
}

/// One configuration in effect on a cluster: which one is desired and which one the agent confirmed.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "resource"]))]
pub struct ConfigReference {
    /// API group of the configuration type; empty for the core group.
    #[serde(deserialize_with = "null_is_default")]
    #[serde_with(skip_apply)]
    pub group: String,

    /// Plural name of the configuration type.
    #[schemars(length(min = 1))]
    pub resource: String,

    /// Mirror of the desired configuration's namespace.
    pub namespace: String,

    /// Mirror of the desired configuration's name.
    #[schemars(length(min = 1))]
    pub name: String,

    /// The desired configuration.
    pub desired_config: Option<ConfigSpecHash>,

    /// The configuration that the agent last confirmed.
    pub last_applied_config: Option<ConfigSpecHash>,

    /// Generation of the configuration that was last observed.
    pub last_observed_generation: Option<i64>,

    /// Mirror of desiredConfig.specHash.
    pub desired_config_spec_hash: String,

    /// Mirror of lastAppliedConfig.specHash.
    pub last_applied_config_spec_hash: String,
}

/// How the agent registers with the hub.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["signerName"]))]
pub struct RegistrationConfig {
    /// Signer of the agent's certificate.
    #[schemars(length(min = 5, max = 571), extend("pattern" = SIGNER_NAME))]
    pub signer_name: String,

    /// Subject of the agent's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
}

/// How the health of the agent is determined.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HealthCheck {
    /// Lease reads a lease that the agent renews; Customized leaves it to the add-on.
    #[schemars(extend("default" = "Lease", "enum" = ["Lease", "Customized"]))]
    pub mode: String,
}

impl ConfigReference {
    /// Returns the type of the configuration.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.resource.clone())
    }

    /// Returns the namespace and name of the configuration from the deprecated flat fields.
    pub fn referent(&self) -> ConfigReferent {
        ConfigReferent::new(self.namespace.clone(), self.name.clone())
    }
}
