//! What admission knows of one write.
//!
//! Decides nothing but how the request looks as CEL's and the webhooks' `request`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use serde_json::{Map, Value, json};

use super::policy::AdmissionContext;
use crate::ApiError;

/// What a write does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change of an object: PUT, PATCH, and apply of an existing one.
    Update,
    /// A removal.
    Delete,
}

impl Operation {
    /// Returns the name used in rules and in `AdmissionReview`s.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Group, version and kind of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

impl Kind {
    /// Returns `group/version`, or `version` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns this kind as an `AdmissionReview` writes it.
    pub(super) fn to_json(&self) -> Value {
        json!({ "group": self.group, "version": self.version, "kind": self.kind })
    }
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// User name.
    pub name: String,
    /// User id; may be empty.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Further facts by name.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    fn to_json(&self) -> Value {
        let mut user = Map::new();
        let mut put = |name: &str, value: Value, present: bool| {
            if present {
                user.insert(name.to_owned(), value);
            }
        };
        put("username", json!(self.name), !self.name.is_empty());
        put("uid", json!(self.uid), !self.uid.is_empty());
        put("groups", json!(self.groups), !self.groups.is_empty());
        put("extra", json!(self.extra), !self.extra.is_empty());
        Value::Object(user)
    }
}

/// One write, as admission sees it. The object itself travels beside it, because webhooks change it.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// What happens.
    pub operation: Operation,
    /// API group of the resource in the path.
    pub group: String,
    /// Version in the path.
    pub version: String,
    /// Plural of the resource in the path.
    pub resource: String,
    /// Subresource such as `status`; empty for the object itself.
    pub subresource: String,
    /// Kind of the object that is written.
    pub kind: Kind,
    /// Name of the object; empty where it is not known yet (`generateName`).
    pub name: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Labels of that namespace as stored; not asked for requests for a namespace itself.
    pub namespace_labels: BTreeMap<String, String>,
    /// Who asks.
    pub user: UserInfo,
    /// The object before the write, absent on create.
    pub old_object: Option<Value>,
    /// `CreateOptions`, `UpdateOptions` or `DeleteOptions` of `meta.k8s.io/v1`.
    pub options: Value,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// Other served versions of the same resource.
    pub equivalent_versions: Vec<String>,
    /// What converts objects between these versions; none if they differ in `apiVersion` only.
    pub conversion: Option<Arc<dyn Conversion>>,
    /// What policies may look at besides the request; nothing where there is no store.
    pub context: Option<Arc<dyn AdmissionContext>>,
}

/// What converts the objects of a resource between its versions.
pub trait Conversion: Send + Sync + fmt::Debug {
    /// Returns an object in another `group/version`. The error is the reason why there is none.
    fn convert<'a>(&'a self, object: &'a Value, api_version: &'a str)
    -> BoxFuture<'a, Result<Value, String>>;
}

impl Attributes {
    /// Returns an object in another `group/version`.
    pub(super) async fn converted(&self, object: &Value, api_version: &str) -> Result<Value, ApiError> {
        if let Some(conversion) = &self.conversion {
            let converted = conversion.convert(object, api_version).await;
            return converted.map_err(|cause| ApiError::internal(&cause));
        }
        let mut object = object.clone();
        if let Some(version) = object.get_mut("apiVersion") {
            *version = Value::String(api_version.to_owned());
        }
        Ok(object)
    }

    /// Tells whether the object is a namespace.
    pub(super) fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.resource == "namespaces"
    }

    /// Returns the namespace in the AdmissionRequest; for a Namespace that is its own name.
    pub(super) fn request_namespace(&self) -> &str {
        if self.namespace.is_empty() && self.is_namespace() {
            &self.name
        } else {
            &self.namespace
        }
    }

    /// Tells whether webhooks never see this resource, so that a bad webhook can be removed again.
    pub(super) fn is_exempt(&self) -> bool {
        self.group == "admissionregistration.k8s.io"
            && matches!(
                self.resource.as_str(),
                "validatingwebhookconfigurations"
                    | "mutatingwebhookconfigurations"
                    | "validatingadmissionpolicies"
                    | "validatingadmissionpolicybindings"
                    | "mutatingadmissionpolicies"
                    | "mutatingadmissionpolicybindings"
            )
    }

    /// Returns `plural.group`, or `plural` for the core group, as error texts quote it.
    pub(super) fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    /// Returns the request without its objects and uid, as seen in `version` through a rule that asks for it.
    pub(super) fn to_request(&self, kind: &Kind, version: &str) -> Map<String, Value> {
        let resource =
            |version: &str| json!({ "group": self.group, "version": version, "resource": self.resource });
        let mut request = Map::new();
        let mut put = |name: &str, value: Value| {
            request.insert(name.to_owned(), value);
        };
        put("kind", kind.to_json());
        put("resource", resource(version));
        put("requestKind", self.kind.to_json());
        put("requestResource", resource(&self.version));
        if !self.subresource.is_empty() {
            put("subResource", json!(self.subresource));
            put("requestSubResource", json!(self.subresource));
        }
        if !self.name.is_empty() {
            put("name", json!(self.name));
        }
        if !self.request_namespace().is_empty() {
            put("namespace", json!(self.request_namespace()));
        }
        put("operation", json!(self.operation.name()));
        put("userInfo", self.user.to_json());
        put("dryRun", json!(self.dry_run));
        put("options", self.options.clone());
        request
    }
}
