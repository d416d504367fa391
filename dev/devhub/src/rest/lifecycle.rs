//! Namespaces and definitions that go away.
//!
//! Decides whether a namespace takes new content and which namespaces can never go.

use super::call::Call;
use super::errors::{forbidden, namespace_terminating, not_found};
use super::metadata::is_deleting;
use crate::error::ApiError;
use serde_json::Value;

/// Checks that a new object may come into its namespace.
pub(super) fn check_creation(call: &Call, name: &str) -> Result<(), ApiError> {
    let resource = &call.served.resource;
    if let Some(custom) = &call.served.custom
        && custom.terminating
    {
        let text = "create not allowed while custom resource definition is terminating";
        return Err(forbidden(resource, name, text));
    }
    if !call.is_namespaced() {
        return Ok(());
    }
    let registry = call.hub.directory.load();
    let Some(namespaces) = registry.find("", "v1", "namespaces") else {
        return Ok(());
    };
    match namespaces.table.read(&call.namespace) {
        None => Err(not_found(&namespaces.resource, &call.namespace)),
        Some(record) if is_deleting(&namespaces.decode(&record, record.version)) => {
            Err(namespace_terminating(resource, name, &call.namespace))
        }
        Some(_) => Ok(()),
    }
}

/// Checks that an object may be deleted at all.
pub(super) fn check_deletion(call: &Call, name: &str) -> Result<(), ApiError> {
    if call.is("", "namespaces") && matches!(name, "default" | "kube-system" | "kube-public") {
        return Err(forbidden(
            &call.served.resource,
            name,
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

/// Returns whether something still holds a deleted object.
pub(super) fn is_held(call: &Call, object: &Value) -> bool {
    let holds = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_array)
            .is_some_and(|finalizers| !finalizers.is_empty())
    };
    holds("/metadata/finalizers") || (call.is("", "namespaces") && holds("/spec/finalizers"))
}
