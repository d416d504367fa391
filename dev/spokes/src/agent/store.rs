//! The virtual store of one cluster: the objects that works have put there and which works own them. Objects are kept as
//! bytes and their status is made when they are read: thousands of clusters live in one process.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use managed_fields::Owners;
use semver::Version;
use serde_json::{Map, Value, json};

use super::{
    owners::{self, Write},
    rights,
    workload::{self, Circumstances, Course},
};
use crate::{
    fault::{Phase, Troubles},
    openshift::{AgentRights, Operator, Times, Wish},
};

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
    /// What makes it an OpenShift cluster.
    openshift: Option<Box<Operator>>,
    /// Whether its agent may upgrade it.
    agent: AgentRights,
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
    more: Option<Box<More>>,
}

/// What only few objects have.
#[derive(Clone, Debug, Default)]
struct More {
    /// When a job began.
    began: Option<Timestamp>,
    /// Who owns which field of an object that was there before any work.
    owners: Option<Owners>,
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
            openshift: None,
            agent: AgentRights::default(),
        }
    }

    /// Returns the cluster with OpenShift on it: its `ClusterVersion` with this spec, and its machine config pools.
    pub(crate) fn with_openshift(
        mut self,
        operator: Operator,
        spec: &Map<String, Value>,
        agent: AgentRights,
    ) -> Self {
        self.agent = agent;
        let version = json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "metadata": {"name": "version"},
            "spec": spec,
        });
        self.install(&cluster_version(), &version, "cluster-bootstrap");
        for name in ["master", "worker"] {
            let pool = json!({
                "apiVersion": "machineconfiguration.openshift.io/v1",
                "kind": "MachineConfigPool",
                "metadata": {"name": name},
                "spec": {"paused": false},
            });
            self.install(&machine_config_pool(name), &pool, "machine-config-operator");
        }
        self.openshift = Some(Box::new(operator));
        self
    }

    fn install(&mut self, key: &ObjectKey, object: &Value, manager: &str) {
        self.apply(key, object);
        if let Some(stored) = self.objects.get_mut(key) {
            stored.more = Some(Box::new(More {
                owners: Some(owners::created(object, manager)),
                ..More::default()
            }));
        }
    }

    /// Lets time pass on an OpenShift cluster, whose upgrade meets these faults from now on.
    pub(crate) fn live(&mut self, now: Timestamp, troubles: Troubles) {
        let spec = self.objects.get(&cluster_version());
        let Some(operator) = &mut self.openshift else {
            return;
        };
        operator.live(now, troubles);
        let Some(stored) = spec.filter(|stored| stored.generation != operator.observed()) else {
            return;
        };
        let object: Value = serde_json::from_slice(&stored.bytes).unwrap_or_default();
        operator.observe(Wish::read(object.get("spec"), stored.generation));
    }

    /// Returns whether no work and no upgrade has changed anything yet.
    pub(crate) fn is_new(&self) -> bool {
        let untouched = self.objects.values().all(|stored| stored.owners.is_empty());
        untouched && self.operator().is_none_or(Operator::is_new)
    }

    /// Returns the version operator of an OpenShift cluster.
    pub(crate) fn operator(&self) -> Option<&Operator> {
        self.openshift.as_deref()
    }

    /// Returns how far an OpenShift cluster is with its upgrade.
    pub(crate) fn phase(&self) -> Phase {
        self.operator().map(Operator::phase).unwrap_or_default()
    }

    /// Returns the version of an OpenShift cluster.
    pub(crate) fn openshift_version(&self) -> Option<&Version> {
        self.operator().and_then(Operator::version)
    }

    /// Returns how long things take on an OpenShift cluster.
    pub(super) fn times(&self) -> Option<&Times> {
        self.operator().map(Operator::times)
    }

    /// Returns the keys of all objects.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.keys()
    }

    /// Returns an object with the status that it would have.
    pub fn object(&self, key: &ObjectKey) -> Option<Value> {
        let stored = self.objects.get(key)?;
        let mut object: Value = serde_json::from_slice(&stored.bytes).ok()?;
        let status = self.platform_status(key).or_else(|| {
            let circumstances = Circumstances {
                unavailable: stored.unavailable.as_deref(),
                course: &stored.course,
                nodes: self.nodes,
                generation: stored.generation,
            };
            workload::status(&object, &circumstances)
        });
        let fields = object.as_object_mut()?;
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("generation".to_owned(), json!(stored.generation));
        }
        fields.extend(status.map(|status| ("status".to_owned(), status)));
        Some(object)
    }

    /// Returns the status of what OpenShift itself keeps.
    fn platform_status(&self, key: &ObjectKey) -> Option<Value> {
        let operator = self.operator()?;
        if *key == cluster_version() {
            return Some(operator.status());
        }
        (*key == machine_config_pool(&key.name)).then(|| operator.pool(&key.name))
    }

    /// Returns all objects of this kind, without their status.
    pub(super) fn of_resource<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
    ) -> impl Iterator<Item = Value> + 'a {
        let of_kind = move |key: &ObjectKey| key.group == group && key.resource == resource;
        let stored = self.objects.iter().filter(move |(key, _)| of_kind(key));
        stored.filter_map(|(_, stored)| serde_json::from_slice(&stored.bytes).ok())
    }

    /// Returns when this job began, which is now unless it has begun before; none when there is no such job.
    pub(super) fn began(&mut self, key: &ObjectKey, now: Timestamp) -> Option<Timestamp> {
        let more = self.objects.get_mut(key)?.more.get_or_insert_default();
        Some(*more.began.get_or_insert(now))
    }

    /// Writes a manifest as the agent would, or returns what the cluster says against it.
    pub(super) fn write(
        &mut self,
        key: &ObjectKey,
        manifest: &Value,
        write: Write<'_>,
    ) -> Result<(), String> {
        if self.agent == AgentRights::AsBound && *key == cluster_version() {
            rights::agent_may_upgrade(self)?;
        }
        let known = self.objects.get(key);
        let live = known.and_then(|stored| serde_json::from_slice::<Value>(&stored.bytes).ok());
        let kept = known.and_then(|stored| stored.more.as_ref()?.owners.as_ref());
        let (Some(live), Some(kept)) = (&live, kept) else {
            if self.openshift.is_some() && live.is_some_and(|live| changes_pods(key, &live, manifest)) {
                let why = "spec.template: Invalid value: field is immutable";
                return Err(format!("Job.batch \"{}\" is invalid: {why}", key.name));
            }
            self.apply(key, manifest);
            return Ok(());
        };
        let (object, owned) = owners::written(live, manifest, kept, write)?;
        self.apply(key, &object);
        if let Some(stored) = self.objects.get_mut(key) {
            stored.more.get_or_insert_default().owners = Some(owned);
        }
        Ok(())
    }

    /// Removes what this work owns alone.
    pub(crate) fn forget_work(&mut self, work: &str) {
        self.release(work, &BTreeSet::new());
    }

    /// Returns whether what the agent may not do is tried again: a work may have given it the right meanwhile.
    pub(super) fn retries(&self) -> bool {
        self.agent == AgentRights::AsBound
    }

    /// Returns when the agent of an OpenShift cluster looks again.
    pub(super) fn next_poll(&self, now: Timestamp) -> Option<Timestamp> {
        let poll = SignedDuration::try_from(self.times()?.poll).ok()?;
        now.saturating_add(poll).ok()
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

/// Returns whether the pods of a job that has begun would become others; an API server refuses that.
fn changes_pods(key: &ObjectKey, live: &Value, manifest: &Value) -> bool {
    let pods = |object: &Value| object.pointer("/spec/template").cloned();
    key.group == "batch" && key.resource == "jobs" && pods(live) != pods(manifest)
}

/// Returns whether OpenShift itself keeps the object's status.
pub(super) fn is_of_openshift(key: &ObjectKey) -> bool {
    *key == cluster_version() || *key == machine_config_pool(&key.name)
}

/// Names the object that says which version an OpenShift cluster has.
pub(crate) fn cluster_version() -> ObjectKey {
    ObjectKey {
        group: "config.openshift.io".to_owned(),
        resource: "clusterversions".to_owned(),
        namespace: String::new(),
        name: "version".to_owned(),
    }
}

/// Names machines of an OpenShift cluster that are alike.
fn machine_config_pool(name: &str) -> ObjectKey {
    ObjectKey {
        group: "machineconfiguration.openshift.io".to_owned(),
        resource: "machineconfigpools".to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}
