//! The defaults stage: what the gate adds to an object that left it out.
//!
//! Decides additions of absent scalars only. A default never changes what a client wrote, is the same for the same
//! object and facts, and adds nothing to its own result. What a default rests on is asked of the hub itself: a wrong default,
//! made because a watch is behind, would never be put right.

mod install_namespace;
mod provenance;

use std::collections::BTreeSet;

use json_patch::Patch;

use super::request::{Door, Request};
use super::subject::{ClusterAddon, Kind as _};
use serde_json::Value;
use store::{Facts, Kind, ObjectKey};

/// What is added, and what the hub should be asked about before it is relied on.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) patch: Patch,
    pub(super) asked: BTreeSet<ObjectKey>,
}

/// Tells whether the author of a new `ManagedClusterAddOn` is known to have given no install namespace.
pub(super) fn leaves_namespace_open(object: &Value) -> bool {
    provenance::of_created(object) == provenance::Provenance::Defaulted
}

/// Returns the additions to the object of a request.
pub(super) fn fill(
    request: &Request<'_>,
    (object, old): (&Value, Option<&Value>),
    name: &str,
    facts: &Facts,
) -> Filled {
    let mut asked = BTreeSet::new();
    let addition = match (request.door, request.resource) {
        (Door::Mutate, ClusterAddon::RESOURCE) => {
            let template = || {
                let key = ObjectKey::new(Kind::Instance, request.namespace, name);
                if let Some(said) = facts.given.get(&key) {
                    return said.clone();
                }
                asked.extend(Some(key).filter(|key| !key.name.is_empty()));
                facts.install_namespace(name, request.namespace).cloned()
            };
            install_namespace::addition(object, old, template)
        }
        (Door::Mutate | Door::Validate, _) => None,
    };
    Filled {
        patch: Patch(addition.into_iter().collect()),
        asked,
    }
}
