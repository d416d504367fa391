//! One hub object, decoded from what the API sent. An object that cannot be decoded is an error for that object alone:
//! a typed watch would fail on it permanently.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde::{Deserialize, de::DeserializeOwned};

/// The metadata that this crate looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`, empty for cluster-scoped kinds.
    pub namespace: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
}

impl Meta {
    /// Returns whether this is an older state of the same object than `known`.
    ///
    /// The API compares equal-length numbers; a version that is no number is never called older, so that at worst an
    /// object is looked at twice.
    pub fn is_older_than(&self, known: &Self) -> bool {
        let number = |version: &str| version.parse::<u64>().ok();
        match (number(&self.resource_version), number(&known.resource_version)) {
            (Some(mine), Some(theirs)) => self.uid == known.uid && mine < theirs,
            (None, _) | (_, None) => false,
        }
    }
}

/// An object of the hub with the parts of its spec and status that this crate knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record<S, T> {
    /// Its metadata.
    pub meta: Meta,
    /// What is wanted.
    pub spec: S,
    /// What was seen.
    pub status: T,
}

/// The hub holds an object whose fields have types that its CRD forbids.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode \"{name}\" in namespace \"{namespace}\"")]
pub struct DecodeError {
    name: String,
    namespace: String,
    source: serde_json::Error,
}

#[derive(Deserialize)]
#[serde(bound = "S: DeserializeOwned + Default, T: DeserializeOwned + Default")]
struct Body<S, T> {
    #[serde(default)]
    spec: S,
    #[serde(default)]
    status: T,
}

impl<S: DeserializeOwned + Default, T: DeserializeOwned + Default> Record<S, T> {
    /// Returns the record of an object that the API sent.
    pub fn decode(object: DynamicObject) -> Result<Self, DecodeError> {
        let DynamicObject {
            types: _,
            metadata,
            data,
        } = object;
        let meta = Meta {
            name: metadata.name.unwrap_or_default(),
            namespace: metadata.namespace.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            terminating: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
        };
        match serde_json::from_value::<Body<S, T>>(data) {
            Ok(Body { spec, status }) => Ok(Self { meta, spec, status }),
            Err(source) => Err(DecodeError {
                name: meta.name,
                namespace: meta.namespace,
                source,
            }),
        }
    }
}
