//! `ClusterManagementAddOn` in both versions.
//!
//! Decides where default configurations stand: under `defaultConfig` of the supported type in `v1alpha1`, beside it in `v1beta1`.

use serde_json::{Map, Value};

use super::places::{Fidelity, has_only, object, rename, text};
use super::version::Version;
use crate::names::RESERVED_NO_DEFAULT;

/// The fields that `v1beta1` gave up: paths, with `[]` for every item of a list.
pub(super) const GIVEN_UP: &[&str] = &["spec.addOnConfiguration"];

/// Tidegate's own fields, likewise.
pub(super) const EXTENSIONS: &[&str] = &[
    "spec.configuration",
    "spec.installStrategy.labelSelector",
    "spec.installStrategy.placements[].addonSpec",
    "spec.installStrategy.placements[].addonTemplate",
    "status.conditions",
    "status.defaultVersion",
    "status.observedGeneration",
    "status.supportedVersions",
];

/// The first fields of spec and status that both versions have, each in its own spelling.
pub(super) const KNOWN: &[&str] = &[
    "addOnMeta",
    "dependencies",
    "installStrategy",
    "supportedConfigs",
    "defaultConfigs",
    "defaultconfigReferences",
    "defaultConfigReferences",
    "installProgressions",
];

const SPEC: (&str, &str) = ("supportedConfigs", "defaultConfigs");
const STATUS: (&str, &str) = ("defaultconfigReferences", "defaultConfigReferences");

/// Moves the fields of spec and status to where the other version has them.
pub(super) fn map(whole: &mut Value, to: Version) -> Fidelity {
    let mut fidelity = Fidelity::Exact;
    if let Some(spec) = object(whole, "spec") {
        fidelity = renamed(spec, SPEC, to);
        let name = if to == Version::V1alpha1 { SPEC.0 } else { SPEC.1 };
        if let Some(Value::Array(entries)) = spec.get_mut(name) {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                fidelity = fidelity.and(moved(entry, to));
            }
        }
    }
    if let Some(status) = object(whole, "status") {
        fidelity = fidelity.and(renamed(status, STATUS, to));
    }
    fidelity
}

fn renamed(fields: &mut Map<String, Value>, (alpha, beta): (&str, &str), to: Version) -> Fidelity {
    match to {
        Version::V1alpha1 => rename(fields, beta, alpha),
        Version::V1beta1 => rename(fields, alpha, beta),
    }
}

fn moved(entry: &mut Map<String, Value>, to: Version) -> Fidelity {
    match to {
        Version::V1beta1 => to_beta(entry),
        Version::V1alpha1 => to_alpha(entry),
    }
}

fn to_beta(entry: &mut Map<String, Value>) -> Fidelity {
    let strays = entry.contains_key("name") || entry.contains_key("namespace");
    let mut fidelity = Fidelity::only_if(!strays);
    let name = match entry.remove("defaultConfig") {
        None => None,
        Some(Value::Object(mut coordinates)) => {
            let name = text(&coordinates, "name").map(str::to_owned);
            let is_plain = has_only(&coordinates, &["name", "namespace"])
                && name
                    .as_deref()
                    .is_some_and(|name| !name.is_empty() && name != RESERVED_NO_DEFAULT);
            fidelity = fidelity.and(Fidelity::only_if(is_plain));
            if let Some(namespace) = coordinates.remove("namespace") {
                entry.insert("namespace".to_owned(), namespace);
            }
            name.filter(|name| !name.is_empty())
        }
        Some(_) => {
            fidelity = Fidelity::Lossy;
            None
        }
    };
    let name = name.unwrap_or_else(|| RESERVED_NO_DEFAULT.to_owned());
    entry.insert("name".to_owned(), Value::from(name));
    fidelity
}

fn to_alpha(entry: &mut Map<String, Value>) -> Fidelity {
    let strays = entry.remove("defaultConfig").is_some();
    let (name, namespace) = (entry.remove("name"), entry.remove("namespace"));
    match name {
        Some(Value::String(name)) if !name.is_empty() && name != RESERVED_NO_DEFAULT => {
            let mut coordinates = Map::new();
            coordinates.insert("name".to_owned(), Value::from(name));
            coordinates.extend(namespace.map(|namespace| ("namespace".to_owned(), namespace)));
            entry.insert("defaultConfig".to_owned(), Value::Object(coordinates));
            Fidelity::only_if(!strays)
        }
        Some(Value::String(name)) => {
            Fidelity::only_if(!strays && name == RESERVED_NO_DEFAULT && namespace.is_none())
        }
        Some(_) | None => Fidelity::Lossy,
    }
}
