//! Admission between a request and the store. No lock is held while webhooks answer.

use std::sync::Arc;

use serde_json::Value;

use super::admission_context::RequestContext;
use super::call::Call;
use super::{metadata, strategy};
use crate::admission::{Attributes, Conversion, Kind, Operation, Warnings};
use crate::error::ApiError;
use crate::managed;

/// What is said when a webhook leaves owners that cannot be read.
const BROKEN: &str = ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests";

/// One write on its way through admission.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    /// The request.
    pub(super) call: &'a Call,
    /// What happens to the object.
    pub(super) operation: Operation,
    /// Subresource, empty for the object.
    pub(super) subresource: &'a str,
    /// Options as webhooks see them.
    pub(super) options: Value,
    /// Whether nothing is stored.
    pub(super) dry_run: bool,
}

impl Flow<'_> {
    fn attributes(&self, name: &str, old: Option<&Value>) -> Attributes {
        let resource = &self.call.served.resource;
        let kind = Kind {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        };
        let others = self
            .call
            .served
            .custom
            .as_ref()
            .map(|custom| custom.other_versions.clone());
        Attributes {
            operation: self.operation,
            group: resource.group.clone(),
            version: resource.version.clone(),
            resource: resource.plural.clone(),
            subresource: self.subresource.to_owned(),
            kind,
            name: name.to_owned(),
            namespace: self.call.namespace.clone(),
            namespace_labels: self.call.namespace_labels(),
            user: self.call.user.clone(),
            old_object: old.cloned(),
            options: self.options.clone(),
            dry_run: self.dry_run,
            equivalent_versions: others.unwrap_or_default(),
            conversion: self.conversion(),
            context: Some(Arc::new(RequestContext::new(&self.call.hub, &self.call.user))),
        }
    }

    fn conversion(&self) -> Option<Arc<dyn Conversion>> {
        let versions = Arc::clone(&self.call.served.custom.as_ref()?.versions);
        Some(versions as Arc<dyn Conversion>)
    }

    /// Runs the mutating webhooks on an object.
    pub(super) async fn mutate(
        &self,
        name: &str,
        object: Value,
        old: Option<&Value>,
        warnings: &mut Warnings,
    ) -> Result<Value, ApiError> {
        if self.call.hub.chain.is_empty() {
            return Ok(object);
        }
        let attributes = self.attributes(name, old);
        let settle = |object: &mut Value| {
            strategy::settle(self.call, object);
        };
        let owners = managed::raw(&object).clone();
        let object = self
            .call
            .hub
            .chain
            .mutate(&attributes, Some(object), &settle, warnings)
            .await?;
        let mut object = object.unwrap_or_default();
        // A webhook may put other owners in, but only such that can be read.
        if let Some(fault) = managed::fault(managed::raw(&object)) {
            warnings.extend([format!("{BROKEN}: {fault}")]);
            metadata::set(&mut object, "managedFields", owners);
        }
        Ok(object)
    }

    /// Runs the validating webhooks on an object.
    pub(super) async fn validate(
        &self,
        name: &str,
        object: &Value,
        old: Option<&Value>,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let chain = &self.call.hub.chain;
        if chain.is_empty() {
            return Ok(());
        }
        chain
            .validate(&self.attributes(name, old), Some(object), warnings)
            .await
    }

    /// Runs the mutating webhooks on a deletion.
    pub(super) async fn mutate_deletion(
        &self,
        name: &str,
        old: &Value,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let attributes = self.attributes(name, Some(old));
        self.call
            .hub
            .chain
            .mutate(&attributes, None, &|_: &mut Value| (), warnings)
            .await
            .map(|_| ())
    }

    /// Runs the validating webhooks on a deletion.
    pub(super) async fn validate_deletion(
        &self,
        name: &str,
        old: &Value,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        self.call
            .hub
            .chain
            .validate(&self.attributes(name, Some(old)), None, warnings)
            .await
    }
}
