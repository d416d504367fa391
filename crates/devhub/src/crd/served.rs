//! From a definition to what is served.
//!
//! Decides how each version of a definition looks to clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use schema::Schema;
use serde_json::{Value, json};

use crate::registry::{Custom, Served};
use crate::resource::{Column, Resource, ScalePaths, Scope};
use crate::store::Store;

/// Numbers of schemas. 0 is for built-in kinds.
static SHAPES: AtomicU32 = AtomicU32::new(1);

const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// Returns the served versions of a definition. A version whose schema is as before keeps its number.
pub(super) fn versions(store: &Store, definition: &Value, before: &[Arc<Served>]) -> Vec<Arc<Served>> {
    let list: Vec<&Value> = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    let is_served = |version: &&&Value| version.get("served") == Some(&Value::Bool(true));
    let names: Vec<String> = list
        .iter()
        .filter(is_served)
        .map(|version| part(version, "name"))
        .collect();
    let resource = |version: &Value| resource(definition, version);
    list.iter()
        .filter(is_served)
        .filter_map(|version| {
            let resource = resource(version);
            let table = store.table(&resource.group_resource());
            let custom = custom(definition, version, &names, before, &resource)?;
            Some(Arc::new(Served {
                resource,
                table,
                custom: Some(custom),
                ownable: std::sync::OnceLock::new(),
            }))
        })
        .collect()
}

fn custom(
    definition: &Value,
    version: &Value,
    names: &[String],
    before: &[Arc<Served>],
    resource: &Resource,
) -> Option<Custom> {
    let open_api = resource.open_api.clone().unwrap_or_default();
    let schema = Schema::parse(&open_api).ok()?;
    let same = before.iter().find(|old| {
        old.resource.version == resource.version && old.resource.open_api.as_deref() == Some(&*open_api)
    });
    let shape = same.map_or_else(|| SHAPES.fetch_add(1, Ordering::Relaxed), |old| old.shape());
    let deprecated = version.get("deprecated") == Some(&Value::Bool(true));
    let warning = version
        .get("deprecationWarning")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let text = || format!("{} {} is deprecated", resource.api_version(), resource.kind);
    let selectable = version
        .get("selectableFields")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Some(Custom {
        schema,
        shape,
        definition: definition
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        terminating: definition.pointer("/metadata/deletionTimestamp").is_some(),
        deprecation: deprecated.then(|| warning.unwrap_or_else(text)),
        other_versions: names
            .iter()
            .filter(|name| **name != resource.version)
            .cloned()
            .collect(),
        selectable: selectable.map(|field| part(field, "jsonPath")).collect(),
    })
}

fn resource(definition: &Value, version: &Value) -> Resource {
    let spec = definition.get("spec").cloned().unwrap_or_default();
    let names = spec.get("names").cloned().unwrap_or_default();
    let texts = |name: &str| -> Vec<String> {
        let list = names.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let scope = if part(&spec, "scope") == "Cluster" {
        Scope::Cluster
    } else {
        Scope::Namespaced
    };
    let open_api = version
        .pointer("/schema/openAPIV3Schema")
        .cloned()
        .unwrap_or_else(|| json!({ "type": "object" }));
    let columns = version
        .get("additionalPrinterColumns")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Resource {
        group: part(&spec, "group"),
        version: part(version, "name"),
        kind: part(&names, "kind"),
        list_kind: part(&names, "listKind"),
        plural: part(&names, "plural"),
        singular: part(&names, "singular"),
        short_names: texts("shortNames"),
        categories: texts("categories"),
        scope,
        verbs: VERBS.map(str::to_owned).to_vec(),
        status: version
            .pointer("/subresources/status")
            .is_some_and(Value::is_object),
        scale: version
            .pointer("/subresources/scale")
            .filter(|scale| scale.is_object())
            .map(|scale| ScalePaths {
                spec_replicas: part(scale, "specReplicasPath"),
                status_replicas: part(scale, "statusReplicasPath"),
                label_selector: scale
                    .get("labelSelectorPath")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            }),
        columns: columns.map(column).collect(),
        open_api: Some(Arc::new(open_api)),
        custom: true,
    }
}

fn column(column: &Value) -> Column {
    Column {
        name: part(column, "name"),
        kind: part(column, "type"),
        format: part(column, "format"),
        description: part(column, "description"),
        priority: column
            .get("priority")
            .and_then(Value::as_i64)
            .and_then(|priority| i32::try_from(priority).ok())
            .unwrap_or_default(),
        json_path: part(column, "jsonPath"),
    }
}

fn part(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
