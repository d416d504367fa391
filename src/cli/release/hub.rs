//! What `release` and `adopt` read of a hub.
//!
//! Decides only which lists are asked for. Never writes.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use serde_json::Value;

use crate::cli::CliError;

/// Objects of one page of a list.
const PAGE: u32 = 500;

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
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &self.resource());
        let mut params = ListParams::default().limit(PAGE).labels(labels);
        let mut all = Vec::new();
        loop {
            let page = api.list(&params).await.map_err(unread)?;
            for item in page.items {
                all.push(self.whole(item)?);
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(all),
            }
        }
    }

    /// Returns one object.
    pub(super) async fn get(
        self,
        client: &Client,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, CliError> {
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(client.clone(), &self.resource())
        } else {
            Api::namespaced_with(client.clone(), namespace, &self.resource())
        };
        let found = api.get_opt(name).await.map_err(unread)?;
        found.map(|object| self.whole(object)).transpose()
    }

    /// Items of a list carry no kind of their own.
    fn whole(self, item: DynamicObject) -> Result<Value, CliError> {
        let mut value = serde_json::to_value(item).map_err(unread)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("kind".to_owned(), Value::from(self.kind));
        }
        Ok(value)
    }
}

pub(super) fn unread(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CliError {
    CliError::Act {
        act: "read the hub",
        source: source.into(),
    }
}
