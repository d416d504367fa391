//! The form in which objects are answered.
//!
//! Decides between the objects themselves, tables and bare metadata, as the client asked.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::errors::not_found;
use super::list::{self, Listed};
use super::page;
use super::watch::line;
use crate::error::ApiError;
use crate::http::{Form, Reply};
use crate::store::Record;

/// Answers with one object.
pub(super) fn object(_call: &Call, status: u16, object: &Value) -> Result<Reply, ApiError> {
    Ok(Reply::json(status, object))
}

/// Answers with a scale.
pub(super) fn scale(_call: &Call, scale: &Value) -> Result<Reply, ApiError> {
    Ok(Reply::json(200, scale))
}

/// Answers a GET of an object.
pub(super) async fn read(call: &Call) -> Result<Reply, ApiError> {
    let version = call.query.text("resourceVersion");
    if !version.is_empty() {
        let number = version.parse::<u64>().map_err(|_| page::bad_version(version))?;
        page::await_version(&call.served.table, number).await?;
    }
    let missing = || not_found(&call.served.resource, &call.name);
    let record = call.served.table.read(&call.key()).ok_or_else(missing)?;
    if call.accepted.form == Form::Objects {
        let mut bytes = Vec::new();
        call.served.write(&record, record.version, &mut bytes);
        return Ok(Reply::bytes(200, bytes));
    }
    object(call, 200, &call.served.decode(&record, record.version))
}

/// Answers with a list.
pub(super) fn list(call: &Call, listed: &Listed) -> Result<Reply, ApiError> {
    Ok(Reply::bytes(200, list::write(call, listed)))
}

/// Returns the metadata of a list.
pub(super) fn list_metadata(call: &Call, listed: &Listed) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), json!(listed.version.to_string()));
    if call.is_custom() || !listed.next.is_empty() {
        metadata.insert("continue".to_owned(), json!(listed.next));
    }
    if let Some(remaining) = listed.remaining {
        metadata.insert("remainingItemCount".to_owned(), json!(remaining));
    }
    Value::Object(metadata)
}

/// Writes the lines of a watch.
#[derive(Debug)]
pub(super) struct Frames;

impl Frames {
    /// Returns the writer for the form that a client asked for.
    pub(super) fn new(_call: &Call) -> Result<Self, ApiError> {
        Ok(Self)
    }

    /// Writes a change of an object.
    pub(super) fn event(&mut self, kind: &str, call: &Call, record: &Record, version: u64) -> Bytes {
        let mut out = Vec::with_capacity(record.body.len() + 256);
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        call.served.write(record, version, &mut out);
        out.extend_from_slice(b"}\n");
        Bytes::from(out)
    }

    /// Writes how far the hub has come.
    pub(super) fn bookmark(&mut self, call: &Call, version: u64, initial: bool) -> Bytes {
        let resource = &call.served.resource;
        let mut metadata = json!({ "resourceVersion": version.to_string() });
        if initial && let Some(members) = metadata.as_object_mut() {
            members.insert("annotations".to_owned(), json!({ "k8s.io/initial-events-end": "true" }));
        }
        let object = json!({ "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": metadata });
        line(&json!({ "type": "BOOKMARK", "object": object }))
    }
}
