//! Writes reports, and takes them away.
//!
//! Decides nothing about what a report says. What stands on the hub is read first: a report that says the same already, written
//! by the leader before, is left as it is, and results that it holds keep their time. What it says is read, not believed: the
//! hash on a report proves nothing, because another client may have edited the report.

use jiff::Timestamp;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::report_watch::resource;
use crate::controllers::runtime::raw::Raw;
use audit::{NAME, ReportKind, is_intact, stamp};

/// Name under which the API server records our writes.
pub(super) const FIELD_MANAGER: &str = "tidegate";

/// What became of a report.
pub(super) enum Put {
    /// It stood there already, in this revision.
    Unchanged(String),
    /// It was written in this revision, or taken away.
    Done(String),
    /// Another client wrote first (409).
    Conflict,
    /// The hub refused it or did not answer.
    Failed(kube::Error),
}

/// Writes the report of a namespace, or takes it away when there is nothing to report.
pub(super) async fn apply_report(
    client: &Client,
    form: ReportKind,
    namespace: &str,
    body: Option<Value>,
    now: Timestamp,
) -> Put {
    let api: Api<Raw> = if form.is_namespaced() {
        Api::namespaced_with(client.clone(), namespace, &resource(form))
    } else {
        Api::all_with(client.clone(), &resource(form))
    };
    let done = match body {
        Some(body) => put(&api, body, now).await,
        None => remove(&api).await,
    };
    match done {
        Ok(put) => put,
        Err(kube::Error::Api(status)) if status.code == 409 => Put::Conflict,
        Err(error) => Put::Failed(error),
    }
}

async fn put(api: &Api<Raw>, mut body: Value, now: Timestamp) -> kube::Result<Put> {
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let Some(old) = api.get_opt(NAME).await? else {
        stamp(&mut body, None, now);
        let created = api.create(&params, &Raw::new(&body)).await?;
        return Ok(Put::Done(version_of(&created)));
    };
    let (unchanged, old) = (version_of(&old), old.object());
    if is_intact(&old, &body) {
        return Ok(Put::Unchanged(unchanged));
    }
    stamp(&mut body, Some(&old), now);
    // No write of another client is lost: the API server refuses the report on any other revision.
    let version = old.pointer("/metadata/resourceVersion").cloned();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), version.unwrap_or_else(|| json!("")));
    }
    let replaced = api.replace(NAME, &params, &Raw::new(&body)).await?;
    Ok(Put::Done(version_of(&replaced)))
}

async fn remove(api: &Api<Raw>) -> kube::Result<Put> {
    match api.delete(NAME, &DeleteParams::default()).await {
        Ok(_) => Ok(Put::Done(String::new())),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Put::Unchanged(String::new())),
        Err(error) => Err(error),
    }
}

fn version_of(report: &Raw) -> String {
    let report = report.object();
    let version = report.pointer("/metadata/resourceVersion");
    version.and_then(Value::as_str).unwrap_or_default().to_owned()
}
