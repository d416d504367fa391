//! The index of `/openapi/v3`, and the hashes by which clients know whether a document changed.
//!
//! Decides which documents there are and when a hash changes.

use serde_json::{Map, Value, json};

use crate::Resource;
use crate::discovery::{groups, hexadecimal};

/// Returns the document of `/openapi/v3`.
pub fn index(resources: &[Resource]) -> Value {
    let mut paths = Map::new();
    for path in document_paths(resources) {
        let hash = fingerprint(resources, &path);
        paths.insert(
            path.clone(),
            json!({ "serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}") }),
        );
    }
    json!({ "paths": paths })
}

/// Returns the names of all documents, such as `api/v1` and `apis/apiextensions.k8s.io`.
pub(super) fn document_paths(resources: &[Resource]) -> Vec<String> {
    let mut paths = vec!["api".to_owned(), "apis".to_owned(), "version".to_owned()];
    if resources.iter().any(|resource| resource.group.is_empty()) {
        paths.push("api/v1".to_owned());
    }
    for (group, versions) in groups(resources) {
        paths.extend(versions.iter().map(|version| format!("apis/{group}/{version}")));
        paths.push(format!("apis/{group}"));
    }
    paths
}

/// Returns the resources that a document describes.
pub(super) fn described<'a>(resources: &'a [Resource], path: &str) -> Vec<&'a Resource> {
    resources
        .iter()
        .filter(|resource| document_path(resource) == path)
        .collect()
}

fn document_path(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    format!("{root}/{}", resource.api_version())
}

/// Returns the hash of a document, without making the document.
pub fn fingerprint(resources: &[Resource], path: &str) -> String {
    let mut text = format!("{} {path}\n", env!("CARGO_PKG_VERSION"));
    text.extend(described(resources, path).into_iter().map(|resource| {
        let schema = resource
            .open_api
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let names = (&resource.kind, &resource.plural, &resource.verbs);
        format!("{names:?} {:?} {} {schema}\n", resource.scope, resource.status)
    }));
    hexadecimal(text.as_bytes())
}
