//! Lists.
//!
//! Decides which items a list has, in which state, and how it goes on.

use std::sync::Arc;

use serde_json::json;

use super::call::Call;
use super::page::{self, Asked, State};
use super::represent;
use super::selection::Selection;
use crate::error::ApiError;
use crate::http::Reply;
use crate::store::{Page, Record};

/// The items of a list with what its metadata tells.
#[derive(Debug)]
pub(super) struct Listed {
    /// Items in order.
    pub(super) records: Vec<Arc<Record>>,
    /// State of the list.
    pub(super) version: u64,
    /// Token for the next page, empty for none.
    pub(super) next: String,
    /// Items behind this page, if that is known.
    pub(super) remaining: Option<usize>,
}

/// Answers a GET of a collection.
pub(super) async fn list(call: &Call) -> Result<Reply, ApiError> {
    let listed = select(call).await?;
    represent::list(call, &listed)
}

/// Finds what a list request means.
pub(super) async fn select(call: &Call) -> Result<Listed, ApiError> {
    let asked = Asked::parse(&call.query)?;
    let selection = Selection::parse(call)?;
    let table = &call.served.table;
    let at = match asked.state {
        State::Newest => None,
        State::NotOlder(version) => {
            page::await_version(table, version).await?;
            None
        }
        State::Exact(version) => {
            page::await_version(table, version).await?;
            Some(version)
        }
    };
    let from = if asked.start.is_empty() {
        String::new()
    } else {
        format!("{}{}", selection.prefix, asked.start)
    };
    let forgotten = || {
        if asked.continued {
            page::token_expired(&asked.start)
        } else {
            page::too_old()
        }
    };
    let page = Page {
        prefix: &selection.prefix,
        from: &from,
        at,
    };
    let snapshot = table.list(&page).ok().ok_or_else(forgotten)?;
    let mut records: Vec<Arc<Record>> = snapshot
        .records
        .into_iter()
        .filter(|record| selection.matches(&call.served, record))
        .collect();
    let mut listed = Listed {
        records: Vec::new(),
        version: snapshot.version,
        next: String::new(),
        remaining: None,
    };
    if asked.limit > 0 && records.len() > asked.limit {
        let rest = records.split_off(asked.limit);
        let last = records
            .last()
            .map(|record| record.key.to_string())
            .unwrap_or_default();
        let last = last.strip_prefix(&selection.prefix).unwrap_or(&last).to_owned();
        listed.next = page::token(Some(snapshot.version), &last);
        listed.remaining = selection.is_whole().then_some(rest.len());
    }
    listed.records = records;
    Ok(listed)
}

/// Writes a list of whole objects. Items of built-in kinds carry neither kind nor version.
pub(super) fn write(call: &Call, listed: &Listed) -> Vec<u8> {
    let resource = &call.served.resource;
    let size: usize = listed.records.iter().map(|record| record.body.len() + 128).sum();
    let mut out = Vec::with_capacity(size + 256);
    let head = json!({ "apiVersion": resource.api_version(), "kind": resource.list_kind }).to_string();
    out.extend_from_slice(head.trim_end_matches('}').as_bytes());
    out.extend_from_slice(b",\"metadata\":");
    out.extend_from_slice(represent::list_metadata(call, listed).to_string().as_bytes());
    out.extend_from_slice(b",\"items\":[");
    for (at, record) in listed.records.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_item(call, record, &mut out);
    }
    out.extend_from_slice(b"]}");
    out
}

fn write_item(call: &Call, record: &Record, out: &mut Vec<u8>) {
    if call.is_custom() {
        call.served.write(record, record.version, out);
    } else if call.served.reads_plain(record) {
        record.write_headless(out, record.version);
    } else {
        let mut object = call.served.decode(record, record.version);
        if let Some(members) = object.as_object_mut() {
            members.remove("kind");
            members.remove("apiVersion");
        }
        out.extend_from_slice(object.to_string().as_bytes());
    }
}
