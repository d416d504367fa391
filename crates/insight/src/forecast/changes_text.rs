//! How changes read: for people and for programs.
//!
//! Decides layout; works that differ in the same field stand together, with one of them as the example.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::changes::{Changes, ConfigChange};
use super::difference::Difference;
use super::render::{line, named};
use super::take_over::Fate;
use super::take_over_text::shown;
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
    let configs = changes
        .configs
        .iter()
        .map(|(ConfigChange { old, new }, clusters)| {
            let clusters: Vec<String> = clusters.iter().cloned().collect();
            Row {
                who: named(&clusters, listing),
                what: String::new(),
                old: old.clone().unwrap_or_else(nothing),
                new: new.clone().unwrap_or_else(nothing),
            }
        });
    let mut rows: Vec<Row> = configs.collect();
    let mut fields: BTreeMap<&str, (usize, &Difference)> = BTreeMap::new();
    let (mut created, mut deleted) = (0_usize, 0_usize);
    for fate in changes.works.values() {
        match fate {
            Fate::Created => created = created.saturating_add(1),
            Fate::Deleted => deleted = deleted.saturating_add(1),
            Fate::Written(differences) => {
                // The hashes say what the rows above say.
                for one in differences.iter().filter(|one| {
                    !one.path.contains("onfigSpecHash") && !one.path.contains("config-spec-hash")
                }) {
                    let known = fields.entry(&one.path).or_insert((0, one));
                    known.0 = known.0.saturating_add(1);
                }
            }
        }
    }
    for (count, what) in [(created, "new"), (deleted, "deleted")] {
        if count > 0 {
            rows.push(Row {
                who: counted(count, "work"),
                what: what.to_owned(),
                old: String::new(),
                new: String::new(),
            });
        }
    }
    rows.extend(fields.into_iter().map(|(path, (count, example))| Row {
        who: counted(count, "work"),
        what: path.to_owned(),
        old: shown(example.old.as_ref(), listing),
        new: shown(example.new.as_ref(), listing),
    }));
    rows
}

/// Returns changes for programs.
pub fn changes_json(all: &[Changes]) -> Value {
    let each = all.iter().map(|changes| {
        let configs = changes
            .configs
            .iter()
            .map(|(change, clusters)| json!({"old": change.old, "new": change.new, "clusters": clusters}));
        let works = changes.works.iter().map(|((namespace, name), fate)| {
            let (word, differences) = fate.parts();
            json!({"namespace": namespace, "name": name, "fate": word, "differences": differences})
        });
        json!({"addon": changes.addon, "configs": configs.collect::<Vec<_>>(), "works": works.collect::<Vec<_>>()})
    });
    each.collect()
}
