//! An object as the API sent it, with just enough structure for a watch.
//!
//! Never fails to decode: one malformed object must not stop the stream that carries all others. Drops what no plan reads, and keeps
//! the rest as text: a page of a list holds hundreds of objects, and as trees of maps they would take about ten times as much.

use std::borrow::Cow;
use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use kubernetes::bounds::{MOST_VALUES, ReadError, Size, too_many_values};
use kubernetes::field::Path;
use store::{Address, Event, Kind, ObjectKey, has_owners, kept_editors, terms, trim_owners};

/// Annotation in which `kubectl apply` keeps a copy of the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How many values a part of an object may have that is read although the object as a whole has too many.
const MOST_OF_A_PART: usize = 1_000;
/// From how many bytes on, as a tree, an object is large.
const LARGE: usize = 1 << 20;

/// An object as the API sent it.
#[derive(Debug, Clone)]
pub(in crate::controllers) struct Raw {
    meta: ObjectMeta,
    text: Box<str>,
    /// Why it is not read whole, where it has too many values.
    unread: Option<Box<str>>,
}

impl Raw {
    /// Wraps an object that is to be sent.
    pub(in crate::controllers) fn new(object: &Value) -> Self {
        Self {
            meta: identity(object.get("metadata")),
            text: object.to_string().into(),
            unread: None,
        }
    }

    /// Wraps the text of an object that is to be sent.
    pub(super) fn to_send(text: &str) -> Self {
        Self {
            meta: ObjectMeta::default(),
            text: text.into(),
            unread: None,
        }
    }

    /// Returns why the object is not read whole, where it has too many values.
    pub(in crate::controllers) fn unread(&self) -> Option<&str> {
        self.unread.as_deref()
    }

    /// Whether its tree takes so much memory that there should be only one at a time.
    pub(super) fn is_large(&self) -> bool {
        Size::of(self.text.as_bytes()).tree > LARGE
    }

    /// Returns that the object, which is of this kind, is there as it is.
    pub(super) fn event(&self, kind: Kind) -> Event {
        let object = self.object();
        match self.unread() {
            None => Event::Applied { kind, object },
            Some(why) => Event::Unreadable {
                kind,
                object,
                why: why.to_owned(),
            },
        }
    }

    /// Returns the key of the object, which is of this kind.
    pub(in crate::controllers) fn key(&self, kind: Kind) -> ObjectKey {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        ObjectKey::new(kind, text(&self.meta.namespace), text(&self.meta.name))
    }

    /// Returns the text of the object.
    pub(in crate::controllers) fn into_text(self) -> Box<str> {
        self.text
    }

    /// Returns the text of the object.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the object, made again: without managed fields; those of an add-on on a cluster are there as far as plans ask about them.
    pub(in crate::controllers) fn object(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| readable(&self.text, MOST_VALUES))
    }
}

/// Returns how a kind is addressed, in the client's own terms.
pub fn resource(kind: Kind) -> ApiResource {
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

fn identity(metadata: Option<&Value>) -> ObjectMeta {
    let field = |name: &str| metadata?.get(name);
    let text = |name: &str| field(name)?.as_str().map(ToOwned::to_owned);
    let time = |name: &str| text(name)?.parse().ok().map(Time);
    let finalizers = field("finalizers").and_then(Value::as_array);
    let finalizers = finalizers.map(|all| {
        all.iter()
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect()
    });
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        deletion_timestamp: time("deletionTimestamp"),
        finalizers,
        ..ObjectMeta::default()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As text first: a reader of trees gives up at some depth, and with it would go the page or the event that holds the object.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Some(violation) = crowded(text.get()) else {
            return Ok(trimmed(text.get()).unwrap_or_else(|_| Self::new(&tree(text.get()))));
        };
        let mut object = readable(text.get(), MOST_OF_A_PART);
        let kind = object.get("kind").and_then(Value::as_str).map(ToOwned::to_owned);
        if let Some(metadata) = object.get_mut("metadata") {
            *metadata = trim(kind.as_deref(), metadata.take());
        }
        Ok(Self {
            unread: Some(violation.to_string().into()),
            ..Self::new(&object)
        })
    }
}

/// Returns an object without the metadata that no plan reads. Its other members keep their texts: each is read once, as a tree.
fn trimmed(text: &str) -> serde_json::Result<Raw> {
    let (mut kind, mut metadata) = (None, None);
    let mut kept = String::with_capacity(text.len());
    kubernetes::bounds::members(text, |name, member| {
        if name == "metadata" {
            metadata = Some(member);
            return;
        }
        if name == "kind" {
            kind = serde_json::from_str::<String>(member.get()).ok();
        }
        let name = Value::from(name);
        // Writing to a string cannot fail.
        let _written = write!(kept, ",{name}:{}", member.get());
    })?;
    let kind = kind.as_deref();
    let metadata = metadata.map(|text| trim(kind, metadata_of(kind, text)));
    let meta = identity(metadata.as_ref());
    if let Some(metadata) = metadata {
        let _written = write!(kept, r#","metadata":{metadata}"#);
    }
    Ok(Raw {
        meta,
        text: format!("{{{}}}", kept.get(1..).unwrap_or_default()).into(),
        unread: None,
    })
}

/// Reads metadata; managed fields only where something of them is kept.
fn metadata_of(kind: Option<&str>, text: &RawValue) -> Value {
    if !text.get().starts_with('{') {
        return serde_json::from_str(text.get()).unwrap_or_default();
    }
    let is_instance = kind == Some(Kind::Instance.address().kind);
    members(text.get(), |name, member| match name {
        "managedFields" if is_instance => of_others(member),
        "managedFields" if !kind.is_some_and(has_owners) => Value::Null,
        _ => whole(member, MOST_VALUES).unwrap_or_else(|unread| unread),
    })
}

/// An entry of managed fields, as far as it shows whether it is of interest.
#[derive(Deserialize)]
struct Entry<'t> {
    #[serde(borrow, default)]
    manager: Cow<'t, str>,
    #[serde(borrow, default)]
    subresource: Cow<'t, str>,
}

/// Reads the managed fields of an instance: not the entries that say nothing about owners, which are most of them.
fn of_others(text: &RawValue) -> Value {
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(text.get()) else {
        return whole(text, MOST_VALUES).unwrap_or_else(|unread| unread);
    };
    let is_ours = |entry: &&&RawValue| {
        let entry = serde_json::from_str::<Entry<'_>>(entry.get());
        entry.is_ok_and(|entry| entry.manager == terms::FIELD_MANAGER || !entry.subresource.is_empty())
    };
    let others = entries.iter().filter(|entry| !is_ours(entry));
    others
        .map(|entry| whole(entry, MOST_VALUES).unwrap_or_else(|unread| unread))
        .collect()
}

/// Leaves out of metadata what no plan reads.
fn trim(kind: Option<&str>, metadata: Value) -> Value {
    let kind_of = ("kind".to_owned(), Value::from(kind));
    let mut object = Value::Object(Map::from_iter([kind_of, ("metadata".to_owned(), metadata)]));
    // Every item of a list of custom resources says its kind.
    let editors = kept_editors(&object);
    if kind == Some(Kind::Instance.address().kind) {
        trim_owners(&mut object);
    } else if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        metadata.extend(editors.map(|editors| ("managedFields".to_owned(), editors)));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    object.get_mut("metadata").map(Value::take).unwrap_or_default()
}

/// Returns an object as a tree; of one that cannot be read whole, what can be read.
pub(super) fn tree(text: &str) -> Value {
    if crowded(text).is_some() {
        return readable(text, MOST_OF_A_PART);
    }
    serde_json::from_str(text).unwrap_or_else(|_| readable(text, MOST_VALUES))
}

/// Returns what is wrong with an object that has too many values; no tree is built of it.
fn crowded(text: &str) -> Option<kubernetes::field::Violation> {
    match Size::of(text.as_bytes()).values {
        0..=MOST_VALUES => None,
        has => Some(too_many_values(has, Path::root())),
    }
}

/// Returns what can be read of an object that cannot be read whole: its identity, and each field that is in order and has no more
/// values than a part may have. In the place of any other is the cause, as text with a digest: no decoder takes that for a spec, and an
/// edit of it is still a change.
fn readable(text: &str, most: usize) -> Value {
    members(text, |name, member| {
        whole(member, most).unwrap_or_else(|unread| match name {
            "metadata" => members(member.get(), |_, member| {
                whole(member, most).unwrap_or_else(|unread| unread)
            }),
            _ => unread,
        })
    })
}

/// Returns an object made of the members of a text; without any, where the text is none of an object.
fn members(text: &str, read: impl Fn(&str, &RawValue) -> Value) -> Value {
    let mut all = Map::new();
    let done = kubernetes::bounds::members(text, |name, member| {
        if all.len() < MOST_OF_A_PART {
            let value = read(&name, member);
            all.insert(name.into_owned(), value);
        }
    });
    Value::Object(done.map_or_else(|_| Map::new(), |()| all))
}

fn whole(text: &RawValue, most: usize) -> Result<Value, Value> {
    let has = Size::of(text.get().as_bytes()).values;
    let read = if has > most {
        Err(ReadError::TooManyValues(Box::new(too_many_values(
            has,
            Path::root(),
        ))))
    } else {
        serde_json::from_str(text.get()).map_err(ReadError::Syntax)
    };
    read.map_err(|error| {
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(text.get()).into();
        let digest = u32::from_be_bytes([a, b, c, d]);
        format!("it cannot be decoded: {error} ({digest:08x})").into()
    })
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: &RawValue = serde_json::from_str(&self.text).map_err(S::Error::custom)?;
        text.serialize(serializer)
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
    fn an_object_with_too_many_values_is_there_and_is_not_read() {
        let of = |maps: usize| {
            let maps = vec![r#"{"a":0}"#; maps].join(",");
            let text = format!(
                r#"{{"kind":"ManifestWork","metadata":{{"name":"x","namespace":"c1","uid":"u","resourceVersion":"7","labels":{{"a":"b"}},"managedFields":[]}},"spec":{{"x":[{maps}]}},"status":{{"conditions":[]}}}}"#
            );
            serde_json::from_str::<Raw>(&text).expect("an object")
        };
        let (small, large) = (of(40_000), of(60_000));
        assert!(matches!(small.event(Kind::Work), Event::Applied { .. }));
        let Event::Unreadable { kind, object, why } = large.event(Kind::Work) else {
            panic!("it is read");
        };
        assert_eq!(
            ObjectKey::of(kind, &object),
            ObjectKey::new(Kind::Work, "c1", "x")
        );
        assert_eq!(object["metadata"]["labels"]["a"], "b");
        assert_eq!(object["status"], json!({"conditions": []}));
        assert!(object["spec"].is_string(), "the cause in its place");
        assert!(
            why.starts_with("Too many: an object must have at most 100000 values, and this one has 1200"),
            "{why}"
        );
        assert!(large.text.len() < 1_000, "its text is not kept");
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
