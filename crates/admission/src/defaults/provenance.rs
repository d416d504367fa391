//! Who set `spec.installNamespace`: the user, or the default of the CRD.
//!
//! The API server applies a CRD's defaults before it asks a webhook, so that a field with a default is never seen
//! absent. Decides from what the API server and kubectl record about a request whether the user wrote the field. Says
//! "unknown" where no record tells.

use api::names::annotations::INSTALL_NAMESPACE;
use serde_json::Value;

const FIELD: &str = "installNamespace";

/// What is known about where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provenance {
    /// A client wrote it.
    Written,
    /// No client wrote it: it is the default of the CRD.
    Defaulted,
    /// No record tells.
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
/// The annotation tells of the last `kubectl apply` and nothing of an edit after it, so that here only the record of
/// owners counts, and it must name no owner of the field.
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
            // Another version may spell the field differently, and then its silence says nothing.
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
