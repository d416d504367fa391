//! What a watch has told so far about one kind. Own writes are put here too, so that their echo is no news.

use std::collections::{BTreeMap, BTreeSet};

use kube::{
    api::{DynamicObject, ObjectMeta},
    runtime::watcher::Event,
};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::hub::Change;
use crate::wire::{DecodeError, Meta, Record};

/// Names an object of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Key {
    pub(super) fn of(meta: &Meta) -> Self {
        Self {
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
        }
    }

    pub(super) fn of_object(object: &DynamicObject) -> Self {
        let ObjectMeta { namespace, name, .. } = &object.metadata;
        Self {
            namespace: namespace.clone().unwrap_or_default(),
            name: name.clone().unwrap_or_default(),
        }
    }
}

/// Turns an object into what is kept of it.
pub(super) type Read<V> = fn(DynamicObject) -> Result<(Meta, V), DecodeError>;

/// The objects of one kind.
pub(super) struct KindStore<V> {
    read: Read<V>,
    entries: BTreeMap<Key, (Meta, V)>,
    /// What the list in progress has brought.
    listing: Option<BTreeSet<Key>>,
    synced: bool,
}

impl<V: PartialEq> KindStore<V> {
    pub(super) fn new(read: Read<V>) -> Self {
        Self {
            read,
            entries: BTreeMap::new(),
            listing: None,
            synced: false,
        }
    }

    /// Returns whether everything has been listed once.
    pub(super) fn synced(&self) -> bool {
        self.synced
    }

    pub(super) fn get(&self, key: &Key) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(_, value)| value)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.entries.keys()
    }

    pub(super) fn in_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (&'a Key, &'a V)> {
        let from = Key {
            namespace: namespace.to_owned(),
            name: String::new(),
        };
        let entries = self
            .entries
            .range(from..)
            .take_while(move |(key, _)| key.namespace == namespace);
        entries.map(|(key, (_, value))| (key, value))
    }

    /// Takes in what a watch tells and returns the values that changed: what they were, or what they are now when new.
    pub(super) fn observe(&mut self, change: Change) -> Vec<Key> {
        match change {
            Event::Init => {
                self.listing = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitApply(object) | Event::Apply(object) => self.put(object).into_iter().collect(),
            Event::InitDone => {
                self.synced = true;
                let Some(listed) = self.listing.take() else {
                    return Vec::new();
                };
                let gone: Vec<_> = self
                    .entries
                    .keys()
                    .filter(|key| !listed.contains(key))
                    .cloned()
                    .collect();
                for key in &gone {
                    self.forget(key);
                }
                gone
            }
            Event::Delete(object) => {
                let (key, uid) = (Key::of_object(&object), object.metadata.uid);
                // The end of an object of the same name that has been replaced since says nothing about the new one.
                let known = self
                    .entries
                    .get(&key)
                    .is_some_and(|(known, _)| uid.is_none_or(|uid| uid == known.uid));
                if known {
                    self.forget(&key);
                }
                known.then_some(key).into_iter().collect()
            }
        }
    }

    /// Takes in one object; returns its key if its value changed.
    pub(super) fn put(&mut self, object: DynamicObject) -> Option<Key> {
        let (meta, value) = match (self.read)(object) {
            Ok(read) => read,
            Err(error) => {
                warn!(%error, source = ?std::error::Error::source(&error), "leaving an object out");
                return None;
            }
        };
        let key = Key::of(&meta);
        if let Some(listing) = &mut self.listing {
            listing.insert(key.clone());
        }
        let known = self.entries.get(&key);
        if known.is_some_and(|(known, _)| meta.is_older_than(known)) {
            return None;
        }
        let changed = known.is_none_or(|(_, known)| *known != value);
        self.entries.insert(key.clone(), (meta, value));
        changed.then_some(key)
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.entries.remove(key);
    }
}

/// Reads a whole record.
pub(super) fn read_record<S, T>(object: DynamicObject) -> Result<(Meta, Record<S, T>), DecodeError>
where
    S: DeserializeOwned + Default,
    T: DeserializeOwned + Default,
{
    let record = Record::decode(object)?;
    Ok((record.meta.clone(), record))
}
