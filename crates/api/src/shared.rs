//! The small shapes that several kinds share: configuration types, references, hashes and loose numbers.
//!
//! Never resolves a reference and never judges a number.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient::null_is_default;

/// The type of a configuration: API group and plural resource name.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["resource"]))]
pub struct GroupResource {
    /// API group of the configuration type; empty for the core group.
    #[serde(deserialize_with = "null_is_default")]
    #[serde_with(skip_apply)]
    pub group: String,

    /// Plural name of the configuration type, such as addondeploymentconfigs.
    #[schemars(length(min = 1))]
    pub resource: String,
}

/// The place of one configuration object.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct ConfigReferent {
    /// Namespace of the configuration; empty for a cluster-scoped one.
    pub namespace: String,

    /// Name of the configuration.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// A reference to one configuration: its type and its place.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "resource"]))]
pub struct AddOnConfig {
    /// API group of the configuration type; empty for the core group.
    #[serde(deserialize_with = "null_is_default")]
    #[serde_with(skip_apply)]
    pub group: String,

    /// Plural name of the configuration type, such as addondeploymentconfigs.
    #[schemars(length(min = 1))]
    pub resource: String,

    /// Namespace of the configuration; empty for a cluster-scoped one.
    pub namespace: String,

    /// Name of the configuration.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// A configuration together with the hash of its content.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct ConfigSpecHash {
    /// Namespace of the configuration; empty for a cluster-scoped one.
    pub namespace: String,

    /// Name of the configuration.
    #[schemars(length(min = 1))]
    pub name: String,

    /// SHA-256 of the configuration's content in lower-case hex; empty while the configuration does not exist.
    pub spec_hash: String,
}

/// The place of a Placement.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "namespace"]))]
pub struct PlacementRef {
    /// Namespace of the placement.
    #[schemars(length(min = 1))]
    pub namespace: String,

    /// Name of the placement.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// A field that takes a number or text. Whatever else a user wrote is kept, so that it can be shown back to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A whole number.
    Int(i64),
    /// Text, such as "25%".
    String(String),
    /// Neither; no schema accepts it.
    Other(Value),
}

impl GroupResource {
    /// Returns the type named by a group and a plural resource name.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }
}

impl fmt::Display for GroupResource {
    /// Writes `resource.group`, or `resource` alone for the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.resource)
        } else {
            write!(f, "{}.{}", self.resource, self.group)
        }
    }
}

impl ConfigReferent {
    /// Returns the place given by a namespace (empty for cluster-scoped) and a name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ConfigReferent {
    /// Writes `namespace/name`, or `name` alone when cluster-scoped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

impl AddOnConfig {
    /// Returns the type of the configuration.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.resource.clone())
    }

    /// Returns the place of the configuration.
    pub fn referent(&self) -> ConfigReferent {
        ConfigReferent::new(self.namespace.clone(), self.name.clone())
    }
}

impl ConfigSpecHash {
    /// Returns the place of the configuration.
    pub fn referent(&self) -> ConfigReferent {
        ConfigReferent::new(self.namespace.clone(), self.name.clone())
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::String(text) => f.write_str(text),
            Self::Other(value) => write!(f, "{value}"),
        }
    }
}

impl From<i64> for IntOrString {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}
