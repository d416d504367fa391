//! What is to be reported of one namespace.
//!
//! Decides the order of the results, the worst first, and where they are cut: a report is one object, and must stay small
//! enough for a hub to keep.

use super::finding::{Counts, Finding};
use store::{Name, ObjectKey};

/// The most results of one report; the rest is counted.
pub const MOST_RESULTS: usize = 200;

/// One finding and the object that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The object.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Name,
    /// What is wrong with it.
    pub finding: Finding,
}

/// What is to be reported of one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceReport {
    /// Objects without any finding.
    pub clean: u32,
    /// How many findings there are, listed or not.
    pub counts: Counts,
    /// The findings that are listed.
    pub entries: Vec<Entry>,
    /// How many are not.
    pub left_out: usize,
}

impl NamespaceReport {
    /// Tells whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.counts.total() == 0
    }

    /// Counts an object, of whose findings only some were kept.
    pub(super) fn add_object(&mut self, counts: Counts, kept: usize) {
        let total = counts.total();
        self.clean = self.clean.saturating_add(u32::from(total == 0));
        self.counts.extend(counts);
        let lost = usize::try_from(total).unwrap_or(usize::MAX).saturating_sub(kept);
        self.left_out = self.left_out.saturating_add(lost);
    }

    /// Puts the entries in order and cuts them.
    pub(super) fn settle(&mut self) {
        let rank = |entry: &Entry| {
            let Finding {
                standing, path, rule, ..
            } = &entry.finding;
            (*standing, entry.key.clone(), path.clone(), rule.clone())
        };
        self.entries.sort_by_cached_key(rank);
        let more = self.entries.len().saturating_sub(MOST_RESULTS);
        self.entries.truncate(MOST_RESULTS);
        self.left_out = self.left_out.saturating_add(more);
    }
}
