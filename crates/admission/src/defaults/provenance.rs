//! Who set `spec.installNamespace`: the user, or the default of the CRD.
//!
//! The API server applies the defaults of a CRD before it calls a webhook, so a field with a default is never absent. The records of the
//! API server and kubectl in the object show whether the user has set the field; without a record it is unknown.

use api::names::annotations::INSTALL_NAMESPACE;
use serde_json::Value;

const FIELD: &str = "installNamespace";

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provenance {
    /// A client wrote it.
    Written,
    /// No client wrote it: it is the default of the CRD.
    Defaulted,
    /// There is no record.
    Unknown,
}

/// Returns where the install namespace of a new object comes from.
///
/// A server-side apply records the fields of the manifest. A client-side apply keeps the manifest in an annotation; its
/// `managedFields` name every field, defaults included, because the field manager that creates an object owns all of it.
pub(super) fn of_created(object: &Value) -> Provenance {
    match owners(object, "Apply") {
        Owners::Some => return Provenance::Written,
        Owners::None => return Provenance::Defaulted,
        Owners::Unrecorded => {}
    }
    match last_applied(object) {
        Some(manifest) => {
            let in_v1alpha1 = manifest.get("spec").and_then(|spec| spec.get(FIELD));
            let in_v1beta1 = || {
                manifest
                    .get("metadata")?
                    .get("annotations")?
                    .get(INSTALL_NAMESPACE)
            };
            match in_v1alpha1.or_else(in_v1beta1) {
                Some(value) if !value.is_null() => Provenance::Written,
                Some(_) | None => Provenance::Defaulted,
            }
        }
        None => Provenance::Unknown,
    }
}

/// Returns where the install namespace of a changed object comes from.
///
/// The annotation records only the last `kubectl apply` and no later edit. So only `managedFields` counts here, and must have no owner of
/// the field.
pub(super) fn of_updated(object: &Value) -> Provenance {
    match (owners(object, "Apply"), owners(object, "Update")) {
        (Owners::Some, _) | (_, Owners::Some) => Provenance::Written,
        (Owners::None, Owners::None | Owners::Unrecorded) => Provenance::Defaulted,
        (Owners::Unrecorded, Owners::None | Owners::Unrecorded) => Provenance::Unknown,
    }
}

enum Owners {
    Some,
    None,
    Unrecorded,
}

fn owners(object: &Value, operation: &str) -> Owners {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    let mut recorded = Owners::Unrecorded;
    for entry in entries {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("operation") != operation || !text("subresource").is_empty() {
            continue;
        }
        let fields = entry.get("fieldsV1");
        let owner = match text("apiVersion").rsplit_once('/') {
            Some((_, "v1alpha1")) => {
                fields.and_then(|fields| fields.get("f:spec")?.get(format!("f:{FIELD}")))
            }
            Some((_, "v1beta1")) => fields.and_then(|fields| {
                let annotations = fields.get("f:metadata")?.get("f:annotations")?;
                annotations.get(format!("f:{INSTALL_NAMESPACE}"))
            }),
            // Another version may have another name for the field, so its absence is no information.
            _ => return Owners::Unrecorded,
        };
        if owner.is_some() {
            return Owners::Some;
        }
        recorded = Owners::None;
    }
    recorded
}

fn last_applied(object: &Value) -> Option<Value> {
    let annotations = object.pointer("/metadata/annotations")?;
    let text = annotations
        .get("kubectl.kubernetes.io/last-applied-configuration")?
        .as_str()?;
    ::kubernetes::bounds::read(text, &kubernetes::field::Path::root())
        .ok()
        .filter(Value::is_object)
}
