//! One request to a known resource.
//!
//! Decides nothing; carries what every step of a request needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use schema::FieldError;
use serde_json::Value;

use super::errors::invalid_kind;
use super::metadata::text;
use crate::admission::UserInfo;
use crate::builtin::{Traits, traits};
use crate::error::ApiError;
use crate::http::{Accepted, Query, Target};
use crate::hub::Hub;
use crate::managed::{Scope, VersionViews, Writer};
use crate::registry::{Served, is_view};
use crate::resource;
use crate::rights;
use crate::store::key_of;

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    /// HTTP method.
    pub(crate) method: String,
    /// What the path addresses.
    pub(crate) target: Target,
    /// Query parameters.
    pub(crate) query: Query,
    /// `Content-Type`.
    pub(crate) content_type: Option<String>,
    /// `Accept`.
    pub(crate) accept: Option<String>,
    /// `User-Agent`, empty if absent.
    pub(crate) user_agent: String,
    /// Body.
    pub(crate) body: Bytes,
    /// Who asks.
    pub(crate) user: UserInfo,
}

/// A request to a known resource.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The hub.
    pub(crate) hub: Arc<Hub>,
    /// The resource.
    pub(crate) served: Arc<Served>,
    /// Namespace of the path, empty for none.
    pub(crate) namespace: String,
    /// Name of the path, empty for a collection.
    pub(crate) name: String,
    /// Query parameters.
    pub(crate) query: Query,
    /// `Content-Type` without parameters; empty if absent.
    pub(crate) content_type: String,
    /// What the client accepts.
    pub(crate) accepted: Accepted,
    /// `User-Agent`, empty if absent.
    pub(crate) user_agent: String,
    /// Body.
    pub(crate) body: Bytes,
    /// Who asks.
    pub(crate) user: UserInfo,
    /// How objects of this request look in other versions.
    pub(crate) version_views: Arc<VersionViews>,
}

impl Call {
    /// Returns who writes as owners know it: the manager that the client names, else the name of the program.
    pub(crate) fn writer(&self, manager: &str, applies: bool, subresource: &str) -> Writer {
        let program = self.user_agent.split('/').next().unwrap_or_default();
        let program: String = program
            .chars()
            .filter(|letter| !letter.is_control())
            .take(128)
            .collect();
        let manager = match (manager, program.as_str()) {
            ("", "") => "unknown".to_owned(),
            ("", _) => program,
            (given, _) => given.to_owned(),
        };
        Writer {
            manager,
            applies,
            version: self.served.resource.api_version(),
            subresource: subresource.to_owned(),
        }
    }

    /// Returns what ownership needs to know of a write through a subresource.
    pub(crate) fn scope(&self, subresource: &str) -> Scope {
        let resource = &self.served.resource;
        let registry = self.hub.directory.load();
        let others = self
            .served
            .custom
            .iter()
            .flat_map(|custom| &custom.other_versions);
        let types = others
            .filter_map(|version| registry.find(&resource.group, version, &resource.plural))
            .map(|other| (other.resource.api_version(), other.ownable().of.clone()))
            .collect();
        Scope::new(resource, self.served.ownable(), types, subresource)
            .with_version_views(Arc::clone(&self.version_views))
    }

    /// Returns the key of the named object.
    pub(crate) fn key(&self) -> String {
        key_of(&self.namespace, &self.name)
    }

    /// Returns whether the resource is namespaced.
    pub(crate) fn is_namespaced(&self) -> bool {
        self.served.resource.scope == resource::Scope::Namespaced
    }

    /// Returns whether the resource comes from a definition.
    pub(crate) fn is_custom(&self) -> bool {
        self.served.custom.is_some()
    }

    /// Returns the habits of the kind.
    pub(crate) fn traits(&self) -> Traits {
        traits(&self.served.resource)
    }

    /// Turns found faults into the refusal of an object.
    pub(crate) fn verdict(&self, object: &Value, errors: &[FieldError]) -> Result<(), ApiError> {
        if errors.is_empty() {
            return Ok(());
        }
        let resource = &self.served.resource;
        // Another view of stored objects is judged as what is stored.
        let group = if is_view(resource) { "" } else { &resource.group };
        Err(invalid_kind(group, &resource.kind, text(object, "name"), errors))
    }

    /// Refuses a role or a binding that gives more than its writer has.
    pub(crate) fn may_write(&self, object: &Value, old: Option<&Value>) -> Result<(), ApiError> {
        let place = (&self.served.resource, self.namespace.as_str());
        rights::check_write(&self.hub.rights, &self.user, place, object, old)
    }

    /// Returns whether the resource is this built-in one.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        let resource = &self.served.resource;
        resource.group == group && resource.plural == plural && !self.is_custom()
    }

    /// Returns the labels of the namespace, for webhooks.
    pub(crate) fn namespace_labels(&self) -> BTreeMap<String, String> {
        let namespace = if self.is("", "namespaces") {
            &self.name
        } else {
            &self.namespace
        };
        let table = self.hub.store.table("namespaces");
        table
            .read(namespace)
            .map(|record| record.label_map())
            .unwrap_or_default()
    }
}
