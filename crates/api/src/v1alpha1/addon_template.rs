//! AddOnTemplate: the manifests of an add-on's agent, and what the agent may do on the hub.
//!
//! Holds its wire shape only; `plan` renders the manifests.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{absent_is_default, no_default, null_is_default};
use crate::schemas::SIGNER_NAME;
use crate::work::ManifestWorkSpec;

/// The manifests of an add-on's agent and its registration with the hub.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnTemplate",
    plural = "addontemplates",
    derive = "PartialEq",
    derive = "Default",
    doc = "AddOnTemplate describes an add-on by plain manifests instead of a program.",
    printcolumn(name = "ADDON NAME", type_ = "string", json_path = ".spec.addonName"),
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = r".metadata.labels.addon\.open-cluster-management\.io/version"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
#[schemars(extend("required" = ["addonName", "agentSpec"]))]
pub struct AddOnTemplateSpec {
    /// Name of the add-on that the template is for.
    pub addon_name: String,

    /// The manifests that are applied on managed clusters, and how. Text such as {{CLUSTER_NAME}} is replaced.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub agent_spec: ManifestWorkSpec,

    /// How the agent registers with the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<Vec<RegistrationSpec>>,
}

absent_is_default!(AddOnTemplateSpec);

/// One way in which the agent registers with the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct RegistrationSpec {
    /// KubeClient gives access to the hub, CustomSigner only a certificate.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["KubeClient", "CustomSigner"]))]
    pub type_: String,

    /// Settings of type KubeClient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_client: Option<KubeClientRegistration>,

    /// Settings of type CustomSigner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_signer: Option<CustomSignerRegistration>,
}

impl RegistrationSpec {
    /// Returns whether it requests anything on the hub beyond the agent's own name: hub permissions, or a certificate of a custom signer.
    pub fn requests_access(&self) -> bool {
        let mut permissions = self.kube_client.iter().flat_map(|client| &client.hub_permissions);
        self.type_ != "KubeClient" || permissions.next().is_some()
    }
}

/// Access to the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeClientRegistration {
    /// What the agent may do on the hub.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub hub_permissions: Vec<HubPermission>,
}

/// One permission of the agent on the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct HubPermission {
    /// CurrentCluster binds in the cluster's namespace, SingleNamespace in a given one.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["CurrentCluster", "SingleNamespace"]))]
    pub type_: String,

    /// Settings of type CurrentCluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_cluster: Option<CurrentClusterBinding>,

    /// Settings of type SingleNamespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_namespace: Option<SingleNamespaceBinding>,
}

/// A binding in the cluster's namespace.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterRoleName"]))]
pub struct CurrentClusterBinding {
    /// Name of the cluster role that is bound.
    pub cluster_role_name: String,
}

/// A binding in one given namespace.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["namespace", "roleRef"]))]
pub struct SingleNamespaceBinding {
    /// The namespace.
    pub namespace: String,

    /// The role that is bound.
    #[serde(deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default", extend("x-kubernetes-map-type" = "atomic"))]
    pub role_ref: RoleRef,
}

/// A role or a cluster role.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["apiGroup", "kind", "name"]))]
pub struct RoleRef {
    /// API group of the role.
    pub api_group: String,

    /// Role or ClusterRole.
    pub kind: String,

    /// Name of the role.
    pub name: String,
}

/// A certificate from a signer of the add-on's own.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["signerName", "signingCA"]))]
pub struct CustomSignerRegistration {
    /// Name of the signer.
    #[schemars(length(min = 5, max = 571), extend("pattern" = SIGNER_NAME))]
    pub signer_name: String,

    /// Subject of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,

    /// Secret with the key pair that signs.
    #[serde(rename = "signingCA", deserialize_with = "null_is_default")]
    #[schemars(skip_serializing_if = "no_default")]
    pub signing_ca: SigningCa,
}

/// The secret with the key pair that signs.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct SigningCa {
    /// Namespace of the secret.
    pub namespace: String,

    /// Name of the secret.
    pub name: String,
}

/// Subject of a certificate.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Subject {
    /// User name.
    pub user: String,

    /// Groups of the user.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,

    /// Organization units of the user. The key is singular on the wire.
    #[serde(
        rename = "organizationUnit",
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub organization_units: Vec<String>,
}
