//! An object as the API sent it, with just enough structure for a watch.
//!
//! Never fails to decode: one malformed object must not stop the stream that carries all others. Drops what no plan reads, and keeps
//! the rest as text: a page of a list holds hundreds of objects, and as trees of maps they would take about ten times as much.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};

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
        // As text first: a reader of trees gives up at some depth, and with it would go the page or the event that holds the object.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let mut object = tree(&text);
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

/// Returns an object as a tree; of one that cannot be read whole, what can be read.
pub(super) fn tree(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_else(|_| readable(text))
}

/// Returns what can be read of an object that cannot be read whole: its identity, and each field that is in order. In the place of any
/// other stands the cause, as text with a digest: no decoder takes that for a spec, and an edit of it is still a change.
fn readable(text: &RawValue) -> Value {
    members(text, |name, member| {
        whole(member).unwrap_or_else(|unread| match name {
            "metadata" => members(member, |_, member| whole(member).unwrap_or_else(|unread| unread)),
            _ => unread,
        })
    })
}

/// Returns an object made of the members of a text; without any, where the text is none of an object.
fn members(text: &RawValue, read: impl Fn(&str, &RawValue) -> Value) -> Value {
    let all: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text.get()).unwrap_or_default();
    let all = all.into_iter().map(|(name, member)| {
        let value = read(&name, &member);
        (name, value)
    });
    Value::Object(all.collect())
}

fn whole(text: &RawValue) -> Result<Value, Value> {
    serde_json::from_str(text.get()).map_err(|error| {
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(text.get()).into();
        let digest = u32::from_be_bytes([a, b, c, d]);
        format!("it cannot be read: {error} ({digest:08x})").into()
    })
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
    use kube::core::{ObjectList, WatchEvent};
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

    /// The text of an object whose spec is deeper than a reader of trees goes.
    fn deep(name: &str) -> String {
        let (open, close) = ("[".repeat(300), "]".repeat(300));
        format!(
            r#"{{"kind":"ManifestWork","metadata":{{"name":"{name}","namespace":"c1","resourceVersion":"7","labels":{{"a":"b"}}}},"spec":{{"x":{open}{close}}}}}"#
        )
    }

    #[test]
    fn an_object_that_is_too_deep_stops_neither_its_page_nor_its_watch() {
        let page = format!(
            r#"{{"apiVersion":"v1","kind":"List","metadata":{{"resourceVersion":"9"}},"items":[{},{{"metadata":{{"name":"good"}}}}]}}"#,
            deep("deep")
        );
        let page: ObjectList<Raw> = serde_json::from_str(&page).expect("a page");
        let names: Vec<_> = page
            .items
            .iter()
            .filter_map(|raw| raw.meta().name.as_deref())
            .collect();
        assert_eq!(names, ["deep", "good"]);
        let event = format!(r#"{{"type":"MODIFIED","object":{}}}"#, deep("deep"));
        let WatchEvent::Modified(raw) = serde_json::from_str::<WatchEvent<Raw>>(&event).expect("an event")
        else {
            panic!("another event");
        };
        let object = raw.object();
        assert_eq!(
            ObjectKey::of(Kind::Work, &object),
            ObjectKey::new(Kind::Work, "c1", "deep")
        );
        assert_eq!(object["metadata"]["labels"]["a"], "b");
        let told = object["spec"]
            .as_str()
            .expect("the cause in the place of the spec");
        assert!(told.contains("recursion limit"), "{told}");
    }

    #[test]
    fn an_edit_of_what_cannot_be_read_is_a_change() {
        let one: Raw = serde_json::from_str(&deep("x")).expect("an object");
        let other: Raw = serde_json::from_str(&deep("x").replace(r#""x":["#, r#""y":["#)).expect("an object");
        assert_ne!(one.object()["spec"], other.object()["spec"]);
    }

    #[test]
    fn metadata_that_is_too_deep_keeps_its_identity() {
        let (open, close) = (r#"{"f:x":"#.repeat(300), "}".repeat(300));
        let text = format!(
            r#"{{"kind":"ManifestWork","metadata":{{"name":"x","namespace":"c1","labels":{{"a":"b"}},"odd":{open}1{close}}},"spec":{{"n":1}}}}"#
        );
        let object = serde_json::from_str::<Raw>(&text).expect("an object").object();
        assert_eq!(object["metadata"]["name"], "x");
        assert_eq!(object["metadata"]["labels"]["a"], "b");
        assert_eq!(object["spec"]["n"], 1);
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
