//! An object as the API sent it, with just enough structure for a watch.
//!
//! Never fails to decode: one malformed object must not stop the stream that carries all others. Drops what no plan reads, and keeps
//! the rest as text: a page of a list holds hundreds of objects, and as trees of maps they would take about ten times as much.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use snapshot::{Address, Kind, ObjectKey, trim_owners};

/// Annotation in which `kubectl apply` keeps a copy of the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object as the API sent it.
#[derive(Debug, Clone)]
pub(in crate::controllers) struct Raw {
    meta: ObjectMeta,
    text: Box<RawValue>,
}

impl Raw {
    /// Wraps an object that is to be sent.
    pub(in crate::controllers) fn new(object: &Value) -> Self {
        Self {
            meta: identity(object),
            text: to_raw_value(object).expect("a value has a text"),
        }
    }

    /// Returns the key of the object, which is of this kind.
    pub(in crate::controllers) fn key(&self, kind: Kind) -> ObjectKey {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        ObjectKey::new(kind, text(&self.meta.namespace), text(&self.meta.name))
    }

    /// Returns the object, made anew: without managed fields; those of an add-on on a cluster are there as far as plans ask about them.
    pub(in crate::controllers) fn object(&self) -> Value {
        serde_json::from_str(self.text.get()).expect("its text was made from a value")
    }
}

/// Returns how a kind is addressed, in the client's own terms.
pub(in crate::controllers) fn resource(kind: Kind) -> ApiResource {
    let Address {
        group,
        version,
        kind: name,
        resource,
        ..
    } = kind.address();
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: kind.api_version(),
        kind: name.to_owned(),
        plural: resource.to_owned(),
    }
}

fn identity(object: &Value) -> ObjectMeta {
    let text = |field: &str| {
        object
            .get("metadata")?
            .get(field)?
            .as_str()
            .map(ToOwned::to_owned)
    };
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        ..ObjectMeta::default()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        // Every item of a list of custom resources says its kind.
        if object.get("kind").and_then(Value::as_str) == Some(Kind::Instance.address().kind) {
            trim_owners(&mut object);
        } else if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(LAST_APPLIED);
            }
        }
        Ok(Self::new(&object))
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_malformed_object_still_has_its_identity() {
        let raw: Raw = serde_json::from_value(json!({"kind": 5, "metadata": {"name": "x", "labels": 3,
            "managedFields": "?", "resourceVersion": "7"}, "spec": []}))
        .unwrap();
        assert_eq!(raw.meta().name.as_deref(), Some("x"));
        assert_eq!(raw.meta().resource_version.as_deref(), Some("7"));
        assert_eq!(raw.object().pointer("/metadata/managedFields"), None);
    }

    #[test]
    fn only_of_an_add_on_on_a_cluster_it_is_kept_who_applies_it() {
        let owners = |kind: &str| {
            let entry = json!({"manager": "flux", "operation": "Apply", "time": "2030-01-01T00:00:00Z",
                "fieldsV1": {"f:spec": {"f:configs": {}}}});
            let object = json!({"kind": kind, "metadata": {"name": "x", "managedFields": [entry]}});
            let raw: Raw = serde_json::from_value(object).unwrap();
            raw.object().pointer("/metadata/managedFields").cloned()
        };
        assert_eq!(owners("ManagedCluster"), None);
        let kept = json!([{"manager": "flux", "operation": "Apply", "fieldsV1": {}}]);
        assert_eq!(owners("ManagedClusterAddOn"), Some(kept));
    }
}
