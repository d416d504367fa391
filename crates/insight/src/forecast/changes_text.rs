//! How changes read: for people and for programs.
//!
//! Decides layout; works that differ in the same field stand together, with one of them as the example.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::changes::{Changes, ConfigChange};
use super::difference::Difference;
use super::render::named;
use super::take_over_text::{ChangedWork, changed_works, shown, works};
use crate::layout::line;
use kubernetes::field::{Listing, counted};

/// One row: whom a change concerns, what it is, and both sides.
pub(super) struct Row {
    pub(super) who: String,
    pub(super) what: String,
    pub(super) old: String,
    pub(super) new: String,
}

/// Returns changes for people; nothing when there are none.
pub fn changes_text(all: &[Changes], listing: Listing) -> String {
    let mut out = String::new();
    for changes in all {
        for Row { who, what, old, new } in rows(changes, listing) {
            let what = if what.is_empty() {
                what
            } else {
                format!("{what}: ")
            };
            let text = if old.is_empty() && new.is_empty() {
                format!("{}: {who}: {}", changes.addon, what.trim_end_matches(": "))
            } else {
                format!("{}: {who}: {what}{old} -> {new}", changes.addon)
            };
            line(&mut out, &text);
        }
    }
    out
}

/// The rows of one add-on: what clusters are given, then their works.
pub(super) fn rows(changes: &Changes, listing: Listing) -> Vec<Row> {
    let nothing = || "none".to_owned();
    let configs = changes.configs.iter().map(|change| (change, ""));
    let configs = configs.chain(changes.waiting.iter().map(|change| (change, " (waiting)")));
    let configs = configs.map(|((ConfigChange { old, new }, clusters), mark)| {
        let clusters: Vec<String> = clusters.iter().cloned().collect();
        Row {
            who: format!("{}{mark}", named(&clusters, listing)),
            what: String::new(),
            old: old.clone().unwrap_or_else(nothing),
            new: new.clone().unwrap_or_else(nothing),
        }
    });
    let mut rows: Vec<Row> = configs.collect();
    // The hashes say what the rows above say.
    let is_hash =
        |one: &Difference| one.path.contains("onfigSpecHash") || one.path.contains("config-spec-hash");
    rows.extend(works(&changes.works, |one| !is_hash(one)).map(|change| {
        let (old, new) = match change.sides {
            None => (String::new(), String::new()),
            Some((old, new)) => (shown(old, listing), shown(new, listing)),
        };
        Row {
            who: counted(change.works, "work"),
            what: change.what.to_owned(),
            old,
            new,
        }
    }));
    rows
}

/// Changes of one add-on, for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddOnChanges<'a> {
    /// The add-on.
    pub addon: &'a str,
    /// Changes of what clusters are given.
    pub configs: Vec<ChangedConfig<'a>>,
    /// The works that would change.
    pub works: Vec<ChangedWork<'a>>,
}

/// A change of what clusters are given.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedConfig<'a> {
    /// The configuration before, or null.
    pub old: Option<&'a str>,
    /// The configuration after, or null.
    pub new: Option<&'a str>,
    /// The clusters.
    pub clusters: &'a BTreeSet<String>,
    /// Whether the clusters still wait in the rollout at the end of the forecast.
    pub waiting: bool,
}

/// Returns changes for programs.
pub fn addon_changes(all: &[Changes]) -> Vec<AddOnChanges<'_>> {
    let each = all.iter().map(|changes| {
        let configs = changes.configs.iter().map(|change| (change, false));
        let configs = configs.chain(changes.waiting.iter().map(|change| (change, true)));
        let configs = configs.map(|((change, clusters), waiting)| ChangedConfig {
            old: change.old.as_deref(),
            new: change.new.as_deref(),
            clusters,
            waiting,
        });
        AddOnChanges {
            addon: &changes.addon,
            configs: configs.collect(),
            works: changed_works(&changes.works),
        }
    });
    each.collect()
}
