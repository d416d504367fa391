//! Objects reduced to their metadata.
//!
//! Decides `PartialObjectMetadata` and its list.

use serde_json::{Map, Value, json};

use super::style::MetaVersion;

/// Returns the metadata of `object` as an object of its own.
pub fn partial_object(object: &Value, version: MetaVersion) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": version.api_version(),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| Value::Object(Map::new())),
    })
}

/// Returns the metadata of the objects of a list; `metadata` is that of the list.
pub fn partial_list(metadata: &Value, items: &[Value], version: MetaVersion) -> Value {
    let items: Vec<Value> = items.iter().map(|item| partial_object(item, version)).collect();
    json!({ "kind": "PartialObjectMetadataList", "apiVersion": version.api_version(), "metadata": metadata, "items": items })
}
