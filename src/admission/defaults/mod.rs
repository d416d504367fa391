//! The defaults stage: what the gate adds to an object that left it out.
//!
//! Decides additions of absent scalars only. A default never changes what somebody wrote, is the same for the same
//! object and facts, and adds nothing to its own result.

mod install_namespace;
mod provenance;

use json_patch::Patch;

use super::decide::Documents;
use super::request::{Door, Request};
use super::subject::{ClusterAddon, Kind};
use crate::snapshot::Facts;

/// Returns the additions to the object of a request.
pub(super) fn fill(request: &Request<'_>, documents: &Documents, name: &str, facts: &Facts) -> Patch {
    let addition = match (request.door, request.resource) {
        (Door::Mutate, ClusterAddon::RESOURCE) => {
            let template = || facts.install_namespace(name, request.namespace);
            install_namespace::addition(&documents.object, documents.old.as_ref(), template)
        }
        (Door::Mutate | Door::Validate, _) => None,
    };
    Patch(addition.into_iter().collect())
}
