//! ManifestWork: manifests for one cluster, and what became of them there.
//!
//! Holds its wire shape only. An AddOnTemplate carries the same spec.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest_config::ManifestConfig;
use super::manifest_work_status::ManifestWorkStatus;
use crate::lenient::{absent_is_default, null_is_default};
use crate::schemas::{self, DNS_SUBDOMAIN};

/// Manifests that are applied on one cluster, and how.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "work.open-cluster-management.io",
    version = "v1",
    kind = "ManifestWork",
    plural = "manifestworks",
    namespaced,
    status = "ManifestWorkStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManifestWork carries manifests to the cluster that its namespace is named after."
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct ManifestWorkSpec {
    /// The manifests.
    pub workload: Option<Workload>,

    /// What happens to the applied objects when the work is deleted.
    pub delete_option: Option<DeleteOption>,

    /// How individual manifests are applied and observed.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub manifest_configs: Vec<ManifestConfig>,

    /// The account on the managed cluster that applies the manifests.
    pub executor: Option<Executor>,
}

absent_is_default!(ManifestWorkSpec);

/// The manifests of a work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Workload {
    /// Whole Kubernetes objects.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schemas::embedded_objects")]
    pub manifests: Vec<Value>,
}

/// What happens to the applied objects when the work is deleted.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeleteOption {
    /// Foreground deletes the objects first, Orphan keeps all of them, SelectivelyOrphan keeps those that a rule lists.
    #[schemars(extend("default" = "Foreground", "enum" = ["Foreground", "Orphan", "SelectivelyOrphan"]))]
    pub propagation_policy: String,

    /// Settings of the policy SelectivelyOrphan.
    #[serde(rename = "selectivelyOrphans", skip_serializing_if = "Option::is_none")]
    pub selectively_orphan: Option<SelectivelyOrphan>,

    /// Number of seconds after which a completed work is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i64>,
}

/// The objects that are left when the work is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SelectivelyOrphan {
    /// One rule per object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub orphaning_rules: Vec<OrphaningRule>,
}

/// An object that is left when the work is deleted.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "resource"]))]
pub struct OrphaningRule {
    /// API group of the object; empty for the core group.
    pub group: String,

    /// Plural name of the object's type.
    pub resource: String,

    /// Namespace of the object; empty for a cluster-scoped one.
    pub namespace: String,

    /// Name of the object.
    pub name: String,
}

/// The account on the managed cluster that applies the manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Executor {
    /// The subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<ExecutorSubject>,
}

/// The subject whose permissions are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct ExecutorSubject {
    /// Kind of the subject.
    #[serde(
        rename = "type",
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(extend("enum" = ["ServiceAccount"]))]
    pub type_: String,

    /// The service account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ExecutorServiceAccount>,
}

/// A service account on the managed cluster.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct ExecutorServiceAccount {
    /// Namespace of the service account.
    #[schemars(length(min = 1, max = 253), extend("pattern" = DNS_SUBDOMAIN))]
    pub namespace: String,

    /// Name of the service account.
    #[schemars(length(min = 1, max = 253), extend("pattern" = DNS_SUBDOMAIN))]
    pub name: String,
}
