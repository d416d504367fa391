//! What was added to a definition, written on it.
//!
//! Decides what still is as it was added: only that is ever changed or taken out again. A part that another client has changed,
//! or that a newer definition brings itself, is no longer ours.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::difference::{column_name, columns, plain};
use crate::hash::SpecHash;

/// Digits of a digest that are kept: enough to notice a change, short enough to be read.
const DIGITS: usize = 16;

/// What was added: where it stands, with a digest of what was put there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Record {
    /// Pointers into `v1alpha1`.
    pub(super) fields: BTreeMap<String, String>,
    /// Names of columns.
    pub(super) columns: BTreeMap<String, String>,
}

/// What became of a part that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stands there as it was added.
    Intact,
    /// Another client has changed it.
    Changed,
    /// It is not there any more.
    Gone,
}

impl Record {
    /// Reads the annotation.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the text of the annotation.
    pub(super) fn render(&self) -> String {
        json!(self).to_string()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.columns.is_empty()
    }

    pub(super) fn add_field(&mut self, pointer: &str, value: &Value) {
        self.fields.insert(pointer.to_owned(), digest(value));
    }

    pub(super) fn add_column(&mut self, column: &Value) {
        self.columns
            .insert(column_name(column).to_owned(), digest(column));
    }

    /// Returns what became of the fields that were added.
    pub(super) fn fates_of_fields<'a>(&'a self, version: &'a Value) -> impl Iterator<Item = (&'a str, Fate)> {
        let fields = self.fields.iter();
        fields.map(|(pointer, digest)| (pointer.as_str(), fate(version.pointer(pointer), digest)))
    }

    /// Returns what became of the columns that were added.
    pub(super) fn fates_of_columns<'a>(
        &'a self,
        version: &'a Value,
    ) -> impl Iterator<Item = (&'a str, Fate)> {
        self.columns.iter().map(|(name, digest)| {
            let found = columns(version).iter().find(|one| column_name(one) == name);
            (name.as_str(), fate(found, digest))
        })
    }
}

fn fate(found: Option<&Value>, recorded: &str) -> Fate {
    match found {
        None => Fate::Gone,
        Some(value) if digest(value) == recorded => Fate::Intact,
        Some(_) => Fate::Changed,
    }
}

fn digest(value: &Value) -> String {
    let whole = SpecHash::of(&json!({"spec": plain(value)})).to_string();
    whole.chars().take(DIGITS).collect()
}
