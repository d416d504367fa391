//! The default of `spec.installNamespace` of a `ManagedClusterAddOn`. Page: `tests/rules/defaults.md`.
//!
//! Decides the namespace that an agent is installed in when the manifest does not say: on creation that of the placement
//! template, on an update the one it has. Never replaces a namespace that a client wrote.

use json_patch::{AddOperation, PatchOperation, ReplaceOperation, jsonptr::PointerBuf};
use serde_json::Value;

use super::provenance::{Provenance, of_created, of_updated};
use model::{DEFAULT_INSTALL_NAMESPACE, InstallNamespace};

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
