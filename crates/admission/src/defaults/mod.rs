//! The defaults stage: the fields that the gate adds to an object.
//!
//! It adds only absent scalars. A default never changes what a client wrote, is the same for the same object and facts, and adds nothing to
//! its own result. The data of a default is confirmed on the hub, because a wrong default from an outdated cache would never be corrected.

mod provenance;

use std::collections::BTreeSet;

use json_patch::{AddOperation, Patch, PatchOperation, ReplaceOperation, jsonptr::PointerBuf};

use super::request::{Request, Webhook};
use super::subject::{ClusterAddon, Kind as _};
use model::{DEFAULT_INSTALL_NAMESPACE, InstallNamespace};
use provenance::{Provenance, of_created, of_updated};
use serde_json::Value;
use store::{Facts, Kind, ObjectKey};

/// The additions, and the objects to read from the hub before they are final.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) patch: Patch,
    pub(super) asked: BTreeSet<ObjectKey>,
}

/// Returns whether it is known that the author of a new `ManagedClusterAddOn` has set no install namespace.
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

/// Returns the addition to `object`, if it needs one. `template` is called only for a new object whose field no client has set.
pub(super) fn addition(
    object: &Value,
    old: Option<&Value>,
    template: impl FnOnce() -> Option<InstallNamespace>,
) -> Option<PatchOperation> {
    // The schema refuses an object without a spec, and adding a spec would hide that.
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
        // The CRD has the same default.
        None if wanted == DEFAULT_INSTALL_NAMESPACE => None,
        None => Some(PatchOperation::Add(AddOperation { path, value })),
        Some(given) if *given == value => None,
        Some(_) => Some(PatchOperation::Replace(ReplaceOperation { path, value })),
    }
}
