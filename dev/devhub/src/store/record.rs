//! One stored object.
//!
//! Decides how an object becomes bytes and back. The bytes start behind `metadata.resourceVersion`, so that a stored body serves
//! every API version (the head is written when read), every event (a deletion carries the same body under a newer version) and the
//! question whether an update changes anything (equal bytes).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Map, Value};

/// Labels of an object, sorted by key.
pub type Labels = Box<[(Box<str>, Box<str>)]>;

/// One stored object.
#[derive(Debug)]
pub struct Record {
    /// `namespace/name`, or `name` for objects without namespace.
    pub key: Box<str>,
    /// Resource version of the write that made it.
    pub version: u64,
    /// Which schema the object was written under; see the registry.
    pub shape: u32,
    /// API version, without its group, of the object that was written; empty if it did not say.
    pub written_in: Arc<str>,
    /// Labels, for selectors.
    pub labels: Labels,
    /// JSON from behind `"resourceVersion":"…",` to the end.
    pub body: Box<[u8]>,
}

/// Returns the key of an object.
pub fn key_of(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

impl Record {
    /// Encodes an object. Its `apiVersion`, `kind` and resource version are not part of the bytes.
    pub(crate) fn encode(key: &str, object: &Value, shape: u32) -> Self {
        let mut bytes = Vec::with_capacity(512);
        let empty = Map::new();
        let object = object.as_object().unwrap_or(&empty);
        let metadata = object
            .get("metadata")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let mut first = true;
        for (name, value) in metadata
            .iter()
            .filter(|(name, _)| name.as_str() != "resourceVersion")
        {
            member(&mut bytes, name, value, &mut first);
        }
        bytes.push(b'}');
        for (name, value) in object.iter().filter(|(name, _)| !is_head(name)) {
            let mut first = false;
            member(&mut bytes, name, value, &mut first);
        }
        bytes.push(b'}');
        Self {
            key: key.into(),
            version: 0,
            shape,
            written_in: shared(version_of(object)),
            labels: labels_of(metadata),
            body: bytes.into_boxed_slice(),
        }
    }

    /// Tells whether two records hold the same object: equal bytes of the same API version.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.body == other.body && self.written_in == other.written_in
    }

    /// Returns the namespace, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }

    /// Writes the whole object in the given API version.
    pub fn write(&self, out: &mut Vec<u8>, api_version: &str, kind: &str, version: u64) {
        out.reserve(self.body.len() + 128);
        out.extend_from_slice(b"{\"apiVersion\":\"");
        out.extend_from_slice(api_version.as_bytes());
        out.extend_from_slice(b"\",\"kind\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",");
        self.write_rest(out, version);
    }

    /// Writes the object without `apiVersion` and `kind`, as lists of built-in kinds hold it.
    pub fn write_headless(&self, out: &mut Vec<u8>, version: u64) {
        out.push(b'{');
        self.write_rest(out, version);
    }

    fn write_rest(&self, out: &mut Vec<u8>, version: u64) {
        out.extend_from_slice(b"\"metadata\":{\"resourceVersion\":\"");
        out.extend_from_slice(version.to_string().as_bytes());
        out.push(b'"');
        if self.body.first() != Some(&b'}') {
            out.push(b',');
        }
        out.extend_from_slice(&self.body);
    }

    /// Returns the object as a tree, in the given API version.
    pub fn decode(&self, api_version: &str, kind: &str, version: u64) -> Value {
        let mut bytes = Vec::new();
        self.write(&mut bytes, api_version, kind, version);
        serde_json::from_slice(&bytes).unwrap_or(Value::Null)
    }

    /// Returns the labels as a map.
    pub fn label_map(&self) -> BTreeMap<String, String> {
        self.labels
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect()
    }
}

fn version_of(object: &Map<String, Value>) -> &str {
    let version = object
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    version.rsplit('/').next().unwrap_or_default()
}

/// Returns a name that is shared by all records with that name. There are as many as versions were ever written.
fn shared(name: &str) -> Arc<str> {
    static NAMES: RwLock<Vec<Arc<str>>> = RwLock::new(Vec::new());
    let find = |names: &[Arc<str>]| names.iter().find(|known| &***known == name).cloned();
    if let Some(known) = find(&NAMES.read().unwrap_or_else(PoisonError::into_inner)) {
        return known;
    }
    let mut names = NAMES.write().unwrap_or_else(PoisonError::into_inner);
    find(&names).unwrap_or_else(|| {
        let new: Arc<str> = name.into();
        names.push(Arc::clone(&new));
        new
    })
}

fn is_head(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

fn member(bytes: &mut Vec<u8>, name: &str, value: &Value, first: &mut bool) {
    if !*first {
        bytes.push(b',');
    }
    *first = false;
    // Writing a tree of strings, numbers and maps with string keys into memory has no way to fail.
    serde_json::to_writer(&mut *bytes, name).unwrap_or_default();
    bytes.push(b':');
    serde_json::to_writer(&mut *bytes, value).unwrap_or_default();
}

fn labels_of(metadata: &Map<String, Value>) -> Labels {
    let Some(labels) = metadata.get("labels").and_then(Value::as_object) else {
        return Box::default();
    };
    let mut pairs: Vec<(Box<str>, Box<str>)> = labels
        .iter()
        .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
        .collect();
    pairs.sort();
    pairs.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_survives_encoding_and_takes_head_and_version_from_the_reader() {
        let object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a", "labels": {"x": "y"}, "resourceVersion": "7"}, "spec": {"n": 1}});
        let record = Record::encode("ns/a", &object, 0);
        let read = record.decode("g/v2", "K", 9);
        assert_eq!(
            read,
            json!({"apiVersion": "g/v2", "kind": "K", "metadata": {"name": "a", "labels": {"x": "y"}, "resourceVersion": "9"}, "spec": {"n": 1}})
        );
        assert_eq!(record.label_map().get("x").map(String::as_str), Some("y"));
        assert_eq!((record.namespace(), record.name()), ("ns", "a"));
    }

    #[test]
    fn the_same_bytes_in_another_version_are_another_object() {
        let of = |version: &str| {
            Record::encode("a", &json!({"apiVersion": version, "metadata": {"name": "a"}}), 0)
        };
        let (one, two) = (of("g.io/v1"), of("g.io/v2"));
        assert_eq!((&*one.written_in, &*two.written_in), ("v1", "v2"));
        assert_eq!(one.body, two.body);
        assert!(!one.is_same(&two) && one.is_same(&of("g.io/v1")));
    }

    #[test]
    fn bytes_do_not_depend_on_the_resource_version() {
        let one = Record::encode(
            "a",
            &json!({"metadata": {"name": "a", "resourceVersion": "1"}}),
            0,
        );
        let two = Record::encode(
            "a",
            &json!({"metadata": {"name": "a", "resourceVersion": "2"}}),
            0,
        );
        assert_eq!(one.body, two.body);
        assert_eq!(
            Record::encode("a", &json!({}), 0).decode("v1", "K", 3),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"resourceVersion": "3"}})
        );
    }
}
