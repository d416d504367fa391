//! The form in which objects are answered.
//!
//! Decides between the objects themselves, tables and bare metadata, as the client asked.

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::errors::not_found;
use super::list::{self, Listed};
use super::page;
use super::watch::line;
use crate::error::ApiError;
use crate::http::{Form, Reply};
use crate::store::Record;
use crate::table::{Include, Layout, MetaVersion, Style, partial_list, partial_object};

/// Answers with one object.
pub(super) fn object(call: &Call, status: u16, object: &Value) -> Result<Reply, ApiError> {
    let shown = match call.accepted.form {
        Form::Objects => return Ok(Reply::json(status, object)),
        Form::Metadata(version) => partial_object(object, version),
        Form::Table(version) => {
            Layout::of(&call.served.resource).object(object, style(call, version)?, Timestamp::now())
        }
    };
    Ok(Reply::json(status, &shown))
}

fn style(call: &Call, version: MetaVersion) -> Result<Style, ApiError> {
    Ok(Style {
        version,
        include: Include::parse(call.query.text("includeObject"))?,
    })
}

/// Answers a GET of an object.
pub(super) async fn read(call: &Call) -> Result<Reply, ApiError> {
    let version = call.query.text("resourceVersion");
    if !version.is_empty() {
        let number = page::number(version).ok_or_else(|| page::bad_version(version))?;
        page::await_version(&call.served.table, number).await?;
    }
    let missing = || not_found(&call.served.resource, &call.name);
    let record = call.served.table.read(&call.key()).ok_or_else(missing)?;
    if call.accepted.form == Form::Objects && !call.served.needs_webhook(&record) {
        let mut bytes = Vec::new();
        call.served.write(&record, record.version, &mut bytes);
        return Ok(Reply::bytes(200, bytes));
    }
    object(call, 200, &call.read(&record, record.version).await?)
}

/// Answers with a list.
pub(super) fn list(call: &Call, listed: &Listed) -> Result<Reply, ApiError> {
    let form = call.accepted.form;
    let items = || -> Vec<Value> { listed.items.iter().map(|item| item.object(call)).collect() };
    let metadata = list_metadata(call, listed);
    let shown = match form {
        Form::Objects => return Ok(Reply::bytes(200, list::write(call, listed))),
        Form::Metadata(version) => partial_list(&metadata, &items(), version),
        Form::Table(version) => Layout::of(&call.served.resource).list(
            &metadata,
            &items(),
            style(call, version)?,
            Timestamp::now(),
        ),
    };
    Ok(Reply::json(200, &shown))
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
pub(super) enum Frames {
    /// Whole objects.
    Objects,
    /// Only metadata.
    Metadata(MetaVersion),
    /// Tables; the first one carries the columns.
    Table {
        /// Columns.
        layout: Layout,
        /// Form of the tables.
        style: Style,
        /// Whether nothing was written yet.
        first: bool,
    },
}

impl Frames {
    /// Returns the writer for the form that a client asked for.
    pub(super) fn new(call: &Call) -> Result<Self, ApiError> {
        Ok(match call.accepted.form {
            Form::Objects => Self::Objects,
            Form::Metadata(version) => Self::Metadata(version),
            Form::Table(version) => {
                let style = style(call, version)?;
                Self::Table {
                    layout: Layout::of(&call.served.resource),
                    style,
                    first: true,
                }
            }
        })
    }

    /// Writes a change of an object.
    pub(super) fn event(&mut self, kind: &str, call: &Call, record: &Record, version: u64) -> Bytes {
        if matches!(self, Self::Objects) {
            let mut out = Vec::with_capacity(record.body.len() + 256);
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(kind.as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            call.served.write(record, version, &mut out);
            out.extend_from_slice(b"}\n");
            return Bytes::from(out);
        }
        let object = self.shown(&call.served.decode(record, version));
        line(&json!({ "type": kind, "object": object }))
    }

    /// Writes a change of an object that was converted.
    pub(super) fn converted(&mut self, kind: &str, object: &Value) -> Bytes {
        let object = self.shown(object);
        line(&json!({ "type": kind, "object": object }))
    }

    fn shown(&mut self, object: &Value) -> Value {
        match self {
            Self::Objects => object.clone(),
            Self::Metadata(version) => partial_object(object, *version),
            Self::Table { layout, style, first } => {
                if std::mem::take(first) {
                    layout.object(object, *style, Timestamp::now())
                } else {
                    layout.later_event(object, *style, Timestamp::now())
                }
            }
        }
    }

    /// Writes how far the hub has come.
    pub(super) fn bookmark(&mut self, call: &Call, version: u64, initial: bool) -> Bytes {
        let resource = &call.served.resource;
        let mut metadata = json!({ "resourceVersion": version.to_string() });
        if initial && let Some(members) = metadata.as_object_mut() {
            members.insert(
                "annotations".to_owned(),
                json!({ "k8s.io/initial-events-end": "true" }),
            );
        }
        let object =
            json!({ "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": metadata });
        line(&json!({ "type": "BOOKMARK", "object": self.marked(&object) }))
    }

    fn marked(&mut self, object: &Value) -> Value {
        match self {
            Self::Objects | Self::Metadata(_) => self.shown(object),
            Self::Table { layout, style, first } => layout.bookmark(object, *style, std::mem::take(first)),
        }
    }
}
