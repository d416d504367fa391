//! From a definition to what is served.
//!
//! Decides how each version of a definition looks to clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use schema::Schema;
use serde_json::{Value, json};

use super::prepare::storage_version;
use crate::admission::Services;
use crate::conversion::{VersionSchema, Versions, Webhook};
use crate::registry::{Custom, Served};
use crate::resource::{CUSTOM_VERBS, Column, Resource, Scope};
use crate::store::Store;

/// Numbers of schemas. 0 is for built-in kinds.
static SHAPES: AtomicU32 = AtomicU32::new(1);

/// Returns the served versions of a definition. A version whose schema is as before keeps its number.
pub(super) fn versions(
    store: &Store,
    services: &Services,
    definition: &Value,
    before: &[Arc<Served>],
) -> Vec<Arc<Served>> {
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
    let before = before.iter().find_map(|served| served.custom.as_ref());
    let versions = Arc::new(all(definition, services, before.map(|custom| &*custom.versions)));
    list.iter()
        .filter(is_served)
        .filter_map(|version| {
            let resource = resource(version);
            let table = store.table(&resource.group_resource());
            let custom = custom(definition, version, &names, &versions)?;
            Some(Arc::new(Served {
                resource,
                table,
                custom: Some(custom),
                ownable: std::sync::OnceLock::new(),
            }))
        })
        .collect()
}

/// Returns all versions of a definition.
fn all(definition: &Value, services: &Services, before: Option<&Versions>) -> Versions {
    let spec = |pointer: &str| definition.pointer(&format!("/spec{pointer}"));
    let known = spec("/versions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|version| {
            let name = part(version, "name");
            let old = before.and_then(|before| before.known.get(&name));
            Some((name, known(open_api(version), old)?))
        })
        .collect();
    let converts = spec("/conversion/strategy").and_then(Value::as_str) == Some("Webhook");
    let webhook = spec("/conversion/webhook").filter(|_| converts);
    Versions {
        group: part(spec("").unwrap_or(&Value::Null), "group"),
        kind: part(spec("/names").unwrap_or(&Value::Null), "kind"),
        storage: storage_version(definition).unwrap_or_default().to_owned(),
        known,
        webhook: webhook.map(|webhook| Webhook::new(webhook, services)),
    }
}

fn known(open_api: Arc<Value>, before: Option<&VersionSchema>) -> Option<VersionSchema> {
    if let Some(same) = before.filter(|before| before.open_api == open_api) {
        return Some(same.clone());
    }
    Some(VersionSchema {
        schema: Arc::new(Schema::parse(&open_api).ok()?),
        open_api,
        shape: SHAPES.fetch_add(1, Ordering::Relaxed),
    })
}

fn open_api(version: &Value) -> Arc<Value> {
    let written = version.pointer("/schema/openAPIV3Schema").cloned();
    Arc::new(written.unwrap_or_else(|| json!({ "type": "object" })))
}

fn custom(definition: &Value, version: &Value, names: &[String], versions: &Arc<Versions>) -> Option<Custom> {
    let name = part(version, "name");
    let known = versions.known.get(&name)?;
    let deprecated = version.get("deprecated") == Some(&Value::Bool(true));
    let warning = version
        .get("deprecationWarning")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let text = || format!("{} {} is deprecated", versions.api_version(&name), versions.kind);
    let selectable = version
        .get("selectableFields")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Some(Custom {
        schema: Arc::clone(&known.schema),
        shape: known.shape,
        versions: Arc::clone(versions),
        recent: tokio::sync::Mutex::default(),
        definition: definition
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        terminating: definition.pointer("/metadata/deletionTimestamp").is_some(),
        deprecation: deprecated.then(|| warning.unwrap_or_else(text)),
        other_versions: names.iter().filter(|other| **other != name).cloned().collect(),
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
        verbs: CUSTOM_VERBS.map(str::to_owned).to_vec(),
        status: version
            .pointer("/subresources/status")
            .is_some_and(Value::is_object),
        columns: columns.map(column).collect(),
        open_api: Some(open_api(version)),
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
