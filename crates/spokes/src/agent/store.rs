//! The virtual store of one cluster: the objects that works have put there and which works own them. Objects are kept as
//! bytes and their status is made when somebody looks: thousands of clusters live in one process.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::workload::{self, Circumstances, Course};

/// Names an object of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its API group.
    pub group: String,
    /// Its plural.
    pub resource: String,
    /// Its namespace, empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What exists on one simulated cluster.
#[derive(Clone, Debug, Default)]
pub struct VirtualCluster {
    nodes: u32,
    objects: BTreeMap<ObjectKey, Stored>,
}

#[derive(Clone, Debug, Default)]
struct Stored {
    /// The object as JSON, without its status.
    bytes: Box<[u8]>,
    generation: i64,
    owners: BTreeSet<String>,
    /// Why its pods do not run.
    unavailable: Option<String>,
    /// How far a job has come.
    course: Course,
}

/// Whether a work owns what it applies; what it does not own stays when it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    Owned,
    Orphaned,
}

impl VirtualCluster {
    /// Returns an empty cluster with this many nodes.
    pub fn new(nodes: u32) -> Self {
        Self {
            nodes,
            objects: BTreeMap::new(),
        }
    }

    /// Returns the keys of all objects.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.keys()
    }

    /// Returns an object with the status that it would have.
    pub fn object(&self, key: &ObjectKey) -> Option<Value> {
        let stored = self.objects.get(key)?;
        let mut object: Value = serde_json::from_slice(&stored.bytes).ok()?;
        let status = workload::status(
            &object,
            &Circumstances {
                unavailable: stored.unavailable.as_deref(),
                course: &stored.course,
                nodes: self.nodes,
                generation: stored.generation,
            },
        );
        let fields = object.as_object_mut()?;
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("generation".to_owned(), json!(stored.generation));
        }
        fields.extend(status.map(|status| ("status".to_owned(), status)));
        Some(object)
    }

    /// Removes what this work owns alone.
    pub(crate) fn forget_work(&mut self, work: &str) {
        self.release(work, &BTreeSet::new());
    }

    pub(super) fn contains(&self, key: &ObjectKey) -> bool {
        self.objects.contains_key(key)
    }

    /// Makes the object be as the manifest says.
    pub(super) fn apply(&mut self, key: &ObjectKey, manifest: &Value) {
        let mut fields = manifest.as_object().cloned().unwrap_or_else(Map::new);
        fields.remove("status");
        let bytes = Value::Object(fields).to_string().into_bytes().into_boxed_slice();
        let stored = self.objects.entry(key.clone()).or_default();
        if stored.bytes != bytes {
            stored.generation = stored.generation.saturating_add(1);
            stored.bytes = bytes;
        }
    }

    /// Writes down whose the object is.
    pub(super) fn claim(&mut self, key: &ObjectKey, work: &str, ownership: Ownership) {
        let Some(stored) = self.objects.get_mut(key) else {
            return;
        };
        match ownership {
            Ownership::Owned => stored.owners.insert(work.to_owned()),
            Ownership::Orphaned => stored.owners.remove(work),
        };
    }

    /// Writes down why the object's pods do not run, or that they do.
    pub(super) fn set_health(&mut self, key: &ObjectKey, unavailable: Option<&str>) {
        if let Some(stored) = self.objects.get_mut(key) {
            stored.unavailable = unavailable.map(str::to_owned);
        }
    }

    /// Writes down how far the job or pod has come.
    pub(super) fn set_course(&mut self, key: &ObjectKey, course: Course) {
        if let Some(stored) = self.objects.get_mut(key) {
            stored.course = course;
        }
    }

    /// Removes what this work owns alone, besides these objects.
    pub(super) fn release(&mut self, work: &str, besides: &BTreeSet<ObjectKey>) {
        self.objects.retain(|key, stored| {
            let owned = !besides.contains(key) && stored.owners.remove(work);
            !owned || !stored.owners.is_empty()
        });
    }
}
