//! A definition as the hub shows it.
//!
//! Decides whether anything can be added to it, and reads what else counts: versions, conversion, annotations, conditions. Nothing in
//! it is believed to be there.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::conversion::Version;
use kubernetes::json_pointer::{escape, unescape};

/// Which annotation the operator of Open Cluster Management writes its version to.
const OPERATOR_VERSION: &str = "operator.open-cluster-management.io/version";

/// Where the schema of a version begins.
pub(super) const SCHEMA: &str = "/schema/openAPIV3Schema";
/// Where the columns of a version stand.
pub(super) const COLUMNS: &str = "/additionalPrinterColumns";

/// Returns the pointer one step further down.
pub(super) fn below(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", escape(step))
}

/// Returns a pointer into a schema as the path of a field: `spec.installStrategy.placements[].addonSpec`.
pub(super) fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    let mut steps = pointer.strip_prefix(SCHEMA).unwrap_or(pointer).split('/').skip(1);
    while let Some(step) = steps.next() {
        match step {
            "properties" => {
                let name = steps.next().map(unescape);
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name.as_deref().unwrap_or("*"));
            }
            "items" => path.push_str("[]"),
            "additionalProperties" => path.push_str("{}"),
            other => {
                path.push(' ');
                path.push_str(other);
            }
        }
    }
    path
}

/// Why nothing can be added to a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It has no name or no resource version: no answer of a hub.
    Unnamed,
    /// It has no version `v1alpha1`.
    NoVersion,
    /// It does not serve `v1alpha1`.
    NotServed,
    /// `v1alpha1` has no schema that is an object.
    NoSchema,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unnamed => "metadata: name or resourceVersion is missing",
            Self::NoVersion => "spec.versions: no version is \"v1alpha1\", the version that has Tidegate's fields",
            Self::NotServed => "spec.versions[v1alpha1].served: is not true, so no client could use Tidegate's fields",
            Self::NoSchema => {
                "spec.versions[v1alpha1].schema.openAPIV3Schema: is not the schema of an object, so nothing can be added to it"
            }
        })
    }
}

/// A definition that has a `v1alpha1` with a schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live<'a> {
    pub(super) whole: &'a Value,
    pub(super) resource_version: &'a str,
    /// Where `v1alpha1` is in the list of versions.
    pub(super) index: usize,
    pub(super) version: &'a Value,
}

impl<'a> Live<'a> {
    pub(super) fn of(whole: &'a Value) -> Result<Self, Unfit> {
        let metadata = |name: &str| whole.get("metadata")?.get(name)?.as_str();
        metadata("name").ok_or(Unfit::Unnamed)?;
        let resource_version = metadata("resourceVersion").ok_or(Unfit::Unnamed)?;
        let is_ours = |version: &&Value| named(version) == Some(Version::V1alpha1.name());
        let mut versions = versions(whole).iter().enumerate();
        let (index, version) = versions
            .find(|(_, version)| is_ours(version))
            .ok_or(Unfit::NoVersion)?;
        if !flag(version, "served") {
            return Err(Unfit::NotServed);
        }
        let schema = version.pointer(SCHEMA).filter(|schema| schema.is_object());
        schema.ok_or(Unfit::NoSchema)?;
        Ok(Self {
            whole,
            resource_version,
            index,
            version,
        })
    }
}

/// Returns the name of a definition; empty where it has none.
pub(super) fn name(whole: &Value) -> &str {
    let name = whole.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}

/// Returns the annotations of a definition.
pub(super) fn annotations(whole: &Value) -> Option<&Map<String, Value>> {
    whole.pointer("/metadata/annotations")?.as_object()
}

/// Returns the version of the operator that a definition carries.
pub fn version_annotation(whole: &Value) -> Option<&str> {
    annotations(whole)?.get(OPERATOR_VERSION)?.as_str()
}

/// Returns the versions beside `v1alpha1` that objects are written to or kept in, by name.
pub fn other_versions(whole: &Value) -> Vec<String> {
    let others = versions(whole)
        .iter()
        .filter(|version| flag(version, "served") || flag(version, "storage"));
    let names = others.map(|version| named(version).unwrap_or_default().to_owned());
    names.filter(|name| name != Version::V1alpha1.name()).collect()
}

/// Returns who converts: a service or an address, without the authority; `None` where no program does.
pub fn converter(whole: &Value) -> Option<Value> {
    let conversion = whole.pointer("/spec/conversion")?;
    if conversion.get("strategy")?.as_str()? != "Webhook" {
        return None;
    }
    let client = conversion.pointer("/webhook/clientConfig")?;
    if let Some(service) = client.get("service") {
        let part = |name: &str| service.get(name).cloned().unwrap_or_default();
        let port = service.get("port").cloned().unwrap_or_else(|| json!(443));
        return Some(
            json!({"namespace": part("namespace"), "name": part("name"), "path": part("path"), "port": port}),
        );
    }
    client.get("url").cloned()
}

/// Tells whether the hub serves a definition: nothing else is said about it, and its schema is accepted.
pub fn is_established(whole: &Value) -> bool {
    let conditions = whole.pointer("/status/conditions").and_then(Value::as_array);
    let is = |kind: &str| {
        conditions.is_some_and(|all| {
            all.iter().any(|one| {
                let text = |name: &str| one.get(name).and_then(Value::as_str);
                text("type") == Some(kind) && text("status") == Some("True")
            })
        })
    };
    is("Established") && !is("NonStructuralSchema")
}

/// Tells whether a hub keeps every field of its objects, known or not.
pub(super) fn keeps_everything(whole: &Value) -> bool {
    whole.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true))
}

fn versions(whole: &Value) -> &[Value] {
    let versions = whole.pointer("/spec/versions").and_then(Value::as_array);
    versions.map_or(&[], Vec::as_slice)
}

fn named(version: &Value) -> Option<&str> {
    version.get("name")?.as_str()
}

fn flag(of: &Value, name: &str) -> bool {
    of.get(name) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_read_as_paths_of_fields() {
        for (pointer, path) in [
            ("/schema/openAPIV3Schema/properties/spec/properties/a", "spec.a"),
            (
                "/schema/openAPIV3Schema/properties/spec/properties/a/items/properties/b",
                "spec.a[].b",
            ),
            ("/schema/openAPIV3Schema/properties/status/properties", "status.*"),
            (
                "/schema/openAPIV3Schema/properties/a~1b/additionalProperties/properties/c~0d",
                "a/b{}.c~d",
            ),
        ] {
            assert_eq!(path_of(pointer), path);
        }
        assert_eq!(below("/properties", "a/b~c"), "/properties/a~1b~0c");
    }
}
