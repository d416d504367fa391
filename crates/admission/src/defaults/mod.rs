//! The defaults stage: what the gate adds to an object that left it out.
//!
//! Decides additions of absent scalars only. A default never changes what a client wrote, is the same for the same
//! object and facts, and adds nothing to its own result. What a default rests on is asked of the hub itself: a wrong default,
//! made because a watch is behind, would never be put right.

mod provenance;

use std::collections::BTreeSet;

use json_patch::{AddOperation, Patch, PatchOperation, ReplaceOperation, jsonptr::PointerBuf};

use super::request::{Request, Webhook};
use super::subject::{ClusterAddon, Kind as _};
use model::{DEFAULT_INSTALL_NAMESPACE, InstallNamespace};
use provenance::{Provenance, of_created, of_updated};
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
    of_created(object) == Provenance::Defaulted
}

/// Returns the additions to the object of a request.
pub(super) fn fill(
    request: &Request<'_>,
    object: &Value,
    old: Option<&Value>,
    name: &str,
    facts: &Facts,
) -> Filled {
    let mut asked = BTreeSet::new();
    let addition = match (request.webhook, request.resource) {
        (Webhook::Mutate, ClusterAddon::RESOURCE) => {
            let template = || {
                let key = ObjectKey::new(Kind::Instance, request.namespace, name);
                if let Some(said) = facts.given.get(&key) {
                    return said.clone();
                }
                asked.extend(Some(key).filter(|key| !key.name.is_empty()));
                facts.install_namespace(name, request.namespace).cloned()
            };
            addition(object, old, template)
        }
        (Webhook::Mutate | Webhook::Validate, _) => None,
    };
    Filled {
        patch: Patch(addition.into_iter().collect()),
        asked,
    }
}

const FIELD: &str = "installNamespace";

/// Returns the addition to `object`, if it needs one; `template` is asked only for a new object whose field no client wrote.
pub(super) fn addition(
    object: &Value,
    old: Option<&Value>,
    template: impl FnOnce() -> Option<InstallNamespace>,
) -> Option<PatchOperation> {
    // An object without a spec is refused by its schema; a spec made here would hide that.
    let spec = object.get("spec")?.as_object()?;
    let given = spec.get(FIELD).filter(|value| !value.is_null());
    let provenance = |of: fn(&Value) -> Provenance| match given {
        None => Provenance::Defaulted,
        Some(Value::String(text)) if text == DEFAULT_INSTALL_NAMESPACE => of(object),
        Some(_) => Provenance::Written,
    };
    let provenance = provenance(if old.is_some() { of_updated } else { of_created });
    match provenance {
        Provenance::Defaulted => {}
        Provenance::Written | Provenance::Unknown => return None,
    }
    let wanted = old.map_or_else(template, live)?;
    operation(given, wanted.as_str())
}

fn live(old: &Value) -> Option<InstallNamespace> {
    let text = old.pointer("/spec/installNamespace")?.as_str()?;
    InstallNamespace::parse(text).ok()
}

fn operation(given: Option<&Value>, wanted: &str) -> Option<PatchOperation> {
    let path = PointerBuf::from_tokens(["spec", FIELD]);
    let value = Value::from(wanted);
    match given {
        // The default of the CRD is about to do the same.
        None if wanted == DEFAULT_INSTALL_NAMESPACE => None,
        None => Some(PatchOperation::Add(AddOperation { path, value })),
        Some(given) if *given == value => None,
        Some(_) => Some(PatchOperation::Replace(ReplaceOperation { path, value })),
    }
}
