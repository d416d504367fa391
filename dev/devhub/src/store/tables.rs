//! All tables of a hub and the clock they share.
//!
//! Decides the next resource version and that one writer at a time takes it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::Table;

/// First resource version in use. Version 1 is always history.
const FIRST_VERSION: u64 = 100;

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
}

impl Clock {
    /// Lets one writer in at a time.
    pub(crate) fn enter(&self) -> MutexGuard<'_, ()> {
        self.commit.lock().unwrap_or_else(PoisonError::into_inner)
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
        let clock = Clock {
            commit: Mutex::new(()),
            current: AtomicU64::new(FIRST_VERSION),
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
            .or_insert_with(|| Arc::new(Table::new(Arc::clone(&self.clock), self.history)));
        Arc::clone(table)
    }

    /// Removes a table, for example when its CRD is deleted. Its watchers keep the old one and receive no more events.
    pub fn forget(&self, group_resource: &str) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.remove(group_resource) {
            table.close();
        }
    }

    /// Returns the newest resource version.
    pub fn version(&self) -> u64 {
        self.clock.now()
    }
}
