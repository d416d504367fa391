//! `ManagedClusterAddOn` in both versions.
//!
//! Decides where the install namespace, registrations and the coordinates of configurations stand. An install namespace that is
//! no DNS label stays where it is: the schema's default holds.

use kubernetes::names::is_dns1123_label;
use serde_json::{Map, Value, json};

use super::places::{Fidelity, has_only, object, text};
use super::version::Version;
use crate::names::annotations::INSTALL_NAMESPACE;

/// The signer of hub kubeconfigs: `v1beta1` calls it a type of registration.
const KUBE_CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const KUBE_CLIENT: &str = "kubeClient";
const CUSTOM_SIGNER: &str = "customSigner";
const DRIVER: &str = "kubeClientDriver";
const NAMESPACE: &str = "installNamespace";

/// The fields that `v1beta1` gave up: paths, with `[]` for every item of a list.
pub(super) const GIVEN_UP: &[&str] = &["status.addOnConfiguration"];

/// Tidegate's own fields, likewise.
pub(super) const EXTENSIONS: &[&str] = &[
    "spec.desiredVersion",
    "status.configReferences[].desiredConfigSpecHash",
    "status.configReferences[].lastAppliedConfigSpecHash",
    "status.currentVersion",
    "status.lastVersion",
    "status.observedGeneration",
];

/// The first fields of spec and status that both versions have, each in its own spelling.
pub(super) const KNOWN: &[&str] = &[
    "installNamespace",
    "configs",
    "addOnMeta",
    "conditions",
    "configReferences",
    "healthCheck",
    "kubeClientDriver",
    "namespace",
    "registrations",
    "relatedObjects",
    "supportedConfigs",
];

/// Moves the fields of metadata, spec and status to where the other version has them. `is_written` leaves an install namespace as
/// its author wrote it, whatever it is.
pub(super) fn map(whole: &mut Value, to: Version, is_written: bool) -> Fidelity {
    let fidelity = match to {
        Version::V1beta1 => namespace_to_beta(whole),
        Version::V1alpha1 => namespace_to_alpha(whole, is_written),
    };
    let Some(status) = object(whole, "status") else {
        return fidelity;
    };
    fidelity
        .and(registrations(status, to))
        .and(references(status, to))
}

fn namespace_to_beta(whole: &mut Value) -> Fidelity {
    let annotated = object(whole, "metadata")
        .and_then(|metadata| metadata.get("annotations")?.get(INSTALL_NAMESPACE)?.as_str())
        .is_some_and(is_dns1123_label);
    let Some(spec) = object(whole, "spec") else {
        return Fidelity::only_if(!annotated);
    };
    match spec.get(NAMESPACE) {
        None => return Fidelity::only_if(!annotated),
        Some(Value::String(text)) if !text.is_empty() => {}
        // It is empty or no text: no annotation stands for it.
        Some(_) => {
            spec.remove(NAMESPACE);
            return Fidelity::Lossy;
        }
    }
    let Some(Value::String(namespace)) = spec.remove(NAMESPACE) else {
        return Fidelity::Exact;
    };
    // Where it came from before, an invalid one would not come back.
    let returns = is_dns1123_label(&namespace);
    let Some(annotations) = annotations(whole) else {
        return Fidelity::Lossy;
    };
    let taken = annotations.insert(INSTALL_NAMESPACE.to_owned(), Value::from(namespace));
    Fidelity::only_if(returns && taken.is_none())
}

/// The annotations of an object, made if there are none; absent when metadata is no object.
fn annotations(whole: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = whole
        .as_object_mut()?
        .entry("metadata")
        .or_insert_with(|| json!({}));
    let annotations = metadata
        .as_object_mut()?
        .entry("annotations")
        .or_insert_with(|| json!({}));
    annotations.as_object_mut()
}

fn namespace_to_alpha(whole: &mut Value, is_written: bool) -> Fidelity {
    let strays = object(whole, "spec").is_some_and(|spec| spec.remove(NAMESPACE).is_some());
    let metadata = object(whole, "metadata");
    let Some(Value::Object(annotations)) = metadata.and_then(|metadata| metadata.get_mut("annotations"))
    else {
        return Fidelity::only_if(!strays);
    };
    let is_usable =
        text(annotations, INSTALL_NAMESPACE).is_some_and(|text| is_written || is_dns1123_label(text));
    if !is_usable {
        return Fidelity::only_if(!strays);
    }
    let Some(namespace) = annotations.remove(INSTALL_NAMESPACE) else {
        return Fidelity::only_if(!strays);
    };
    let is_last = annotations.is_empty();
    if is_last && let Some(metadata) = object(whole, "metadata") {
        metadata.remove("annotations");
    }
    let is_given = whole.get("spec").is_some();
    let spec = whole
        .as_object_mut()
        .map(|whole| whole.entry("spec").or_insert_with(|| json!({})));
    match spec.and_then(Value::as_object_mut) {
        Some(spec) => {
            spec.insert(NAMESPACE.to_owned(), namespace);
            Fidelity::only_if(!strays && is_given)
        }
        None => Fidelity::Lossy,
    }
}

fn registrations(status: &mut Map<String, Value>, to: Version) -> Fidelity {
    match to {
        Version::V1beta1 => registrations_to_beta(status),
        Version::V1alpha1 => registrations_to_alpha(status),
    }
}

fn registrations_to_beta(status: &mut Map<String, Value>) -> Fidelity {
    let driver = status.remove(DRIVER);
    let mut is_carried = driver.is_none();
    let mut fidelity = Fidelity::Exact;
    if let Some(Value::Array(all)) = status.get_mut("registrations") {
        for one in all {
            let Some(entry) = one.as_object_mut() else {
                fidelity = Fidelity::Lossy;
                continue;
            };
            let signer = entry.remove("signerName");
            let is_client = signer.as_ref().and_then(Value::as_str) == Some(KUBE_CLIENT_SIGNER);
            let is_whole = matches!(&signer, Some(Value::String(_))) && has_only(entry, &["subject"]);
            fidelity = fidelity.and(Fidelity::only_if(is_whole));
            let mut content = Map::new();
            if let Some(subject) = entry.remove("subject") {
                let (subject, exact) = subject_to_beta(subject, is_client);
                fidelity = fidelity.and(exact);
                content.insert("subject".to_owned(), subject);
            }
            if is_client {
                is_carried = true;
                content.extend(driver.clone().map(|driver| ("driver".to_owned(), driver)));
            } else {
                content.extend(signer.map(|signer| ("signerName".to_owned(), signer)));
            }
            let kind = if is_client { KUBE_CLIENT } else { CUSTOM_SIGNER };
            entry.insert("type".to_owned(), Value::from(kind));
            if !content.is_empty() {
                entry.insert(kind.to_owned(), Value::Object(content));
            }
        }
    }
    fidelity.and(Fidelity::only_if(is_carried))
}

fn subject_to_beta(subject: Value, is_client: bool) -> (Value, Fidelity) {
    let Value::Object(mut fields) = subject else {
        return (subject, Fidelity::Exact);
    };
    let units = fields.remove("organizationUnit");
    let is_exact = !fields.contains_key("organizationUnits") && (units.is_none() || !is_client);
    if let Some(units) = units.filter(|_| !is_client) {
        fields.insert("organizationUnits".to_owned(), units);
    }
    (Value::Object(fields), Fidelity::only_if(is_exact))
}

fn registrations_to_alpha(status: &mut Map<String, Value>) -> Fidelity {
    let mut fidelity = Fidelity::only_if(status.remove(DRIVER).is_none());
    let mut drivers: Vec<Driver> = Vec::new();
    if let Some(Value::Array(all)) = status.get_mut("registrations") {
        for one in all {
            let Some(entry) = one.as_object_mut() else {
                fidelity = Fidelity::Lossy;
                continue;
            };
            fidelity = fidelity.and(registration_to_alpha(entry, &mut drivers));
        }
    }
    let same = drivers
        .windows(2)
        .all(|pair| pair.first().map(|one| &one.driver) == pair.last().map(|one| &one.driver));
    // As Open Cluster Management's conversion: that of the first one that says anything about itself.
    let first = drivers.into_iter().find(|one| one.is_written);
    let driver = first.and_then(|first| first.driver);
    status.extend(driver.map(|driver| (DRIVER.to_owned(), driver)));
    fidelity.and(Fidelity::only_if(same))
}

/// The driver of a registration as a client of the hub.
struct Driver {
    /// Whether the registration has a block of its type.
    is_written: bool,
    driver: Option<Value>,
}

fn registration_to_alpha(entry: &mut Map<String, Value>, drivers: &mut Vec<Driver>) -> Fidelity {
    let kind = entry.remove("type");
    let is_client = kind.as_ref().and_then(Value::as_str) == Some(KUBE_CLIENT);
    let is_custom = kind.as_ref().and_then(Value::as_str) == Some(CUSTOM_SIGNER);
    let content = entry.remove(if is_client { KUBE_CLIENT } else { CUSTOM_SIGNER });
    let is_written = content.is_some();
    let is_plain = (is_client || is_custom) && entry.is_empty();
    entry.clear();
    let (mut content, is_object) = match content {
        // Content without anything in it is not written when it is converted back.
        Some(Value::Object(content)) => {
            let is_object = !content.is_empty();
            (content, is_object)
        }
        None => (Map::new(), is_client),
        Some(_) => (Map::new(), false),
    };
    let mut fidelity = Fidelity::only_if(is_plain && is_object);
    let subject = content.remove("subject");
    let signer = if is_client {
        drivers.push(Driver {
            is_written,
            driver: content.remove("driver"),
        });
        Some(Value::from(KUBE_CLIENT_SIGNER))
    } else {
        content.remove("signerName")
    };
    let foreign = signer.as_ref().and_then(Value::as_str);
    let returns = is_client || foreign.is_some_and(|name| name != KUBE_CLIENT_SIGNER);
    fidelity = fidelity.and(Fidelity::only_if(content.is_empty() && returns));
    entry.insert("signerName".to_owned(), signer.unwrap_or_else(|| Value::from("")));
    if let Some(subject) = subject {
        let (subject, exact) = subject_to_alpha(subject, is_client);
        fidelity = fidelity.and(exact);
        entry.insert("subject".to_owned(), subject);
    }
    fidelity
}

fn subject_to_alpha(subject: Value, is_client: bool) -> (Value, Fidelity) {
    let Value::Object(mut fields) = subject else {
        return (subject, Fidelity::Exact);
    };
    let units = fields.remove("organizationUnits");
    let is_exact = !fields.contains_key("organizationUnit") && (units.is_none() || !is_client);
    if let Some(units) = units.filter(|_| !is_client) {
        fields.insert("organizationUnit".to_owned(), units);
    }
    (Value::Object(fields), Fidelity::only_if(is_exact))
}

/// In `v1alpha1` an entry has the coordinates of its desired configuration twice.
fn references(status: &mut Map<String, Value>, to: Version) -> Fidelity {
    let Some(Value::Array(all)) = status.get_mut("configReferences") else {
        return Fidelity::Exact;
    };
    let mut fidelity = Fidelity::Exact;
    for entry in all.iter_mut().filter_map(Value::as_object_mut) {
        let desired = entry.get("desiredConfig").and_then(Value::as_object);
        let of_desired = |name: &str| desired.and_then(|desired| desired.get(name)).cloned();
        let wanted = [
            ("name", of_desired("name")),
            ("namespace", of_desired("namespace")),
        ];
        for (field, wanted) in wanted {
            let flat = entry.remove(field);
            match to {
                Version::V1beta1 => fidelity = fidelity.and(Fidelity::only_if(flat == wanted)),
                Version::V1alpha1 => {
                    fidelity = fidelity.and(Fidelity::only_if(flat.is_none()));
                    entry.extend(wanted.map(|value| (field.to_owned(), value)));
                }
            }
        }
    }
    fidelity
}
