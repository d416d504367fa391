//! What is known about a namespace: what policies may ask of the place in which an object lives.
//!
//! Decides nothing. Keeps names, labels and annotations; what a hub adds by itself, such as a uid, no folder of files can tell.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::label_map::LabelMap;
use crate::names::Names;

/// The label that every namespace has: its name.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// What is known about a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its labels, the one with its name included.
    pub labels: LabelMap,
    /// Its annotations.
    pub annotations: LabelMap,
}

impl NamespaceFacts {
    /// Reads the metadata of a namespace. The label with its name is there even if a file does not write it: the hub does.
    pub fn of(metadata: &ObjectMeta, names: &mut Names) -> Self {
        let own = (
            NAMESPACE_NAME.to_owned(),
            metadata.name.clone().unwrap_or_default(),
        );
        let labels = metadata.labels.iter().flatten();
        Self {
            labels: LabelMap::share(labels.chain([(&own.0, &own.1)]), names),
            annotations: LabelMap::share(metadata.annotations.iter().flatten(), names),
        }
    }

    /// Returns the namespace as policies see it. No annotations are no field, as in Kubernetes.
    pub fn value(&self, name: &str) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), json!(name));
        for (field, pairs) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !pairs.is_empty() {
                let pairs = pairs.iter();
                let all: Map<String, Value> = pairs
                    .map(|(key, value)| (key.to_string(), json!(&**value)))
                    .collect();
                metadata.insert(field.to_owned(), Value::Object(all));
            }
        }
        json!({ "metadata": metadata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_its_name_as_a_label_and_no_annotations_unless_it_has_some() {
        let read = |metadata: Value| {
            let metadata: ObjectMeta = serde_json::from_value(metadata).expect("metadata");
            NamespaceFacts::of(&metadata, &mut Names::default()).value("c1")
        };
        assert_eq!(
            read(json!({"name": "c1", "labels": {"env": "prod"}, "uid": "u"})),
            json!({"metadata": {"name": "c1", "labels": {"env": "prod", (NAMESPACE_NAME): "c1"}}})
        );
        assert_eq!(
            read(json!({"name": "c1", "annotations": {"owner": "a"}})),
            json!({"metadata": {"name": "c1", "labels": {(NAMESPACE_NAME): "c1"}, "annotations": {"owner": "a"}}})
        );
    }
}
