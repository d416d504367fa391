//! One `OpenAPI` v3 document.
//!
//! Decides what a document consists of; its paths and schemas are made by the neighbouring files.

use serde_json::{Map, Value, json};

use super::{index, paths, schemas};
use crate::Resource;

/// Returns the document `path` (`api/v1`, `apis/<group>/<version>`, `apis/<group>`, `api`, `apis` or `version`), or `None` when
/// there is no such document.
pub fn document(resources: &[Resource], path: &str) -> Option<Value> {
    if !index::document_paths(resources).iter().any(|known| known == path) {
        return None;
    }
    let described = index::described(resources, path);
    let custom = described.iter().any(|resource| resource.custom);
    let (paths, schemas) = match described.as_slice() {
        [] => (paths::discovery(path), Map::new()),
        described => (paths::of(described), schemas::of(described)),
    };
    Some(json!({
        "openapi": "3.0.0",
        "info": { "title": if custom { "Kubernetes CRD Swagger" } else { "Kubernetes" }, "version": "v1.36" },
        "paths": paths,
        "components": { "schemas": schemas },
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::{Scope, builtin};

    fn resources() -> Vec<Resource> {
        let mut all = builtin::resources();
        let mut widgets = all[0].clone();
        widgets.custom = true;
        "dev.example.io".clone_into(&mut widgets.group);
        "Widget".clone_into(&mut widgets.kind);
        "WidgetList".clone_into(&mut widgets.list_kind);
        "widgets".clone_into(&mut widgets.plural);
        widgets.status = true;
        widgets.open_api = Some(Arc::new(
            json!({"type": "object", "properties": {"metadata": {"type": "object"}, "spec": {"type": "object", "properties": {
            "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"], "items": {"type": "object"}}}}}}),
        ));
        let mut gadgets = widgets.clone();
        "Gadget".clone_into(&mut gadgets.kind);
        "GadgetList".clone_into(&mut gadgets.list_kind);
        "gadgets".clone_into(&mut gadgets.plural);
        gadgets.scope = Scope::Cluster;
        gadgets.status = false;
        all.extend([widgets, gadgets]);
        all
    }

    #[test]
    fn custom_documents_have_what_the_recordings_name() {
        let document = document(&resources(), "apis/dev.example.io/v1").expect("a document");
        for pointer in [
            "/openapi",
            "/info/title",
            "/paths/~1apis~1dev.example.io~1v1~1namespaces~1{namespace}~1widgets/get",
            "/paths/~1apis~1dev.example.io~1v1~1namespaces~1{namespace}~1widgets/post",
            "/paths/~1apis~1dev.example.io~1v1~1namespaces~1{namespace}~1widgets~1{name}/patch",
            "/paths/~1apis~1dev.example.io~1v1~1namespaces~1{namespace}~1widgets~1{name}~1status/put",
            "/paths/~1apis~1dev.example.io~1v1~1widgets/get",
            "/paths/~1apis~1dev.example.io~1v1~1gadgets~1{name}/delete",
            "/components/schemas/io.example.dev.v1.Widget/properties/spec/properties/ports",
            "/components/schemas/io.example.dev.v1.WidgetList/properties/items",
            "/components/schemas/io.example.dev.v1.Gadget",
            "/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
            "/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
        ] {
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        let widget = &document["components"]["schemas"]["io.example.dev.v1.Widget"];
        for (pointer, expected) in [
            (
                "/x-kubernetes-group-version-kind",
                json!([{"group": "dev.example.io", "kind": "Widget", "version": "v1"}]),
            ),
            (
                "/properties/spec/properties/ports/x-kubernetes-list-map-keys",
                json!(["port"]),
            ),
            (
                "/properties/spec/properties/color",
                json!({"default": "red", "enum": ["red", "green"], "type": "string"}),
            ),
            (
                "/properties/metadata/allOf",
                json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]),
            ),
        ] {
            assert_eq!(widget.pointer(pointer), Some(&expected), "{pointer}");
        }
    }

    #[test]
    fn patches_name_what_kubectl_looks_for() {
        let all = resources();
        for (path, operation, strategic) in [
            ("api/v1", "/paths/~1api~1v1~1namespaces~1{name}/patch", true),
            (
                "apis/dev.example.io/v1",
                "/paths/~1apis~1dev.example.io~1v1~1gadgets~1{name}/patch",
                false,
            ),
        ] {
            let document = document(&all, path).expect("a document");
            let patch = document.pointer(operation).expect("a patch");
            let names: Vec<&str> = patch["parameters"]
                .as_array()
                .expect("parameters")
                .iter()
                .filter_map(|one| one["name"].as_str())
                .collect();
            assert!(
                names.contains(&"dryRun") && names.contains(&"fieldValidation") && names.contains(&"force"),
                "{names:?}"
            );
            assert!(patch["x-kubernetes-group-version-kind"]["kind"].is_string());
            let content = patch["requestBody"]["content"].as_object().expect("content");
            assert_eq!(
                content.contains_key("application/strategic-merge-patch+json"),
                strategic,
                "{path}"
            );
        }
    }

    #[test]
    fn every_document_of_the_index_is_complete() {
        let all = resources();
        let index = index::index(&all);
        let mut operations = BTreeSet::new();
        for path in index["paths"].as_object().expect("paths").keys() {
            let document = document(&all, path).unwrap_or_else(|| panic!("{path}"));
            let text = document.to_string();
            for target in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
                let name = target.split('"').next().expect("a name");
                assert!(
                    document["components"]["schemas"].get(name).is_some(),
                    "{path}: {name}"
                );
            }
            for id in text.split("\"operationId\":\"").skip(1) {
                let id = id.split('"').next().expect("an id").to_owned();
                assert!(operations.insert(id.clone()), "{path}: {id} stands twice");
            }
        }
        assert!(document(&all, "apis/nosuch.example.io/v1").is_none());
    }

    #[test]
    fn hashes_change_with_the_schema_only() {
        let before = resources();
        let mut after = resources();
        let last = after.len() - 1;
        after[last].open_api = Some(Arc::new(json!({"type": "object"})));
        let hash = |resources: &[Resource], path: &str| index::fingerprint(resources, path);
        assert_eq!(hash(&before, "api/v1"), hash(&after, "api/v1"));
        assert_ne!(
            hash(&before, "apis/dev.example.io/v1"),
            hash(&after, "apis/dev.example.io/v1")
        );
    }

    #[test]
    fn built_in_schemas_carry_merge_keys_and_kinds() {
        let document = document(&resources(), "api/v1").expect("a document");
        let schemas = &document["components"]["schemas"];
        let account = &schemas["io.k8s.api.core.v1.ServiceAccount"];
        assert_eq!(
            account["properties"]["secrets"]["x-kubernetes-patch-merge-key"],
            "name"
        );
        assert_eq!(
            account["x-kubernetes-group-version-kind"],
            json!([{"group": "", "kind": "ServiceAccount", "version": "v1"}])
        );
        assert!(
            schemas.get("io.k8s.api.rbac.v1.Role").is_none(),
            "only what the group needs"
        );
    }
}
