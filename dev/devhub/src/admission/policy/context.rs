//! What policies look at besides the request.
//!
//! Decides nothing: the hub's store answers (`rest/admission_context.rs`).

use std::fmt;
use std::sync::Arc;

use cel_engine::Authority;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::resource::Scope;

/// Which objects a binding names as parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamQuery {
    /// `group/version` of the parameters.
    pub api_version: String,
    /// Their kind.
    pub kind: String,
    /// Their namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// The name of the one parameter; empty if a selector chooses.
    pub name: String,
    /// The label selector; null if there is a name.
    pub selector: Value,
}

/// What knows the objects around a request.
pub trait AdmissionContext: Send + Sync + fmt::Debug {
    /// Returns a namespace.
    fn namespace(&self, name: &str) -> Option<Value>;
    /// Returns the scope of a kind, nothing if it is not served.
    fn scope(&self, api_version: &str, kind: &str) -> Option<Scope>;
    /// Returns parameters, in the order of their names.
    fn params<'a>(&'a self, query: &'a ParamQuery) -> BoxFuture<'a, Result<Vec<Value>, String>>;
    /// Returns who knows what the user of the request may do.
    fn authority(&self) -> Arc<dyn Authority>;
}
