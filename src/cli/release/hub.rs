//! What `release` and `adopt` read of a hub.
//!
//! Decides only which lists are read. Never writes.

use futures::TryStreamExt as _;
use kube::Client;
use kube::api::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::cli::CliError;
use crate::controllers::{one, pages};

/// A kind that is read here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

pub(super) const ADDONS: Of = addon("ClusterManagementAddOn", "clustermanagementaddons");
pub(super) const INSTANCES: Of = addon("ManagedClusterAddOn", "managedclusteraddons");
pub(super) const BINDINGS: Of = rbac("RoleBinding", "rolebindings");
pub(super) const CLUSTER_BINDINGS: Of = rbac("ClusterRoleBinding", "clusterrolebindings");
pub(super) const LEASES: Of = Of {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
};

const fn addon(kind: &'static str, plural: &'static str) -> Of {
    Of {
        group: "addon.open-cluster-management.io",
        version: "v1alpha1",
        kind,
        plural,
    }
}

const fn rbac(kind: &'static str, plural: &'static str) -> Of {
    Of {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind,
        plural,
    }
}

impl Of {
    /// Returns the kind of an object that was read here.
    pub(super) fn object(value: &Value) -> Option<Self> {
        let kind = value.get("kind").and_then(Value::as_str);
        [ADDONS, INSTANCES, BINDINGS]
            .into_iter()
            .find(|one| Some(one.kind) == kind)
    }

    pub(super) fn resource(self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(self.group, self.version, self.kind);
        ApiResource::from_gvk_with_plural(&gvk, self.plural)
    }

    /// Returns all objects of the kind.
    pub(super) async fn list(self, client: &Client, labels: &str) -> Result<Vec<Value>, CliError> {
        let resource = self.resource();
        let pages = pages(client, &resource, Some(labels.to_owned()));
        let all: Result<Vec<Vec<Value>>, _> = pages.try_collect().await;
        Ok(all.map_err(CliError::acting("read the hub"))?.concat())
    }

    /// Returns one object.
    pub(super) async fn get(
        self,
        client: &Client,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, CliError> {
        let found = one(client, &self.resource(), namespace, name).await;
        found.map_err(CliError::acting("read the hub"))
    }
}
