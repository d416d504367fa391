//! What admission policies see of the hub besides the request.
//!
//! Decides which stored objects are meant; reads them, never changes any.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use schema::cel::Authority;
use serde_json::Value;

use crate::admission::{Everything, ParamQuery, Surroundings};
use crate::hub::Hub;
use crate::registry::Served;
use crate::resource::Scope;
use crate::selector::LabelSelector;
use crate::store::{Page, Record, key_of};

/// The hub around one request.
#[derive(Clone, Debug)]
pub(super) struct Around {
    hub: Arc<Hub>,
}

impl Around {
    /// Returns the surroundings of a request.
    pub(super) fn new(hub: &Arc<Hub>) -> Self {
        Self { hub: Arc::clone(hub) }
    }

    fn find(&self, api_version: &str, kind: &str) -> Option<Arc<Served>> {
        let registry = self.hub.directory.load();
        let mut all = registry.all();
        let found = all.find(|served| {
            let resource = &served.resource;
            resource.kind == kind && resource.api_version() == api_version
        });
        found.cloned()
    }
}

impl Surroundings for Around {
    fn namespace(&self, name: &str) -> Option<Value> {
        let registry = self.hub.directory.load();
        let namespaces = registry.find("", "v1", "namespaces")?;
        let record = namespaces.table.read(name)?;
        Some(namespaces.decode(&record, record.version))
    }

    fn scope(&self, api_version: &str, kind: &str) -> Option<Scope> {
        self.find(api_version, kind).map(|served| served.resource.scope)
    }

    fn params<'a>(&'a self, query: &'a ParamQuery) -> BoxFuture<'a, Result<Vec<Value>, String>> {
        async move {
            let Some(served) = self.find(&query.api_version, &query.kind) else {
                return Ok(Vec::new());
            };
            let stored: Vec<Value> = records(&served, query)
                .iter()
                .map(|record| served.stored(record, record.version))
                .collect();
            let mut found = match &served.custom {
                None => stored,
                Some(custom) => {
                    let version = &served.resource.version;
                    let converted = custom.versions.convert(stored, version).await;
                    converted.map_err(|error| error.message)?
                }
            };
            if query.name.is_empty() {
                let selector = LabelSelector::from_object(Some(&query.selector))?;
                found.retain(|object| selector.matches_object(object));
            }
            Ok(found)
        }
        .boxed()
    }

    fn authority(&self) -> Arc<dyn Authority> {
        // Every authenticated user may do everything.
        Arc::new(Everything)
    }
}

fn records(served: &Served, query: &ParamQuery) -> Vec<Arc<Record>> {
    if !query.name.is_empty() {
        let key = key_of(&query.namespace, &query.name);
        return served.table.read(&key).into_iter().collect();
    }
    let prefix = if query.namespace.is_empty() {
        String::new()
    } else {
        format!("{}/", query.namespace)
    };
    let page = Page {
        prefix: &prefix,
        ..Page::default()
    };
    served
        .table
        .list(&page)
        .map(|snapshot| snapshot.records)
        .unwrap_or_default()
}
