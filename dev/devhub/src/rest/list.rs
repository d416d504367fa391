//! Lists.
//!
//! Decides which items a list has, in which state, and how it goes on.

use std::sync::Arc;

use serde_json::{Value, json};

use super::call::Call;
use super::page::{self, ListOptions, State};
use super::represent;
use super::selection::Selection;
use crate::error::ApiError;
use crate::http::Reply;
use crate::store::{Page, Record};

/// The items of a list with what its metadata tells.
#[derive(Debug)]
pub(super) struct Listed {
    /// Items in order.
    pub(super) items: Vec<Item>,
    /// State of the list.
    pub(super) version: u64,
    /// Token for the next page, empty for none.
    pub(super) next: String,
    /// Items behind this page, if that is known.
    pub(super) remaining: Option<usize>,
}

/// An item of a list.
#[derive(Debug)]
pub(super) struct Item {
    /// As stored.
    pub(super) record: Arc<Record>,
    /// As a webhook converted it, where one had to.
    converted: Option<Value>,
}

impl Item {
    /// Returns the object in the version of the request.
    pub(super) fn object(&self, call: &Call) -> Value {
        match &self.converted {
            Some(object) => object.clone(),
            None => call.served.decode(&self.record, self.record.version),
        }
    }
}

/// Answers a GET of a collection.
pub(super) async fn list(call: &Call) -> Result<Reply, ApiError> {
    let listed = select(call).await?;
    represent::list(call, &listed)
}

/// Finds what a list request means.
pub(super) async fn select(call: &Call) -> Result<Listed, ApiError> {
    let asked = ListOptions::parse(&call.query)?;
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
    let mut items: Vec<Item> = snapshot.records.into_iter().map(stored).collect();
    if selection.is_whole() {
        items.retain(|item| selection.matches(&call.served, &item.record));
    } else {
        items = selected(call, &selection, items).await?;
    }
    let mut listed = Listed {
        items,
        version: snapshot.version,
        next: String::new(),
        remaining: None,
    };
    if asked.limit > 0 && listed.items.len() > asked.limit {
        let rest = listed.items.split_off(asked.limit);
        let last = listed
            .items
            .last()
            .map(|item| item.record.key.to_string())
            .unwrap_or_default();
        let last = last.strip_prefix(&selection.prefix).unwrap_or(&last).to_owned();
        listed.next = page::token(Some(snapshot.version), &last);
        listed.remaining = selection.is_whole().then_some(rest.len());
    }
    convert(call, &mut listed.items).await?;
    Ok(listed)
}

fn stored(record: Arc<Record>) -> Item {
    Item {
        record,
        converted: None,
    }
}

/// Returns the items that selectors mean. They look at what the client sees, so conversion comes first.
async fn selected(call: &Call, selection: &Selection, items: Vec<Item>) -> Result<Vec<Item>, ApiError> {
    let mut items = items;
    items.retain(|item| item.record.key.starts_with(&selection.prefix));
    convert(call, &mut items).await?;
    items.retain(|item| match &item.converted {
        Some(object) => selection.matches_converted(&call.served, &item.record, object),
        None => selection.matches(&call.served, &item.record),
    });
    Ok(items)
}

/// Converts the items that only a webhook can convert, all in one call.
async fn convert(call: &Call, items: &mut [Item]) -> Result<(), ApiError> {
    let foreign: Vec<&mut Item> = items
        .iter_mut()
        .filter(|item| item.converted.is_none() && call.served.needs_webhook(&item.record))
        .collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let records: Vec<(&Record, u64)> = foreign
        .iter()
        .map(|item| (&*item.record, item.record.version))
        .collect();
    let objects = call.read_all(&records).await?;
    for (item, object) in foreign.into_iter().zip(objects) {
        item.converted = Some(object);
    }
    Ok(())
}

/// Writes a list of whole objects. Items of built-in kinds carry neither kind nor version.
pub(super) fn write(call: &Call, listed: &Listed) -> Vec<u8> {
    let resource = &call.served.resource;
    let size: usize = listed.items.iter().map(|item| item.record.body.len() + 128).sum();
    let mut out = Vec::with_capacity(size + 256);
    let head = json!({ "apiVersion": resource.api_version(), "kind": resource.list_kind }).to_string();
    out.extend_from_slice(head.trim_end_matches('}').as_bytes());
    out.extend_from_slice(b",\"metadata\":");
    out.extend_from_slice(represent::list_metadata(call, listed).to_string().as_bytes());
    out.extend_from_slice(b",\"items\":[");
    for (at, item) in listed.items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_item(call, item, &mut out);
    }
    out.extend_from_slice(b"]}");
    out
}

fn write_item(call: &Call, item: &Item, out: &mut Vec<u8>) {
    let record = &item.record;
    if let Some(object) = &item.converted {
        out.extend_from_slice(object.to_string().as_bytes());
    } else if call.is_custom() {
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
