//! Documents that describe the hub: version, health, discovery and `OpenAPI`.
//!
//! Selects the document by path and `Accept` header; other modules create its content.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::header::{ETAG, VARY};
use serde_json::{Value, json};

use crate::discovery::{self, Root, StorageVersions};
use crate::error::ApiError;
use crate::http::{Menu, Payload, Query, Reply, refusal};
use crate::hub::Hub;
use crate::openapi;
use crate::registry::Registry;

/// Kubernetes version whose behaviour the hub follows. What is added behind the plus does not disturb version comparisons.
const VERSION: &str = "v1.36.2+devhub";

/// Returns `/version`.
pub(crate) fn version() -> Reply {
    Reply::json(
        200,
        &json!({
            "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
            "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
            "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "none", "compiler": "rustc",
            "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        }),
    )
}

/// Returns `/healthz`, `/livez` or `/readyz`. A hub that answers is healthy.
pub(crate) fn health(name: &str, query: &Query) -> Reply {
    if query.first("verbose").is_some() {
        Reply::text(200, &format!("[+]ping ok\n[+]store ok\n{name} check passed\n"))
    } else {
        Reply::text(200, "ok")
    }
}

/// Returns `/api`.
pub(crate) fn core(hub: &Hub, accept: Option<&str>, etag: Option<&str>) -> Reply {
    match wanted(accept) {
        Err(error) => Reply::error(&error),
        Ok(DiscoveryForm::Aggregated) => aggregated(hub, Root::Core, etag),
        Ok(DiscoveryForm::Plain) => {
            Reply::json(200, &discovery::api_versions(hub.address())).with_header(VARY, "Accept")
        }
    }
}

/// Returns `/apis`.
pub(crate) fn groups(hub: &Hub, accept: Option<&str>, etag: Option<&str>) -> Reply {
    match wanted(accept) {
        Err(error) => Reply::error(&error),
        Ok(DiscoveryForm::Aggregated) => aggregated(hub, Root::Named, etag),
        Ok(DiscoveryForm::Plain) => {
            let list = discovery::group_list(&hub.directory.load().resources());
            Reply::json(200, &list).with_header(VARY, "Accept")
        }
    }
}

/// Returns `/apis/<group>`.
pub(crate) fn group(hub: &Hub, name: &str) -> Reply {
    discovery::group(&hub.directory.load().resources(), name)
        .map_or_else(Reply::unknown_path, |group| Reply::json(200, &group))
}

/// Returns `/api/v1` or `/apis/<group>/<version>`.
pub(crate) fn resources(hub: &Hub, group: &str, version: &str) -> Reply {
    let registry = hub.directory.load();
    let list = discovery::resource_list(&registry.resources(), group, version, &stored_versions(&registry));
    match list {
        Some(list) => Reply::json(200, &list),
        None if group.is_empty() => {
            let error = ApiError::new(
                404,
                "NotFound",
                "the server could not find the requested resource",
            )
            .with_details(json!({}));
            Reply::error(&error)
        }
        None => Reply::unknown_path(),
    }
}

/// Returns the storage version of each definition that is served. Every client reads discovery, so no definition is decoded for it.
fn stored_versions(registry: &Registry) -> StorageVersions {
    // Kubernetes' own first storage version; clients only see that the hash stays the same.
    let own = (
        "customresourcedefinitions.apiextensions.k8s.io".to_owned(),
        "v1beta1".to_owned(),
    );
    let custom = registry.all().filter_map(|served| {
        let custom = served.custom.as_ref()?;
        Some((custom.definition.clone(), custom.versions.storage.clone()))
    });
    custom.chain([own]).collect()
}

/// The format of a discovery root.
enum DiscoveryForm {
    /// All groups, versions and resources at once.
    Aggregated,
    /// The plain document, in which each group is asked for by itself.
    Plain,
}

/// Returns the first form that a client takes; there is none for who takes only what is not written.
fn wanted(accept: Option<&str>) -> Result<DiscoveryForm, ApiError> {
    let Some(accept) = accept.map(str::trim).filter(|accept| !accept.is_empty()) else {
        return Ok(DiscoveryForm::Plain);
    };
    accept
        .split(',')
        .find_map(form)
        .ok_or_else(|| refusal(Menu::BuiltinObject))
}

fn form(clause: &str) -> Option<DiscoveryForm> {
    let mut parts = clause.split(';').map(str::trim);
    if !matches!(
        parts.next(),
        Some("application/json" | "application/yaml" | "application/*" | "*/*")
    ) {
        return None;
    }
    let (mut wanted, mut version) = ("", "");
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => wanted = value,
            Some(("v", value)) => version = value,
            _ => {}
        }
    }
    match (wanted, version) {
        ("APIGroupDiscoveryList", "v2") => Some(DiscoveryForm::Aggregated),
        ("", _) => Some(DiscoveryForm::Plain),
        _ => None,
    }
}

fn aggregated(hub: &Hub, root: Root, etag: Option<&str>) -> Reply {
    let document = discovery::aggregated(&hub.directory.load().resources(), root);
    tagged(discovery::AGGREGATED, &document, etag).with_header(VARY, "Accept")
}

/// Answers 304 to a client that has the document already.
fn tagged(content_type: &'static str, document: &Value, etag: Option<&str>) -> Reply {
    let bytes = serde_json::to_vec(document).unwrap_or_default();
    let tag = discovery::entity_tag(&bytes);
    if etag == Some(tag.as_str()) {
        return not_modified(tag);
    }
    Reply {
        status: 200,
        payload: Payload::Raw(content_type, bytes),
        headers: Vec::new(),
    }
    .with_header(ETAG, tag)
}

fn not_modified(tag: String) -> Reply {
    Reply {
        status: 304,
        payload: Payload::Empty,
        headers: Vec::new(),
    }
    .with_header(ETAG, tag)
}

/// Returns `/openapi/v3` or one of its documents. Documents are kept until what they describe changes.
pub(crate) fn openapi(hub: &Hub, document: &str, etag: Option<&str>) -> Reply {
    let resources = hub.directory.load().resources();
    if document.is_empty() {
        return tagged("text/plain; charset=utf-8", &openapi::index(&resources), etag);
    }
    let fingerprint = openapi::fingerprint(&resources, document);
    let tag = format!("\"{fingerprint}\"");
    if etag == Some(tag.as_str()) {
        return not_modified(tag);
    }
    let make = || serde_json::to_vec(&openapi::document(&resources, document)?).ok();
    match hub.openapi.get_or_make(document, &fingerprint, make) {
        Some(bytes) => Reply {
            status: 200,
            payload: Payload::Raw("application/json", bytes),
            headers: Vec::new(),
        }
        .with_header(ETAG, tag),
        None => Reply::unknown_path(),
    }
}

/// Returns `/openapi/v2`, which describes nothing: kubectl asks for it before it sends a list or a kind that it does not know.
pub(crate) fn openapi_v2(accept: Option<&str>) -> Reply {
    if accept.is_some_and(|accept| accept.contains("+protobuf")) {
        return Reply {
            status: 200,
            payload: Payload::Raw(
                "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                Vec::new(),
            ),
            headers: Vec::new(),
        };
    }
    let info = json!({ "title": "Kubernetes", "version": "v1.36" });
    Reply::json(
        200,
        &json!({ "swagger": "2.0", "info": info, "paths": {}, "definitions": {} }),
    )
}

/// Documents that cost milliseconds to make.
#[derive(Debug, Default)]
pub(crate) struct DocumentCache {
    documents: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
}

impl DocumentCache {
    /// Returns a document, created again if its source has changed.
    fn get_or_make(
        &self,
        path: &str,
        fingerprint: &str,
        make: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, bytes)) = documents.get(path)
            && known == fingerprint
        {
            return Some(bytes.clone());
        }
        let bytes = make()?;
        documents.insert(path.to_owned(), (fingerprint.to_owned(), bytes.clone()));
        Some(bytes)
    }
}
