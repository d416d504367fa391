//! What admission policies see of the hub besides the request.
//!
//! Decides which stored objects are meant; reads them, never changes any.

use std::sync::Arc;

use cel_engine::{Access, Authority, Decision};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::admission::{AdmissionContext, ParamQuery, UserInfo};
use crate::hub::Hub;
use crate::registry::Served;
use crate::resource::Scope;
use crate::rights::{About, Question, ResourceAttributes};
use crate::store::{Page, Record, key_of};
use kubernetes::labels::Selector;

/// The hub around one request.
#[derive(Clone, Debug)]
pub(super) struct RequestContext {
    hub: Arc<Hub>,
    user: UserInfo,
}

impl RequestContext {
    /// Returns the surroundings of a request.
    pub(super) fn new(hub: &Arc<Hub>, user: &UserInfo) -> Self {
        Self {
            hub: Arc::clone(hub),
            user: user.clone(),
        }
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

impl AdmissionContext for RequestContext {
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
                let selector = Selector::from_json(Some(&query.selector))?;
                found.retain(|object| selector.matches_object(object));
            }
            Ok(found)
        }
        .boxed()
    }

    fn authority(&self) -> Arc<dyn Authority> {
        Arc::new(self.clone())
    }
}

impl Authority for RequestContext {
    fn decide(&self, access: &Access) -> Decision {
        let about = match &access.path {
            Some(path) => About::Path(path.clone()),
            None => About::Resource(ResourceAttributes {
                group: access.group.clone(),
                resource: access.resource.clone(),
                subresource: access.subresource.clone(),
                namespace: access.namespace.clone(),
                name: access.name.clone(),
            }),
        };
        let question = Question {
            verb: access.verb.clone(),
            about,
        };
        let account = access.service_account.as_ref();
        let account = account.map(|(namespace, name)| account_user(namespace, name));
        let verdict = self
            .hub
            .rights
            .decide(account.as_ref().unwrap_or(&self.user), &question);
        let reason = verdict.reason;
        if verdict.allowed {
            Decision::Allowed { reason }
        } else {
            Decision::Denied { reason }
        }
    }
}

/// Returns a service account as a user.
fn account_user(namespace: &str, name: &str) -> UserInfo {
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ];
    UserInfo {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        groups: groups.into(),
        ..UserInfo::default()
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
