//! The variables that every policy's expressions see.
//!
//! Decides what they are called. Parameters, facts and rights are bound by those who know them.

use crate::Activation;
use serde_json::Value;

/// What stands for an object that is not there.
pub static NULL: Value = Value::Null;

/// What expressions see of a request.
#[derive(Clone, Copy)]
pub struct Variables<'v> {
    /// `object`: as it would be stored.
    pub object: &'v Value,
    /// `oldObject`: as it is stored.
    pub old_object: &'v Value,
    /// `request`.
    pub request: &'v Value,
    /// `namespaceObject`, null for what is in no namespace. If it is not known, it is not bound: a namespace that is there must
    /// not read as one without labels.
    pub namespace: Option<&'v Value>,
}

impl<'v> Variables<'v> {
    /// Binds them.
    pub fn bind(&self, activation: &mut Activation<'_, 'v>) {
        activation.bind("object", self.object);
        activation.bind("oldObject", self.old_object);
        activation.bind("request", self.request);
        if let Some(namespace) = self.namespace {
            activation.bind("namespaceObject", namespace);
        }
    }
}

impl std::fmt::Debug for Variables<'_> {
    // Never the values: objects do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}
