//! The objects of one resource with their recent history.
//!
//! Decides what a write changes, which events it makes and what an older state looked like.

use std::borrow::Borrow;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use tokio::sync::watch;

use super::{Clock, Record};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It is new.
    Added,
    /// It changed.
    Modified,
    /// It was deleted.
    Deleted,
}

/// One change of the table.
#[derive(Clone, Debug)]
pub struct Event {
    /// Resource version of the change.
    pub version: u64,
    /// What happened.
    pub kind: EventKind,
    /// The object after the change; for a deletion the last stored one.
    pub record: Arc<Record>,
    /// The object before the change.
    pub previous: Option<Arc<Record>>,
}

/// The requested history is no longer available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld {
    /// The oldest resource version that is still known.
    pub oldest: u64,
}

/// A write that a caller wants.
#[derive(Debug)]
pub enum Write<'a> {
    /// Store a new object.
    Create(&'a Value),
    /// Replace the object that has this resource version.
    Replace(u64, &'a Value),
    /// Remove the object that has this resource version.
    Remove(u64),
}

/// What a write did.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object now stored.
    Stored(Arc<Record>),
    /// Nothing: the bytes were the same.
    Same(Arc<Record>),
    /// The object is deleted; the version is that of the deletion.
    Removed(Arc<Record>, u64),
}

/// Why a write did not happen.
#[derive(Clone, Debug)]
pub enum Unwritten {
    /// The key is taken.
    Exists(Arc<Record>),
    /// There is no such object.
    Missing,
    /// It was written in between.
    Changed(Arc<Record>),
}

/// Some objects, with the resource version at which they were like this.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Objects in order of their keys.
    pub records: Vec<Arc<Record>>,
    /// Resource version of the state.
    pub version: u64,
}

/// Which objects a list wants.
#[derive(Clone, Debug, Default)]
pub struct Page<'a> {
    /// Only keys that start so; empty for all.
    pub prefix: &'a str,
    /// Only keys from here on; empty for the start.
    pub from: &'a str,
    /// The state at this resource version; `None` for the newest.
    pub at: Option<u64>,
}

/// Objects of one resource.
#[derive(Debug)]
pub struct Table {
    clock: Arc<Clock>,
    state: RwLock<State>,
    newest: watch::Sender<u64>,
    history: usize,
}

#[derive(Debug)]
struct State {
    objects: BTreeSet<Held>,
    ring: VecDeque<Event>,
    /// Events up to and including this version may be missing from the ring.
    forgotten: u64,
    closed: bool,
}

#[derive(Clone, Debug)]
struct Held(Arc<Record>);

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}
impl Eq for Held {}
impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.key.cmp(&other.0.key)
    }
}
impl Borrow<str> for Held {
    fn borrow(&self) -> &str {
        &self.0.key
    }
}

impl Table {
    pub(crate) fn new(clock: Arc<Clock>, history: usize) -> Self {
        let forgotten = clock.now();
        let state = State {
            objects: BTreeSet::new(),
            ring: VecDeque::new(),
            forgotten,
            closed: false,
        };
        Self {
            clock,
            state: RwLock::new(state),
            newest: watch::Sender::new(forgotten),
            history,
        }
    }

    /// Returns an object.
    pub fn read(&self, key: &str) -> Option<Arc<Record>> {
        self.state().objects.get(key).map(|entry| Arc::clone(&entry.0))
    }

    /// Returns the objects of a page, in order of their keys.
    pub fn list(&self, page: &Page<'_>) -> Result<Snapshot, TooOld> {
        let state = self.state();
        let now = self.clock.now();
        let start = if page.from > page.prefix {
            page.from
        } else {
            page.prefix
        };
        let records = range(&state.objects, start, page.prefix);
        match page.at {
            None => Ok(Snapshot {
                records,
                version: now,
            }),
            Some(at) => Ok(Snapshot {
                records: undo(&state, records, at, start, page.prefix)?,
                version: at,
            }),
        }
    }

    /// Returns whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.state().objects.is_empty()
    }

    /// Returns the newest resource version of the whole store.
    pub fn version(&self) -> u64 {
        self.clock.now()
    }

    /// Returns up to `limit` changes after a resource version.
    pub fn events_after(&self, version: u64, limit: usize) -> Result<Vec<Event>, TooOld> {
        let state = self.state();
        if version < state.forgotten {
            return Err(TooOld {
                oldest: state.forgotten,
            });
        }
        let start = state.ring.partition_point(|event| event.version <= version);
        Ok(state.ring.range(start..).take(limit).cloned().collect())
    }

    /// Returns a receiver that wakes when the table changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Returns whether the table was closed because its CRD was deleted.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    pub(crate) fn close(&self) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.newest.send_modify(|_| ());
    }

    /// Does one write. Bytes are made before the lock is taken.
    pub fn write(&self, key: &str, shape: u32, write: &Write<'_>) -> Result<Change, Unwritten> {
        let encoded = match write {
            Write::Create(object) | Write::Replace(_, object) => Some(Record::encode(key, object, shape)),
            Write::Remove(_) => None,
        };
        let _turn = self.clock.enter();
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let existing = state.objects.get(key).map(|entry| Arc::clone(&entry.0));
        let previous = replaced(write, existing)?;
        if let (Some(record), Some(previous)) = (&encoded, &previous)
            && record.is_same(previous)
        {
            return Ok(Change::Same(Arc::clone(previous)));
        }
        let version = self.clock.now() + 1;
        let (event, change) = event(version, encoded, previous).ok_or(Unwritten::Missing)?;
        state.apply(event, self.history);
        self.clock.publish(version);
        drop(state);
        self.newest.send_replace(version);
        Ok(change)
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn apply(&mut self, event: Event, history: usize) {
        match event.kind {
            EventKind::Added | EventKind::Modified => {
                self.objects.replace(Held(Arc::clone(&event.record)));
            }
            EventKind::Deleted => {
                self.objects.remove(&*event.record.key);
            }
        }
        self.ring.push_back(event);
        if self.ring.len() > history
            && let Some(old) = self.ring.pop_front()
        {
            self.forgotten = old.version;
        }
    }
}

/// Returns what a write replaces, if it may.
fn replaced(write: &Write<'_>, existing: Option<Arc<Record>>) -> Result<Option<Arc<Record>>, Unwritten> {
    match (write, existing) {
        (Write::Create(_), Some(existing)) => Err(Unwritten::Exists(existing)),
        (Write::Create(_), None) => Ok(None),
        (Write::Replace(..) | Write::Remove(_), None) => Err(Unwritten::Missing),
        (Write::Replace(expected, _) | Write::Remove(expected), Some(existing)) => {
            if existing.version == *expected {
                Ok(Some(existing))
            } else {
                Err(Unwritten::Changed(existing))
            }
        }
    }
}

/// Returns the event of a change, and the result for the writer; nothing if there is neither an old nor a new object.
fn event(version: u64, encoded: Option<Record>, previous: Option<Arc<Record>>) -> Option<(Event, Change)> {
    match (encoded, previous) {
        (Some(mut record), previous) => {
            record.version = version;
            let record = Arc::new(record);
            let kind = if previous.is_some() {
                EventKind::Modified
            } else {
                EventKind::Added
            };
            let change = Change::Stored(Arc::clone(&record));
            Some((
                Event {
                    version,
                    kind,
                    record,
                    previous,
                },
                change,
            ))
        }
        (None, Some(gone)) => {
            let (record, previous) = (Arc::clone(&gone), Some(Arc::clone(&gone)));
            let event = Event {
                version,
                kind: EventKind::Deleted,
                record,
                previous,
            };
            Some((event, Change::Removed(gone, version)))
        }
        (None, None) => None,
    }
}

fn range(objects: &BTreeSet<Held>, from: &str, prefix: &str) -> Vec<Arc<Record>> {
    objects
        .range::<str, _>((Bound::Included(from), Bound::Unbounded))
        .take_while(|entry| entry.0.key.starts_with(prefix))
        .map(|entry| Arc::clone(&entry.0))
        .collect()
}

/// Takes back every change after `at`, newest first.
fn undo(
    state: &State,
    records: Vec<Arc<Record>>,
    at: u64,
    start: &str,
    prefix: &str,
) -> Result<Vec<Arc<Record>>, TooOld> {
    if at < state.forgotten {
        return Err(TooOld {
            oldest: state.forgotten,
        });
    }
    let mut objects: BTreeSet<Held> = records.into_iter().map(Held).collect();
    for event in state.ring.iter().rev().take_while(|event| event.version > at) {
        let key = &*event.record.key;
        if !key.starts_with(prefix) || key < start {
            continue;
        }
        match &event.previous {
            None => drop(objects.take(key)),
            Some(previous) => drop(objects.replace(Held(Arc::clone(previous)))),
        }
    }
    Ok(objects.into_iter().map(|entry| entry.0).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;
    use serde_json::json;

    fn object(n: u64) -> Value {
        json!({"metadata": {"name": "x"}, "n": n})
    }

    fn stored(change: Change) -> Arc<Record> {
        match change {
            Change::Stored(record) | Change::Same(record) | Change::Removed(record, _) => record,
        }
    }

    #[test]
    fn equal_bytes_are_not_written_and_make_no_event() {
        let table = Store::new(10).table("things");
        let one = stored(table.write("ns/a", 0, &Write::Create(&object(1))).unwrap());
        let same = table
            .write("ns/a", 0, &Write::Replace(one.version, &object(1)))
            .unwrap();
        assert!(matches!(same, Change::Same(_)));
        assert_eq!(table.version(), one.version);
        assert_eq!(table.events_after(one.version, 10).unwrap().len(), 0);
    }

    #[test]
    fn a_stale_write_is_a_conflict() {
        let table = Store::new(10).table("things");
        let one = stored(table.write("a", 0, &Write::Create(&object(1))).unwrap());
        table
            .write("a", 0, &Write::Replace(one.version, &object(2)))
            .unwrap();
        assert!(matches!(
            table.write("a", 0, &Write::Replace(one.version, &object(3))),
            Err(Unwritten::Changed(_))
        ));
        assert!(matches!(
            table.write("a", 0, &Write::Create(&object(3))),
            Err(Unwritten::Exists(_))
        ));
        assert!(matches!(
            table.write("b", 0, &Write::Remove(1)),
            Err(Unwritten::Missing)
        ));
    }

    #[test]
    fn an_older_state_is_the_newest_with_its_changes_taken_back() {
        let store = Store::new(10);
        let table = store.table("things");
        let a = stored(table.write("ns/a", 0, &Write::Create(&object(1))).unwrap());
        table.write("ns/b", 0, &Write::Create(&object(1))).unwrap();
        table.write("other/a", 0, &Write::Create(&object(1))).unwrap();
        let then = store.version();
        table
            .write("ns/a", 0, &Write::Replace(a.version, &object(2)))
            .unwrap();
        table.write("ns/c", 0, &Write::Create(&object(1))).unwrap();
        let b = table.read("ns/b").unwrap();
        table.write("ns/b", 0, &Write::Remove(b.version)).unwrap();
        let page = Page {
            prefix: "ns/",
            from: "",
            at: Some(then),
        };
        let keys: Vec<(String, u64)> = table
            .list(&page)
            .unwrap()
            .records
            .iter()
            .map(|r| (r.key.to_string(), r.version))
            .collect();
        assert_eq!(
            keys,
            [("ns/a".to_owned(), a.version), ("ns/b".to_owned(), b.version)]
        );
        let now: Vec<String> = table
            .list(&Page {
                prefix: "ns/",
                ..Page::default()
            })
            .unwrap()
            .records
            .iter()
            .map(|r| r.key.to_string())
            .collect();
        assert_eq!(now, ["ns/a", "ns/c"]);
    }

    #[test]
    fn history_beyond_the_ring_is_too_old() {
        let store = Store::new(2);
        let table = store.table("things");
        let start = store.version();
        for name in ["a", "b", "c"] {
            table.write(name, 0, &Write::Create(&object(1))).unwrap();
        }
        assert!(table.events_after(start, 10).is_err());
        assert_eq!(table.events_after(start + 1, 10).unwrap().len(), 2);
        assert!(
            table
                .list(&Page {
                    at: Some(start),
                    ..Page::default()
                })
                .is_err()
        );
    }
}
