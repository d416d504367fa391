//! A model hub: objects with uids, revisions and generations, finalizers, namespaces, garbage collection, and a history for
//! watches. It checks every precondition and rejects what an API server rejects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use plan::Revision;
use serde_json::{Value, json};
use store::{Event, Kind, Name, ObjectKey};

/// A stored object; the history shares it.
pub(crate) type Object = Arc<Value>;

/// Why the hub did not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 404
    NotFound,
    /// 409, another revision
    Conflict,
    /// 409, the name is taken
    Exists,
    /// 403, the namespace is going away
    Forbidden,
}

/// Which part of an object a patch reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Main,
    Status,
}

/// One entry of the history of a kind.
#[derive(Debug, Clone)]
enum Change {
    Applied(Object),
    Deleted(Object),
}

/// The model hub.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) now: Timestamp,
    objects: BTreeMap<ObjectKey, Object>,
    /// Namespaces of clusters; true while they are going away.
    namespaces: BTreeMap<Name, bool>,
    log: BTreeMap<Kind, Vec<Change>>,
    revision: u64,
    /// Works that changed since the agents looked.
    pub(crate) touched_works: BTreeSet<ObjectKey>,
    /// Whether owners went away since the garbage collector looked.
    unswept: bool,
}

pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

fn has_finalizers(object: &Value) -> bool {
    let listed = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    listed.is_some_and(|listed| !listed.is_empty())
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self {
            now: "2030-01-01T00:00:00Z".parse().expect("a literal time"),
            objects: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            log: BTreeMap::new(),
            revision: 0,
            touched_works: BTreeSet::new(),
            unswept: false,
        }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.objects.get(key)
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = (&ObjectKey, &Object)> {
        self.objects.iter()
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&ObjectKey, &Object)> {
        self.objects.iter().filter(move |(key, _)| key.kind == kind)
    }

    pub(crate) fn open_namespace(&mut self, name: &str) {
        self.namespaces.insert(name.into(), false);
    }

    pub(crate) fn has_namespace(&self, name: &str) -> bool {
        self.namespaces.contains_key(name)
    }

    /// Creates an object.
    pub(crate) fn create(&mut self, kind: Kind, mut object: Value) -> Result<Object, Refusal> {
        let key = ObjectKey::new(
            kind,
            text(&object, "/metadata/namespace"),
            text(&object, "/metadata/name"),
        );
        if !key.namespace.is_empty() && *key.namespace != *"default" {
            match self.namespaces.get(&key.namespace) {
                None => return Err(Refusal::NotFound),
                Some(true) => return Err(Refusal::Forbidden),
                Some(false) => {}
            }
        }
        if self.objects.contains_key(&key) {
            return Err(Refusal::Exists);
        }
        default_fields(kind, &mut object);
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        object["metadata"]["uid"] = json!(format!("uid-{}", self.revision + 1));
        object["metadata"]["generation"] = json!(1);
        // The garbage collector finds owners that are already deleted.
        self.unswept = true;
        Ok(self.save(&key, object))
    }

    /// Merges a patch into one part of an object.
    pub(crate) fn patch(
        &mut self,
        key: &ObjectKey,
        patch: &Value,
        part: Part,
        before: Option<&Revision>,
    ) -> Result<Object, Refusal> {
        let stored = Arc::clone(self.objects.get(key).ok_or(Refusal::NotFound)?);
        guard(&stored, before)?;
        let mut object = (*stored).clone();
        match part {
            Part::Status => {
                json_patch::merge(&mut object, &json!({"status": patch["status"]}));
            }
            Part::Main => {
                let mut patch = patch.clone();
                if let Some(fields) = patch.as_object_mut() {
                    fields.remove("status");
                }
                json_patch::merge(&mut object, &patch);
                default_fields(key.kind, &mut object);
                if object.get("spec") != stored.get("spec") {
                    let generation = object["metadata"]["generation"].as_i64().unwrap_or(1);
                    object["metadata"]["generation"] = json!(generation + 1);
                }
            }
        }
        if object == *stored {
            return Ok(stored);
        }
        self.unswept |= part == Part::Main;
        if is_deleting(&object) && !has_finalizers(&object) {
            return Ok(self.remove(key, object));
        }
        Ok(self.save(key, object))
    }

    /// Creates an object or replaces what a user writes: labels, annotations and spec.
    pub(crate) fn put(&mut self, kind: Kind, object: &Value) {
        let key = ObjectKey::new(
            kind,
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        );
        if self.objects.contains_key(&key) {
            let mut whole = (*self.objects[&key]).clone();
            if let Some(spec) = object.get("spec") {
                whole["spec"] = spec.clone();
            }
            json_patch::merge(&mut whole["metadata"], &object["metadata"]);
            default_fields(kind, &mut whole);
            if whole.get("spec") != self.objects[&key].get("spec") {
                let generation = whole["metadata"]["generation"].as_i64().unwrap_or(1);
                whole["metadata"]["generation"] = json!(generation + 1);
            }
            if whole != *self.objects[&key] {
                self.save(&key, whole);
            }
        } else {
            self.create(kind, object.clone()).ok();
        }
    }

    pub(crate) fn put_status(&mut self, key: &ObjectKey, status: &Value) {
        self.patch(key, &json!({"status": status}), Part::Status, None)
            .ok();
    }

    /// Deletes an object, or marks it while finalizers hold it.
    pub(crate) fn delete(&mut self, key: &ObjectKey, before: Option<&Revision>) -> Result<(), Refusal> {
        let stored = Arc::clone(self.objects.get(key).ok_or(Refusal::NotFound)?);
        guard(&stored, before)?;
        self.unswept = true;
        if !has_finalizers(&stored) {
            self.remove(key, (*stored).clone());
        } else if !is_deleting(&stored) {
            let mut object = (*stored).clone();
            object["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
            self.save(key, object);
        }
        Ok(())
    }

    fn save(&mut self, key: &ObjectKey, mut object: Value) -> Object {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let object = Arc::new(object);
        self.objects.insert(key.clone(), Arc::clone(&object));
        self.note(key, Change::Applied(Arc::clone(&object)));
        object
    }

    fn remove(&mut self, key: &ObjectKey, mut object: Value) -> Object {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let object = Arc::new(object);
        self.objects.remove(key);
        self.unswept = true;
        self.note(key, Change::Deleted(Arc::clone(&object)));
        if key.kind == Kind::Cluster {
            self.namespaces.insert(key.name.clone(), true);
        }
        object
    }

    fn note(&mut self, key: &ObjectKey, change: Change) {
        if key.kind == Kind::Work {
            self.touched_works.insert(key.clone());
        }
        self.log.entry(key.kind).or_default().push(change);
    }

    /// Returns how long the history of a kind is.
    pub(crate) fn history(&self, kind: Kind) -> usize {
        self.log.get(&kind).map_or(0, Vec::len)
    }

    /// Returns the event at a place of the history.
    pub(crate) fn event(&self, kind: Kind, at: usize) -> Event {
        match &self.log[&kind][at] {
            Change::Applied(object) => Event::Applied {
                kind,
                object: (**object).clone(),
            },
            Change::Deleted(object) => Event::Deleted {
                kind,
                object: (**object).clone(),
            },
        }
    }

    /// Returns the list of a kind as it was at a place of the history.
    pub(crate) fn list(&self, kind: Kind, at: usize) -> Event {
        let mut listed: BTreeMap<(&str, &str), &Object> = BTreeMap::new();
        for change in self.log.get(&kind).into_iter().flatten().take(at) {
            let (Change::Applied(object) | Change::Deleted(object)) = change;
            let place = (
                text(object, "/metadata/namespace"),
                text(object, "/metadata/name"),
            );
            match change {
                Change::Applied(object) => listed.insert(place, object),
                Change::Deleted(_) => listed.remove(&place),
            };
        }
        let objects = listed.into_values().map(|object| (**object).clone()).collect();
        Event::Listed { kind, objects }
    }

    /// Returns whether the hub's own controllers have something to do.
    pub(crate) fn is_restless(&self) -> bool {
        self.unswept || self.namespaces.values().any(|going| *going)
    }

    /// The hub's own controllers: the garbage collector, the end of clusters, the end of namespaces.
    pub(crate) fn sweep(&mut self) {
        self.unswept = false;
        let uids: BTreeSet<&str> = self
            .objects
            .values()
            .map(|object| text(object, "/metadata/uid"))
            .collect();
        let is_orphan = |object: &Value| {
            let owners = object
                .pointer("/metadata/ownerReferences")
                .and_then(Value::as_array);
            owners.is_some_and(|owners| {
                !owners.is_empty() && !owners.iter().any(|owner| uids.contains(text(owner, "/uid")))
            })
        };
        let orphans: Vec<ObjectKey> = self
            .objects
            .iter()
            .filter(|(_, object)| is_orphan(object) && !is_deleting(object))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &orphans {
            self.delete(key, None).ok();
        }
        self.end_clusters();
        self.end_namespaces();
    }

    /// A cluster that is being deleted takes its add-ons and works with it; no agent is left that could clean up.
    fn end_clusters(&mut self) {
        let leaving: Vec<ObjectKey> = self
            .of_kind(Kind::Cluster)
            .filter(|(_, object)| is_deleting(object))
            .map(|(key, _)| key.clone())
            .collect();
        for cluster in leaving {
            let inside = self.inside(&cluster.name);
            for key in &inside {
                self.delete(key, None).ok();
                self.release(key);
            }
            if self.inside(&cluster.name).is_empty() {
                self.release(&cluster);
            }
            self.unswept = true;
        }
    }

    fn end_namespaces(&mut self) {
        let going: Vec<Name> = self
            .namespaces
            .iter()
            .filter(|(_, going)| **going)
            .map(|(name, _)| name.clone())
            .collect();
        for name in going {
            for key in self.inside(&name) {
                self.delete(&key, None).ok();
                self.release(&key);
            }
            self.namespaces.remove(&name);
        }
    }

    fn inside(&self, namespace: &str) -> Vec<ObjectKey> {
        let keys = self.objects.keys();
        keys.filter(|key| &*key.namespace == namespace).cloned().collect()
    }

    /// Takes all finalizers from an object that is being deleted.
    pub(crate) fn release(&mut self, key: &ObjectKey) {
        if self.objects.get(key).is_some_and(|object| is_deleting(object)) {
            let none = json!({"metadata": {"finalizers": null}});
            self.patch(key, &none, Part::Main, None).ok();
        }
    }
}

fn guard(stored: &Value, before: Option<&Revision>) -> Result<(), Refusal> {
    let same = before.is_none_or(|before| {
        *before.uid == *text(stored, "/metadata/uid")
            && *before.version == *text(stored, "/metadata/resourceVersion")
    });
    if same { Ok(()) } else { Err(Refusal::Conflict) }
}

/// What the CRDs default.
fn default_fields(kind: Kind, object: &mut Value) {
    let field = match kind {
        Kind::Instance => "installNamespace",
        Kind::DeploymentConfig => "agentInstallNamespace",
        _ => return,
    };
    if object["spec"].get(field).is_none() {
        object["spec"][field] = json!("open-cluster-management-agent-addon");
    }
}
