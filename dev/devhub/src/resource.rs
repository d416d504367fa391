//! What the hub knows of one served resource in one version.
//!
//! Decides nothing: discovery, openapi, tables and the request path read it.

use std::sync::Arc;

use serde_json::Value;

/// Verbs of custom resources, in the order in which the API lists them.
pub(crate) const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// Whether objects of a resource live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Objects have a namespace.
    Namespaced,
    /// Objects have none.
    Cluster,
}

/// One printer column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Header.
    pub name: String,
    /// `OpenAPI` type: `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: String,
    /// `OpenAPI` format; may be empty.
    pub format: String,
    /// Description; may be empty.
    pub description: String,
    /// 0 = always shown, greater = only with `-o wide`.
    pub priority: i32,
    /// JSON path that yields the cell.
    pub json_path: String,
}

/// One served resource in one version.
#[derive(Clone, Debug)]
pub struct Resource {
    /// API group, empty for the core group.
    pub group: String,
    /// Version, for instance `v1`.
    pub version: String,
    /// Kind, for instance `ConfigMap`.
    pub kind: String,
    /// Kind of its lists, for instance `ConfigMapList`.
    pub list_kind: String,
    /// Plural name as used in paths.
    pub plural: String,
    /// Singular name.
    pub singular: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// Categories such as `all`.
    pub categories: Vec<String>,
    /// Scope of the objects.
    pub scope: Scope,
    /// Verbs offered, sorted.
    pub verbs: Vec<String>,
    /// Whether there is a status subresource.
    pub status: bool,
    /// Printer columns besides the standard ones; `None` = the standard ones of its origin.
    pub columns: Vec<Column>,
    /// `openAPIV3Schema` of a custom resource, as written in its definition; `None` for built-in kinds.
    pub open_api: Option<Arc<Value>>,
    /// Whether the resource comes from a custom resource definition.
    pub custom: bool,
}

impl Resource {
    /// Returns `group/version`, or `version` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns `plural.group`, or `plural` for the core group, as error texts quote it.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Returns `Kind.group`, or `Kind` for the core group, as validation texts quote it.
    pub fn group_kind(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }
}
