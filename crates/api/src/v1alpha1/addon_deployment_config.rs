//! AddOnDeploymentConfig: settings of an add-on's agent that most add-ons share.
//!
//! Holds its wire shape only; `plan` substitutes the values into templates.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::IntOrString;
use crate::lenient::{absent_is_default, no_default, null_is_default};
use crate::schemas;

/// Settings of an add-on's agent.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnDeploymentConfig",
    plural = "addondeploymentconfigs",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "AddOnDeploymentConfig holds settings that the agents of most add-ons share."
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct AddOnDeploymentConfigSpec {
    /// Variables that the add-on's manifests may use.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub customized_variables: Vec<CustomizedVariable>,

    /// On which nodes the agent runs.
    pub node_placement: Option<NodePlacement>,

    /// Mirrors that the agent's images are pulled from.
    pub registries: Option<Vec<ImageMirror>>,

    /// Proxy that the agent uses.
    pub proxy_config: Option<ProxyConfig>,

    /// Namespace on the managed cluster that the agent is installed into; explicitly empty to keep the namespaces of the manifests.
    #[schemars(
        length(max = 63),
        extend(
            "default" = crate::names::DEFAULT_INSTALL_NAMESPACE,
            "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
        )
    )]
    pub agent_install_namespace: Option<String>,

    /// Resources of the agent's containers. The last entry that matches a container wins.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["containerID"]))]
    pub resource_requirements: Vec<ContainerResourceRequirements>,
}

absent_is_default!(AddOnDeploymentConfigSpec);

/// A variable that the add-on's manifests may use.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct CustomizedVariable {
    /// Name of the variable, as a C identifier.
    #[schemars(length(max = 255), extend("pattern" = "^[a-zA-Z_][_a-zA-Z0-9]*$"))]
    pub name: String,

    /// Value of the variable.
    #[schemars(length(max = 1024))]
    pub value: String,
}

/// On which nodes the agent runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodePlacement {
    /// Labels that a node must carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,

    /// Taints that the agent tolerates.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::tolerations")]
    pub tolerations: Vec<Toleration>,
}

/// A mirror for images that start with a source.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["mirror"]))]
pub struct ImageMirror {
    /// What the source is replaced with.
    pub mirror: String,

    /// The beginning of the image names that are replaced; every image when empty.
    pub source: String,
}

/// Proxy that the agent uses.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProxyConfig {
    /// Proxy for HTTP requests.
    pub http_proxy: String,

    /// Proxy for HTTPS requests.
    pub https_proxy: String,

    /// Certificate authorities of the proxy, PEM in base64.
    #[serde(
        rename = "caBundle",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("format" = "byte"))]
    #[serde_with(skip_apply)]
    pub ca_bundle: String,

    /// Hosts that are reached without the proxy, separated by commas.
    pub no_proxy: String,
}

/// Resources of the containers that an expression matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["containerID", "resources"]))]
pub struct ContainerResourceRequirements {
    /// The containers, as resource:name:container where each part may be an asterisk.
    #[serde(
        rename = "containerID",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend(
        "pattern" = r"^(deployments|daemonsets|statefulsets|replicasets|jobs|cronjobs|pods|\*):.+:.+$"
    ))]
    pub container_id: String,

    /// The resources of these containers.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub resources: ResourceRequirements,
}

/// Resources of a container.
#[serde_with::apply(BTreeMap => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceRequirements {
    /// Claims on devices of the pod.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub claims: Vec<ResourceClaim>,

    /// Limits of the container.
    #[schemars(schema_with = "schemas::quantities")]
    pub limits: BTreeMap<String, IntOrString>,

    /// Requests of the container.
    #[schemars(schema_with = "schemas::quantities")]
    pub requests: BTreeMap<String, IntOrString>,
}

/// A claim on a device of the pod.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct ResourceClaim {
    /// Name of the claim in the pod.
    pub name: String,

    /// Name of the request in the claim; all of them when empty.
    pub request: String,
}
