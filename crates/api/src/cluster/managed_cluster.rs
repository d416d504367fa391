//! ManagedCluster: a cluster that registered with the hub.
//!
//! Holds its wire shape only.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{absent_is_default, null_is_default};
use crate::schemas::{self, DNS_LABEL, QUALIFIED_NAME};
use crate::{Condition, IntOrString};

/// Settings of the cluster on the hub.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1",
    kind = "ManagedCluster",
    plural = "managedclusters",
    shortname = "mcl",
    shortname = "mcls",
    status = "ManagedClusterStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManagedCluster is a cluster that registered with the hub. The namespace of the same name belongs to it.",
    printcolumn(
        name = "Hub Accepted",
        type_ = "boolean",
        json_path = ".spec.hubAcceptsClient"
    ),
    printcolumn(
        name = "Managed Cluster URLs",
        type_ = "string",
        json_path = ".spec.managedClusterClientConfigs[*].url"
    ),
    printcolumn(
        name = "Joined",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="ManagedClusterJoined")].status"#
    ),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct ManagedClusterSpec {
    /// Whether the hub accepts the cluster's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_accepts_client: Option<bool>,

    /// How often the cluster's agents renew their lease, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 60))]
    pub lease_duration_seconds: Option<i32>,

    /// Addresses of the cluster's API server.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub managed_cluster_client_configs: Vec<ClientConfig>,

    /// Marks that keep placements away unless they tolerate them.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

absent_is_default!(ManagedClusterSpec);

/// An address of the cluster's API server.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["url"]))]
pub struct ClientConfig {
    /// The address.
    pub url: String,

    /// Certificate authorities of the API server, PEM in base64.
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: String,
}

/// A mark that keeps placements away unless they tolerate it.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["effect", "key"]))]
pub struct Taint {
    /// Key of the taint.
    #[schemars(length(max = 316), extend("pattern" = QUALIFIED_NAME))]
    pub key: String,

    /// Value of the taint.
    #[schemars(length(max = 1024))]
    pub value: String,

    /// NoSelect, PreferNoSelect or NoSelectIfNew.
    #[schemars(extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub effect: String,

    /// When the taint was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}

/// What the cluster's agents report.
#[serde_with::apply(
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
    BTreeMap => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterStatus {
    /// State of the cluster.
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,

    /// Total resources of the cluster's nodes.
    #[schemars(schema_with = "schemas::quantities")]
    pub capacity: BTreeMap<String, IntOrString>,

    /// Resources that are available to workloads.
    #[schemars(schema_with = "schemas::quantities")]
    pub allocatable: BTreeMap<String, IntOrString>,

    /// Versions that the cluster runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ClusterVersion>,

    /// Facts that the cluster claims about itself.
    pub cluster_claims: Vec<ClusterClaim>,

    /// Namespaces on the cluster that the hub manages.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["clusterSet", "name"]))]
    pub managed_namespaces: Vec<ManagedNamespaceStatus>,
}

/// Versions that the cluster runs.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterVersion {
    /// Version of Kubernetes.
    pub kubernetes: String,
}

/// A fact that the cluster claims about itself.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterClaim {
    /// Name of the claim.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Value of the claim.
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
}

/// State of a namespace on the cluster that the hub manages.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterSet", "name"]))]
pub struct ManagedNamespaceStatus {
    /// Name of the cluster set that requests the namespace.
    pub cluster_set: String,

    /// Name of the namespace.
    #[schemars(length(max = 63), extend("pattern" = DNS_LABEL))]
    pub name: String,

    /// State of the namespace.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::conditions")]
    pub conditions: Vec<Condition>,
}
