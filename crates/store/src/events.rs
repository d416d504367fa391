//! What events do to the store.
//!
//! Decides which add-ons an event touches. Never awaits, never decides what should change, and lets no malformed object
//! stop the others: it keeps the last good record and remembers the fault.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kind::{Kind, ObjectKey, Owner, Touched};
use super::kinds::stores;
use super::parts::config_watch::{ConfigLookup, TypeFault};
use super::parts::expectations::{Expected, Observed, is_met};
use super::record::{ConfigRef, ConfigType, Meta};
use super::store::Store;

/// Something that happened on the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An object was created or changed.
    Applied {
        /// Its kind.
        kind: Kind,
        /// The object.
        object: Value,
    },
    /// An object is there and cannot be read whole. What is known of it stays.
    Unreadable {
        /// Its kind.
        kind: Kind,
        /// What can be read of it: its identity at least.
        object: Value,
        /// Why it cannot be read.
        why: String,
    },
    /// An object was deleted.
    Deleted {
        /// Its kind.
        kind: Kind,
        /// The last state of the object.
        object: Value,
    },
    /// A complete list of a kind: an object that is not in it was deleted.
    Listed {
        /// The kind.
        kind: Kind,
        /// All its objects.
        objects: Vec<Value>,
    },
    /// All objects of a kind were listed one after the other: an object that is not among them was deleted.
    ListEnded {
        /// The kind.
        kind: Kind,
        /// Which objects there are.
        keys: BTreeSet<ObjectKey>,
    },
    /// The hub does not show a kind, as if it had no object of it. What is known of it is forgotten.
    Withheld {
        /// The kind.
        kind: Kind,
    },
    /// The hub no longer shows a kind that it has shown. What is known of it stays.
    Hidden {
        /// The kind.
        kind: Kind,
    },
    /// What the hub said about a configuration of any kind.
    Answered {
        /// Which one.
        config: ConfigRef,
        /// What it said.
        answer: ConfigLookup,
    },
    /// Objects of a configuration type cannot be looked at, or can be again.
    TypeFaulty {
        /// The type.
        of: ConfigType,
        /// Why; absent when all is well.
        fault: Option<TypeFault>,
    },
}

impl Store {
    /// Applies an event and returns those whose plan may differ now.
    pub fn apply(&mut self, event: Event) -> Touched {
        let mut touched = Touched::new();
        match event {
            Event::Applied { kind, object } => self.apply_object(kind, &object, &mut touched),
            Event::Unreadable { kind, object, why } => {
                let key = ObjectKey::of(kind, &object);
                if !self.has_newer(&key, &object) {
                    self.skip(key, why);
                }
            }
            Event::Deleted { kind, object } => {
                let key = ObjectKey::of(kind, &object);
                self.delete(&key, &mut touched);
            }
            Event::Listed { kind, objects } => {
                self.shown(kind, true, &mut touched);
                self.apply_list(kind, &objects, &mut touched);
            }
            Event::ListEnded { kind, keys } => {
                self.shown(kind, true, &mut touched);
                self.keep_only(kind, &keys, &mut touched);
            }
            Event::Withheld { kind } => {
                self.shown(kind, false, &mut touched);
                self.apply_list(kind, &[], &mut touched);
            }
            Event::Hidden { .. } => {}
            Event::Answered { config, answer } => self.answer(config, answer, &mut touched),
            Event::TypeFaulty { of, fault } => self.type_fault(&of, fault, &mut touched),
        }
        self.touch_dependents(&mut touched);
        self.changes.close(&touched);
        touched.append(&mut self.pending.woken);
        self.bury(&touched);
        touched
    }

    /// What concerns an add-on concerns those that depend on it as well: clusters that wait for it, at which every plan looks.
    fn touch_dependents(&mut self, touched: &mut Touched) {
        let addons = touched.iter().filter(|owner| owner.kind == Kind::AddOn);
        let dependents: Touched = addons
            .flat_map(|owner| self.indexes.dependents.of(&owner.name))
            .map(Owner::addon)
            .collect();
        for owner in dependents.difference(touched) {
            self.changes.of_none(owner);
        }
        touched.extend(dependents);
    }

    fn apply_list(&mut self, kind: Kind, objects: &[Value], touched: &mut Touched) {
        let listed: BTreeSet<ObjectKey> = objects.iter().map(|object| ObjectKey::of(kind, object)).collect();
        self.keep_only(kind, &listed, touched);
        for object in objects {
            self.apply_object(kind, object, touched);
        }
    }

    fn keep_only(&mut self, kind: Kind, listed: &BTreeSet<ObjectKey>, touched: &mut Touched) {
        for key in self.missing(kind, listed) {
            self.delete(&key, touched);
        }
        let faulty = self.pending.faults.keys();
        let gone = faulty.filter(|key| key.kind == kind && !listed.contains(*key));
        for key in gone.cloned().collect::<Vec<_>>() {
            self.pending.faults.remove(&key);
            self.free(&key);
        }
    }

    fn free(&mut self, key: &ObjectKey) {
        if let Some(budget) = &mut self.memory_budget {
            budget.free(key);
        }
    }

    fn apply_object(&mut self, kind: Kind, object: &Value, touched: &mut Touched) {
        let key = ObjectKey::of(kind, object);
        if self.has_newer(&key, object) {
            return;
        }
        let reserved = self
            .memory_budget
            .as_mut()
            .map_or(Ok(()), |budget| budget.take(&key, object));
        if let Err(why) = reserved {
            return self.skip(key, why);
        }
        match (stores(kind).apply)(self, &key, object, touched) {
            Ok(()) => drop(self.pending.faults.remove(&key)),
            Err(fault) => self.skip(key.clone(), fault),
        }
        let seen = self.meta(&key).cloned();
        self.pending.woken.extend(
            self.pending
                .expectations
                .settle(&key, seen.as_ref().map(observed)),
        );
    }

    /// Tells whether a newer state of an object is known: a list, or the answer to a read, may bring an older one than the watch has shown.
    fn has_newer(&self, key: &ObjectKey, object: &Value) -> bool {
        let text = |field: &str| object.get("metadata")?.get(field)?.as_str();
        self.meta(key).is_some_and(|known| {
            let version = |text: &str| text.parse::<u64>().ok();
            let versions = version(&known.version).zip(text("resourceVersion").and_then(version));
            text("uid") == Some(&*known.uid) && versions.is_some_and(|(known, new)| new < known)
        })
    }

    /// Keeps the last record of an object, and remembers why there is no newer one.
    fn skip(&mut self, key: ObjectKey, fault: String) {
        if self.pending.faults.insert(key.clone(), fault.clone()).as_ref() != Some(&fault) {
            self.pending.new_faults.push((key, fault));
        }
    }

    fn delete(&mut self, key: &ObjectKey, touched: &mut Touched) {
        self.pending.faults.remove(key);
        self.free(key);
        (stores(key.kind).unfile)(self, key, touched);
        self.pending
            .woken
            .extend(self.pending.expectations.settle(key, None));
    }

    /// Records that nothing must be planned for `owner` until the store has seen the own write of `key`. Of several writes to one
    /// object only the last counts: when it has ended the object, no watch shows what an earlier one made.
    pub fn expect(&mut self, owner: &Owner, key: ObjectKey, expected: Expected) {
        self.pending.expectations.supersede(owner, &key);
        let observed = self.meta(&key).map(observed);
        let met = match (&expected, observed) {
            (Expected::Version(_), None) => false,
            (Expected::Version(_) | Expected::Gone(_) | Expected::Removed(_), _) => {
                is_met(&expected, observed)
            }
        };
        if !met {
            self.pending.expectations.expect(owner, key, expected);
        }
    }

    /// Returns identity and revision of an object, if the store has it.
    pub fn meta(&self, key: &ObjectKey) -> Option<&Meta> {
        (stores(key.kind).meta)(self, key)
    }

    /// Returns the keys of all objects of a kind.
    pub(super) fn keys(&self, kind: Kind) -> Vec<ObjectKey> {
        (stores(kind).keys)(self)
    }
}

fn observed(meta: &Meta) -> Observed<'_> {
    Observed {
        uid: &meta.uid,
        version: &meta.version,
        deleting: meta.deleting,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Settings;

    fn instance(version: &str) -> Value {
        json!({"spec": {}, "metadata": {"name": "hello", "namespace": "c1", "uid": "i", "resourceVersion": version,
            "deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["example.com/hooks"]}})
    }

    /// The end of a hook is two writes: the condition that reports it, and the list of finalizers without ours, which ends the object.
    #[test]
    fn a_write_that_ends_an_object_leaves_nothing_to_wait_for() {
        let kind = Kind::Instance;
        let (owner, key) = (Owner::addon(&"hello".into()), ObjectKey::new(kind, "c1", "hello"));
        let writes = [Expected::Version("2".into()), Expected::Removed("i".into())];
        for is_early in [true, false] {
            let mut store = Store::new(Settings::default());
            store.apply(Event::Applied {
                kind,
                object: instance("1"),
            });
            let ended = |store: &mut Store| {
                drop(store.apply(Event::Deleted {
                    kind,
                    object: instance("2"),
                }));
            };
            if is_early {
                ended(&mut store);
            }
            for expected in writes.clone() {
                store.expect(&owner, key.clone(), expected);
            }
            if !is_early {
                assert_eq!(
                    store.awaited(&owner),
                    1,
                    "an object that was being deleted before is not gone yet"
                );
                ended(&mut store);
            }
            assert_eq!(store.awaited(&owner), 0, "the event comes early: {is_early}");
        }
    }

    #[test]
    fn the_last_of_several_writes_to_an_object_is_waited_for() {
        let kind = Kind::Instance;
        let (owner, key) = (Owner::addon(&"hello".into()), ObjectKey::new(kind, "c1", "hello"));
        let mut store = Store::new(Settings::default());
        store.apply(Event::Applied {
            kind,
            object: instance("1"),
        });
        for version in ["2", "3"] {
            store.expect(&owner, key.clone(), Expected::Version(version.into()));
        }
        store.apply(Event::Applied {
            kind,
            object: instance("2"),
        });
        assert_eq!(store.awaited(&owner), 1);
        store.apply(Event::Applied {
            kind,
            object: instance("3"),
        });
        assert_eq!(store.awaited(&owner), 0);
    }
}
