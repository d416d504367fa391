//! The works of all clusters, as far as the watch has told. A work is kept whole only while there is something to do
//! about it; after that its name, version and age are enough.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use kube::{api::DynamicObject, runtime::watcher::Event};
use tracing::warn;

use super::{hub::Change, store::Key};
use crate::{
    agent,
    fault::Jobs,
    wire::{ManifestWork, Meta},
};

/// What is remembered of a work.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The newest state seen, without labels and annotations.
    pub(super) meta: Meta,
    /// The whole work, while there is something to do about it.
    pub(super) work: Option<ManifestWork>,
    /// When this generation, or its deletion, was first seen.
    pub(super) seen: Duration,
    /// What its jobs are for.
    pub(super) jobs: Vec<Jobs>,
    /// Whether it reports on what its cluster changes by itself.
    pub(super) follows: bool,
    /// Whether it will be looked at again although it does not change.
    pub(super) returns: bool,
}

/// The works of all clusters.
#[derive(Debug, Default)]
pub(super) struct Works {
    slots: BTreeMap<Key, Slot>,
    /// What the list in progress has brought.
    listing: Option<BTreeSet<Key>>,
}

/// What a watch told that the agents have to act upon.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) changed: Option<Key>,
    pub(super) gone: Vec<Key>,
}

impl Works {
    pub(super) fn slot(&mut self, key: &Key) -> Option<&mut Slot> {
        self.slots.get_mut(key)
    }

    pub(super) fn of_cluster<'a>(&'a self, cluster: &'a str) -> impl Iterator<Item = &'a Key> {
        let from = Key {
            namespace: cluster.to_owned(),
            name: String::new(),
        };
        self.slots
            .range(from..)
            .map(|(key, _)| key)
            .take_while(move |key| key.namespace == cluster)
    }

    /// Returns the works of a cluster that report on what it changes by itself.
    pub(super) fn followers<'a>(&'a self, cluster: &'a str) -> impl Iterator<Item = &'a Key> {
        let follows = |key: &&Key| self.slots.get(key).is_some_and(|slot| slot.follows);
        self.of_cluster(cluster).filter(follows)
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.slots.remove(key);
    }

    /// Keeps a work whole that will be looked at again.
    pub(super) fn keep(&mut self, key: &Key, work: ManifestWork) {
        if let Some(slot) = self
            .slots
            .get_mut(key)
            .filter(|slot| slot.returns && slot.work.is_none())
        {
            slot.work = Some(work);
        }
    }

    /// Takes in what the watch tells.
    pub(super) fn observe(&mut self, change: Change, now: Duration) -> News {
        match change {
            Event::Init => {
                self.listing = Some(BTreeSet::new());
                News::default()
            }
            Event::InitApply(object) | Event::Apply(object) => News {
                changed: self.put(object, now),
                gone: Vec::new(),
            },
            Event::InitDone => {
                let listed = self.listing.take().unwrap_or_default();
                let gone = self
                    .slots
                    .keys()
                    .filter(|key| !listed.contains(key))
                    .cloned()
                    .collect();
                News { changed: None, gone }
            }
            Event::Delete(object) => {
                let (key, uid) = (Key::of_object(&object), object.metadata.uid);
                // The end of a work that has been replaced since says nothing about the new one of the same name.
                let known = self
                    .slots
                    .get(&key)
                    .is_some_and(|slot| uid.is_none_or(|uid| uid == slot.meta.uid));
                News {
                    changed: None,
                    gone: known.then_some(key).into_iter().collect(),
                }
            }
        }
    }

    /// Takes in what the hub answered to a call about a work, unless the work has been replaced meanwhile.
    pub(super) fn answered(&mut self, key: &Key, object: DynamicObject, now: Duration) {
        if self
            .slots
            .get(key)
            .is_some_and(|slot| object.metadata.uid.as_ref() == Some(&slot.meta.uid))
        {
            self.put(object, now);
        }
    }

    /// Takes in a state of a work; returns its key if this is news.
    fn put(&mut self, object: DynamicObject, now: Duration) -> Option<Key> {
        let work = match ManifestWork::decode(object) {
            Ok(work) => work,
            Err(error) => {
                warn!(%error, source = ?std::error::Error::source(&error), "leaving a work out");
                return None;
            }
        };
        let key = Key::of(&work.meta);
        if let Some(listing) = &mut self.listing {
            listing.insert(key.clone());
        }
        let slot = self.slots.entry(key.clone()).or_default();
        if work.meta.is_older_than(&slot.meta) {
            return None;
        }
        let version = |meta: &Meta| (meta.uid.clone(), meta.resource_version.clone());
        let news = version(&slot.meta) != version(&work.meta);
        let task = |meta: &Meta| (meta.uid.clone(), meta.generation, meta.terminating);
        if task(&slot.meta) != task(&work.meta) {
            slot.seen = now;
        }
        slot.meta = Meta {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            ..work.meta.clone()
        };
        slot.jobs = agent::purposes(&work);
        slot.work = Some(work);
        news.then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn work(uid: &str, version: &str, generation: i64) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {"namespace": "c1", "name": "w", "uid": uid, "resourceVersion": version, "generation": generation},
        }))
        .expect("an object in wire form")
    }

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    fn key() -> Key {
        Key {
            namespace: "c1".to_owned(),
            name: "w".to_owned(),
        }
    }

    #[test]
    fn echoes_and_old_states_are_no_news() {
        let mut works = Works::default();
        let news = News {
            changed: Some(key()),
            gone: vec![],
        };
        assert_eq!(works.observe(Event::Apply(work("u", "10", 1)), at(0)), news);
        works.answered(&key(), work("u", "12", 1), at(1));
        assert_eq!(
            works.observe(Event::Apply(work("u", "11", 1)), at(2)),
            News::default(),
            "older than the answer"
        );
        assert_eq!(
            works.observe(Event::Apply(work("u", "12", 1)), at(2)),
            News::default(),
            "the answer's echo"
        );
        assert_eq!(works.slot(&key()).map(|slot| slot.seen), Some(at(0)));
        assert_eq!(works.observe(Event::Apply(work("u", "13", 2)), at(3)), news);
        assert_eq!(
            works.slot(&key()).map(|slot| slot.seen),
            Some(at(3)),
            "a new generation starts a new wait"
        );
    }

    #[test]
    fn a_replaced_work_is_not_mistaken_for_the_new_one() {
        let mut works = Works::default();
        works.observe(Event::Apply(work("new", "20", 1)), at(0));
        works.answered(&key(), work("old", "30", 1), at(1));
        assert_eq!(
            works.slot(&key()).map(|slot| slot.meta.uid.clone()),
            Some("new".to_owned())
        );
        assert_eq!(
            works.observe(Event::Delete(work("old", "30", 1)), at(1)),
            News::default()
        );
        let gone = News {
            changed: None,
            gone: vec![key()],
        };
        assert_eq!(works.observe(Event::Delete(work("new", "31", 1)), at(1)), gone);
    }

    #[test]
    fn objects_missing_in_a_new_list_are_deleted() {
        let mut works = Works::default();
        works.observe(Event::Apply(work("u", "10", 1)), at(0));
        works.observe(Event::Init, at(1));
        assert_eq!(
            works.observe(Event::InitDone, at(1)),
            News {
                changed: None,
                gone: vec![key()]
            }
        );
    }
}
