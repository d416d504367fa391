//! What the watches say of objects while the objects are read.
//!
//! Decides what of a second look counts when it is taken in: an answer is as old as the request for it, and the answers of a look
//! come together, so that one object that takes long makes the answers about all others old. Never reads (`read_again`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::read_again::Found;
use store::{Event, Kind, ObjectKey, Store};

/// A look in progress.
#[derive(Debug)]
pub(super) struct Look {
    number: u64,
    objects: BTreeSet<ObjectKey>,
}

impl Look {
    /// Returns which objects are read.
    pub(super) fn objects(&self) -> Vec<ObjectKey> {
        self.objects.iter().cloned().collect()
    }
}

/// An object that is being read.
#[derive(Debug, Default)]
struct Reading {
    /// By how many looks.
    looks: usize,
    /// The youngest look that had begun when a watch last spoke of it; 0 when none has since it is read.
    outrun: u64,
}

/// All looks in progress. Of objects that no look reads nothing is kept.
#[derive(Debug, Default)]
pub(super) struct Looks {
    begun: u64,
    objects: BTreeMap<ObjectKey, Reading>,
}

impl Looks {
    pub(super) fn begin(&mut self, objects: impl IntoIterator<Item = ObjectKey>) -> Look {
        self.begun += 1;
        let objects: BTreeSet<ObjectKey> = objects.into_iter().collect();
        for object in &objects {
            self.objects.entry(object.clone()).or_default().looks += 1;
        }
        Look {
            number: self.begun,
            objects,
        }
    }

    /// Takes in what a watch says.
    pub(super) fn hear(&mut self, event: &Event) {
        if self.objects.is_empty() {
            return;
        }
        match event {
            Event::Applied { kind, object }
            | Event::Unreadable { kind, object, .. }
            | Event::Deleted { kind, object } => self.outrun(*kind, object),
            Event::Listed { kind, objects } => {
                for object in objects {
                    self.outrun(*kind, object);
                }
            }
            Event::Withheld { kind } => {
                let all = self.objects.iter_mut().filter(|(key, _)| key.kind == *kind);
                all.for_each(|(_, reading)| reading.outrun = self.begun);
            }
            Event::ListEnded { .. }
            | Event::Hidden { .. }
            | Event::Answered { .. }
            | Event::TypeFaulty { .. } => {}
        }
    }

    fn outrun(&mut self, kind: Kind, object: &Value) {
        if let Some(reading) = self.objects.get_mut(&ObjectKey::of(kind, object)) {
            reading.outrun = self.begun;
        }
    }

    /// Ends a look for objects that no list shows: one that could not be read, and of which a watch has spoken since the look began,
    /// need not be read any more.
    pub(super) fn end_of_absent(&mut self, look: Look, mut found: Found, store: &Store) -> Found {
        let number = look.number;
        let is_outrun = |object: &ObjectKey| {
            let reading = self.objects.get(object);
            reading.is_some_and(|reading| reading.outrun >= number)
        };
        found.unread.retain(|unread| !is_outrun(&unread.object));
        self.end(look, found, store).0
    }

    /// Ends a look. Returns what counts of what it has found, and of which objects the answer does: they were read.
    pub(super) fn end(
        &mut self,
        look: Look,
        mut found: Found,
        store: &Store,
    ) -> (Found, BTreeSet<ObjectKey>) {
        let Look { number, objects } = look;
        let mut stale: BTreeSet<ObjectKey> =
            found.unread.iter().map(|unread| unread.object.clone()).collect();
        found.events.retain(|event| {
            let contradicted = self.contradicted(number, event, store);
            let counts = contradicted.is_none();
            stale.extend(contradicted);
            counts
        });
        for object in &objects {
            self.leave(object);
        }
        let counted = objects.into_iter().filter(|object| !stale.contains(object));
        (found, counted.collect())
    }

    /// Returns which object an answer is about, if a watch has spoken of it since the look began, and the two are at odds:
    /// whether it is there, or which one of its name. Their revisions show which of two states of one object is newer.
    fn contradicted(&self, look: u64, event: &Event, store: &Store) -> Option<ObjectKey> {
        let (Event::Applied { kind, object }
        | Event::Unreadable { kind, object, .. }
        | Event::Deleted { kind, object }) = event
        else {
            return None;
        };
        let key = ObjectKey::of(*kind, object);
        if self.objects.get(&key)?.outrun < look {
            return None;
        }
        let read = object.pointer("/metadata/uid").and_then(Value::as_str);
        let known = store.meta(&key).map(|meta| &*meta.uid);
        (read != known).then_some(key)
    }

    fn leave(&mut self, object: &ObjectKey) {
        let Some(reading) = self.objects.get_mut(object) else {
            return;
        };
        reading.looks -= 1;
        if reading.looks == 0 {
            self.objects.remove(object);
        }
    }
}
