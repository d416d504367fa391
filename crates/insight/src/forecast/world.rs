//! A hub in memory that plans are written to.
//!
//! Decides what an API server would: revisions, generations, finalizers, and what goes with its owner. A write whose object
//! is not as it was planned from is left out; the next plan sees why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::offline::Hub;
use api::names::labels;
use plan::{Action, CertificateDecision, Plan};
use store::{Event, Kind, ObjectKey, Settings, Store};

/// What a round of writes did to clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moves {
    /// Clusters on which the add-on was installed.
    pub(super) installed: BTreeSet<String>,
    /// Clusters that were updated.
    pub(super) moved: BTreeSet<String>,
    /// Clusters from which it is removed.
    pub(super) removed: BTreeSet<String>,
}

impl Moves {
    pub(super) fn is_empty(&self) -> bool {
        self.installed.is_empty() && self.moved.is_empty() && self.removed.is_empty()
    }
}

/// A hub in memory.
#[derive(Debug)]
pub(super) struct World<'h> {
    hub: &'h Hub,
    pub(super) objects: BTreeMap<ObjectKey, Arc<Value>>,
    pub(super) store: Store,
    pub(super) now: Timestamp,
    revision: u64,
}

impl<'h> World<'h> {
    pub(super) fn new(hub: &'h Hub, settings: Settings, now: Timestamp) -> Self {
        let objects = hub.objects().clone();
        let version = |object: &Value| {
            object
                .pointer("/metadata/resourceVersion")?
                .as_str()?
                .parse::<u64>()
                .ok()
        };
        let revision = objects
            .values()
            .filter_map(|object| version(object))
            .max()
            .unwrap_or_default();
        Self {
            hub,
            store: hub.store(settings),
            objects,
            now,
            revision,
        }
    }

    /// Returns an object.
    pub(super) fn object(&self, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(key).map(Arc::as_ref)
    }

    /// Does the writes of a plan; returns whether any of them changed anything.
    pub(super) fn write(&mut self, plan: &Plan, moves: &mut Moves) -> bool {
        let before = self.revision;
        for action in &plan.actions {
            self.write_one(action, moves);
        }
        self.hub.answer_all(&mut self.store);
        self.revision != before
    }

    fn write_one(&mut self, action: &Action, moves: &mut Moves) {
        let key = action.object();
        match action {
            Action::Create { body, .. } => {
                if !self.objects.contains_key(key) {
                    self.create(key, body.value());
                    self.note_creation(key, moves);
                }
            }
            Action::Replace { patch, .. } => {
                let Some(old) = self.objects.get(key).cloned() else {
                    return;
                };
                let mut new = Value::clone(&old);
                json_patch::merge(&mut new, &patch.value());
                if differs(&old, &new, "/spec") {
                    bump(&mut new);
                }
                let is_move = key.kind == Kind::Work
                    && (differs(&old, &new, "/spec") || differs(&old, &new, "/metadata/annotations"));
                if is_move {
                    moves.moved.insert(cluster_of(key, &new));
                }
                self.save(key, new);
                self.collect(key);
            }
            Action::Status { patch, .. } => {
                let Some(old) = self.objects.get(key).cloned() else {
                    return;
                };
                let status = patch.value().get("status").cloned().unwrap_or_default();
                let mut new = Value::clone(&old);
                json_patch::merge(&mut new, &json!({"status": status}));
                let assigned = key.kind == Kind::Instance && desired(&old) != desired(&new);
                if assigned && !moves.installed.contains(&*key.namespace) {
                    moves.moved.insert(key.namespace.to_string());
                }
                if *old != new {
                    self.save(key, new);
                }
            }
            Action::Delete { .. } => {
                if key.kind == Kind::Instance && self.objects.contains_key(key) {
                    moves.removed.insert(key.namespace.to_string());
                }
                self.delete(key);
            }
            Action::Certify { answer, .. } => self.certify(key, answer),
        }
    }

    fn note_creation(&self, key: &ObjectKey, moves: &mut Moves) {
        if key.kind == Kind::Instance {
            moves.installed.insert(key.namespace.to_string());
        } else if key.kind == Kind::Work {
            let cluster = self.objects.get(key).map(|work| cluster_of(key, work));
            let cluster = cluster.unwrap_or_default();
            if !moves.installed.contains(&cluster) {
                moves.moved.insert(cluster);
            }
        }
    }

    fn create(&mut self, key: &ObjectKey, mut object: Value) {
        let uid = format!("forecast {}", self.revision.saturating_add(1));
        if let Some(metadata) = metadata(&mut object) {
            metadata.insert("uid".to_owned(), json!(uid));
            metadata.insert("generation".to_owned(), json!(1));
            metadata.insert("creationTimestamp".to_owned(), json!(self.now.to_string()));
        }
        self.save(key, object);
    }

    /// Merges a report into the status of an object.
    pub(super) fn report(&mut self, key: &ObjectKey, status: &Value) {
        if let Some(mut object) = self.objects.get(key).map(|object| Value::clone(object)) {
            json_patch::merge(&mut object, &json!({"status": status}));
            self.save(key, object);
        }
    }

    fn certify(&mut self, key: &ObjectKey, answer: &CertificateDecision) {
        let status = match answer {
            CertificateDecision::Approve(patch, _) => patch.get("status").cloned().unwrap_or_default(),
            CertificateDecision::Sign(_) => json!({"certificate": "Zm9yZWNhc3Q="}),
        };
        self.report(key, &status);
    }

    /// Deletes an object, or marks it while finalizers hold it.
    pub(super) fn delete(&mut self, key: &ObjectKey) {
        let Some(object) = self.objects.get(key) else {
            return;
        };
        if finalizers(object) == 0 {
            self.remove(key);
            return;
        }
        let mut object = Value::clone(object);
        let now = json!(self.now.to_string());
        if let Some(metadata) = metadata(&mut object) {
            if metadata.contains_key("deletionTimestamp") {
                return;
            }
            metadata.insert("deletionTimestamp".to_owned(), now);
        }
        self.save(key, object);
    }

    /// Removes an object that waited for its last finalizer.
    fn collect(&mut self, key: &ObjectKey) {
        let waits = |object: &Value| {
            object
                .pointer("/metadata/deletionTimestamp")
                .is_some_and(Value::is_string)
        };
        if self
            .objects
            .get(key)
            .is_some_and(|object| waits(object) && finalizers(object) == 0)
        {
            self.remove(key);
        }
    }

    /// Removes an object and deletes what it owns.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        let Some(object) = self.objects.remove(key) else {
            return;
        };
        self.revision = self.revision.saturating_add(1);
        let uid = object.pointer("/metadata/uid").cloned();
        self.store.apply(Event::Deleted {
            kind: key.kind,
            object: Arc::unwrap_or_clone(object),
        });
        let owned = |object: &Value| {
            let owners = object
                .pointer("/metadata/ownerReferences")
                .and_then(Value::as_array);
            owners
                .into_iter()
                .flatten()
                .any(|owner| owner.get("uid") == uid.as_ref())
        };
        let owned: Vec<ObjectKey> = self
            .objects
            .iter()
            .filter(|(_, object)| owned(object))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &owned {
            self.delete(key);
        }
    }

    fn save(&mut self, key: &ObjectKey, mut object: Value) {
        self.revision = self.revision.saturating_add(1);
        if let Some(metadata) = metadata(&mut object) {
            metadata.insert("resourceVersion".to_owned(), json!(self.revision.to_string()));
        }
        self.objects.insert(key.clone(), Arc::new(object.clone()));
        self.store.apply(Event::Applied {
            kind: key.kind,
            object,
        });
    }
}

fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata").and_then(Value::as_object_mut)
}

fn differs(old: &Value, new: &Value, pointer: &str) -> bool {
    old.pointer(pointer) != new.pointer(pointer)
}

fn bump(object: &mut Value) {
    let generation = object
        .pointer("/metadata/generation")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    if let Some(metadata) = metadata(object) {
        metadata.insert("generation".to_owned(), json!(generation.saturating_add(1)));
    }
}

fn finalizers(object: &Value) -> usize {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.map_or(0, Vec::len)
}

/// A work may stand in the namespace of a hosting cluster; its label tells for which cluster it is.
pub(super) fn cluster_of(key: &ObjectKey, work: &Value) -> String {
    let labels = work.pointer("/metadata/labels").and_then(Value::as_object);
    let named = labels
        .and_then(|labels| labels.get(labels::CLUSTER_NAME))
        .and_then(Value::as_str);
    let hosted = labels
        .and_then(|labels| labels.get(labels::ADDON_NAMESPACE))
        .and_then(Value::as_str);
    hosted.or(named).unwrap_or(&key.namespace).to_owned()
}

/// The configurations that a cluster was given, with their hashes.
fn desired(instance: &Value) -> Vec<&Value> {
    let references = instance
        .pointer("/status/configReferences")
        .and_then(Value::as_array);
    let desired = references
        .into_iter()
        .flatten()
        .filter_map(|reference| reference.get("desiredConfig"));
    desired.collect()
}
