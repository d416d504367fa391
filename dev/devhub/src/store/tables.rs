//! All tables of a hub and the clock they share.
//!
//! Decides the next resource version and that one writer at a time takes it; never looks into a table.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::journal::{Entry, EntryKind, Journal, Replay};
use super::{Page, Table};

/// First resource version in use. Version 1 is always history.
pub(crate) const FIRST_VERSION: u64 = 100;

/// All objects of one hub.
#[derive(Debug)]
pub struct Store {
    clock: Arc<Clock>,
    tables: RwLock<BTreeMap<String, Arc<Table>>>,
    history: usize,
}

/// The only source of resource versions.
#[derive(Debug)]
pub(crate) struct Clock {
    commit: Mutex<()>,
    current: AtomicU64,
    journal: Option<Journal>,
}

impl Clock {
    /// Lets one writer in at a time.
    pub(crate) fn enter(&self) -> MutexGuard<'_, ()> {
        self.commit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns where writes are kept, if they are.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Returns the newest resource version.
    pub(crate) fn now(&self) -> u64 {
        self.current.load(Ordering::Acquire)
    }

    /// Publishes a resource version. Called while the changed table is locked, so that no list can see the object without the version.
    pub(crate) fn publish(&self, version: u64) {
        self.current.store(version, Ordering::Release);
    }
}

impl Store {
    /// Returns an empty store that keeps `history` events per resource.
    pub fn new(history: usize) -> Self {
        Self::at(history, FIRST_VERSION, None)
    }

    /// Returns a store that goes on where a log ends, and keeps its writes there.
    pub(crate) fn from_log(history: usize, journal: Journal, replay: &Replay) -> Self {
        let store = Self::at(history, replay.version, Some(journal));
        for entry in &replay.state {
            store.table(&entry.table).restore(entry);
        }
        for entry in &replay.events {
            // The table is made first: what it does not remember ends before this event.
            let table = store.table(&entry.table);
            table.restore(entry);
            store.clock.publish(entry.version);
        }
        store
    }

    fn at(history: usize, version: u64, journal: Option<Journal>) -> Self {
        let clock = Clock {
            commit: Mutex::new(()),
            current: AtomicU64::new(version),
            journal,
        };
        Self {
            clock: Arc::new(clock),
            tables: RwLock::new(BTreeMap::new()),
            history,
        }
    }

    /// Returns the table of a `plural.group`, making it on first use.
    pub fn table(&self, group_resource: &str) -> Arc<Table> {
        if let Some(table) = self
            .tables
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(group_resource)
        {
            return Arc::clone(table);
        }
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let table = tables
            .entry(group_resource.to_owned())
            .or_insert_with(|| Arc::new(Table::new(group_resource, Arc::clone(&self.clock), self.history)));
        Arc::clone(table)
    }

    /// Forgets a table, for instance when its definition is gone. Its watchers keep the old one and see no more events.
    pub fn forget(&self, group_resource: &str) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.remove(group_resource) {
            table.close();
        }
    }

    /// Makes what was written safe against loss of power, and rewrites a log that holds more history than state.
    pub(crate) fn tend(&self) -> std::io::Result<()> {
        let Some(journal) = self.clock.journal() else {
            return Ok(());
        };
        journal.sync();
        if !journal.is_wordy() {
            return Ok(());
        }
        let _turn = self.clock.enter();
        let mut state: Vec<Entry> = Vec::new();
        for (name, table) in &*self.tables.read().unwrap_or_else(PoisonError::into_inner) {
            let snapshot = table.list(&Page::default());
            let records = snapshot.map(|snapshot| snapshot.records).unwrap_or_default();
            state.extend(records.iter().map(|record| Entry {
                kind: EntryKind::State,
                version: record.version,
                shaped: record.shape != 0,
                table: name.clone(),
                key: record.key.to_string(),
                written_in: record.written_in.to_string(),
                body: record.body.to_vec(),
            }));
        }
        journal.compact(self.clock.now(), &state)
    }

    /// Ends the writing of a log.
    pub(crate) fn close(&self) {
        if let Some(journal) = self.clock.journal() {
            journal.close();
        }
    }

    /// Returns the folder in which writes are kept.
    pub(crate) fn folder(&self) -> Option<&std::path::Path> {
        self.clock.journal().map(Journal::dir)
    }

    /// Returns the newest resource version.
    pub fn version(&self) -> u64 {
        self.clock.now()
    }
}
