//! A hub in memory with one add-on that loses its fleet: plans, instances, and a clock. Every plan is checked.
//!
//! Writes of instances are applied at once and without errors.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use plan::{self, Action, Plan};
use serde_json::{Value, json};
use store::{Event, Kind, Settings, Store, terms};

const GROUP: &str = "addon.open-cluster-management.io";

/// A hub with one add-on on so many clusters.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    /// What the hub has stored, for a new leader that reads it.
    pub(crate) objects: BTreeMap<(Kind, String, String), Value>,
    pub(crate) clusters: usize,
    pub(crate) version: u64,
    pub(crate) now: Timestamp,
    /// When each instance went.
    pub(crate) gone: Vec<Timestamp>,
    pub(crate) spec: Value,
    pub(crate) until: Option<String>,
}

fn place(kind: Kind, object: &Value) -> (Kind, String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (kind, text("namespace"), text("name"))
}

fn strategy(kind: &str) -> Value {
    match kind {
        "Placements" => json!({"type": kind, "placements": [{"name": "all", "namespace": "default"}]}),
        "ClusterLabelSelector" => json!({"type": kind, "labelSelector": {"matchLabels": {"env": "prod"}}}),
        other => json!({"type": other}),
    }
}

impl World {
    pub(crate) fn new(kind: &str, clusters: usize) -> Self {
        Self::with(kind, clusters, Settings::default())
    }

    pub(crate) fn with(kind: &str, clusters: usize, settings: Settings) -> Self {
        let mut world = Self {
            store: Store::new(settings.clone()),
            settings,
            objects: BTreeMap::new(),
            clusters,
            version: 0,
            now: "2030-01-01T00:00:00Z".parse().expect("a time"),
            gone: Vec::new(),
            spec: strategy(kind),
            until: None,
        };
        world.addon();
        for cluster in 0..clusters {
            world.cluster(cluster, json!({"labels": {"env": "prod"}}));
            let mark = if kind == "Placements" {
                "default/all"
            } else {
                "label-selector"
            };
            let owner = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn", "name": "hello", "uid": "hello"});
            let metadata = json!({"name": "hello", "namespace": format!("c{cluster}"), "annotations": {(terms::INSTALLED_BY): mark},
                "ownerReferences": [owner]});
            world.put(Kind::Instance, &json!({"metadata": metadata, "spec": {}}));
        }
        world.decide(clusters);
        world
    }

    pub(crate) fn put(&mut self, kind: Kind, object: &Value) {
        self.version += 1;
        let mut object = object.clone();
        object["metadata"]["uid"] = object["metadata"]["name"].clone();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(place(kind, &object), object.clone());
        drop(self.store.apply(Event::Applied { kind, object }));
        assert!(self.store.faults().is_empty(), "{:?}", self.store.faults());
    }

    pub(crate) fn delete(&mut self, kind: Kind, object: Value) {
        self.objects.remove(&place(kind, &object));
        drop(self.store.apply(Event::Deleted { kind, object }));
    }

    /// The program is killed, or another replica leads: it knows what the hub has stored, and nothing else.
    pub(crate) fn restart(&mut self) {
        self.store = Store::new(self.settings.clone());
        for ((kind, ..), object) in self.objects.clone() {
            drop(self.store.apply(Event::Applied { kind, object }));
        }
        self.store.begin_to_write(self.now);
    }

    pub(crate) fn addon(&mut self) {
        let mut metadata = json!({"name": "hello", "generation": self.version});
        if let Some(until) = &self.until {
            metadata["annotations"] = json!({(terms::REMOVALS_ALLOWED_UNTIL): until});
        }
        let spec = json!({"installStrategy": self.spec});
        self.put(Kind::AddOn, &json!({"metadata": metadata, "spec": spec}));
    }

    pub(crate) fn cluster(&mut self, cluster: usize, metadata: Value) {
        let mut metadata = metadata;
        metadata["name"] = json!(format!("c{cluster}"));
        let object = json!({"metadata": metadata, "spec": {"hubAcceptsClient": true}});
        self.put(Kind::Cluster, &object);
    }

    /// The scheduler decides for the first clusters.
    pub(crate) fn decide(&mut self, clusters: usize) {
        let placement = json!({"metadata": {"name": "all", "namespace": "default"}, "status": {"numberOfSelectedClusters": clusters}});
        self.put(Kind::Placement, &placement);
        let decisions: Vec<Value> = (0..clusters)
            .map(|cluster| json!({"clusterName": format!("c{cluster}"), "reason": ""}))
            .collect();
        let labels = json!({"cluster.open-cluster-management.io/placement": "all"});
        let metadata = json!({"name": "all-1", "namespace": "default", "labels": labels});
        self.put(
            Kind::Decision,
            &json!({"metadata": metadata, "status": {"decisions": decisions}}),
        );
    }

    pub(crate) fn let_go(&mut self, until: &str) {
        self.until = Some(until.to_owned());
        self.addon();
    }

    pub(crate) fn plan(&self) -> Plan {
        let view = self.store.view("hello").expect("it is there");
        let plan = plan::addon(&view, self.now);
        assert_eq!(oracle::check(&view, &plan, self.now), Vec::<String>::new());
        plan
    }

    pub(crate) fn left(&self) -> usize {
        let view = self.store.view("hello").expect("it is there");
        view.all_instances().count()
    }

    /// Does what the plan says about instances, at once and without mistakes.
    pub(crate) fn apply(&mut self, plan: Plan) {
        for action in plan.actions {
            match action {
                Action::Delete { object, .. } if object.kind == Kind::Instance => {
                    let removed = json!({"metadata": {"name": "hello", "namespace": &*object.namespace}});
                    self.store.took_away(&"hello".into(), &object.namespace, self.now);
                    self.delete(Kind::Instance, removed);
                    self.gone.push(self.now);
                }
                Action::Replace { object, patch, .. } if object.kind == Kind::Instance => {
                    self.patch(&object.namespace, &patch.value());
                }
                Action::Create { .. }
                | Action::Replace { .. }
                | Action::Status { .. }
                | Action::Delete { .. }
                | Action::Certify { .. } => {}
            }
        }
    }

    pub(crate) fn patch(&mut self, cluster: &str, patch: &Value) {
        let mark = if self.spec["type"] == "Placements" {
            "default/all"
        } else {
            "label-selector"
        };
        let at = (Kind::Instance, cluster.to_owned(), "hello".to_owned());
        let stored = self.objects.get(&at).cloned().unwrap_or_default();
        let mut annotations = stored["metadata"]["annotations"].clone();
        if annotations.is_null() {
            annotations = json!({(terms::INSTALLED_BY): mark});
        }
        for (key, value) in patch["metadata"]["annotations"].as_object().into_iter().flatten() {
            annotations[key] = value.clone();
        }
        let owner = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn", "name": "hello", "uid": "hello"});
        let metadata = json!({"name": "hello", "namespace": cluster, "annotations": annotations, "ownerReferences": [owner]});
        self.put(Kind::Instance, &json!({"metadata": metadata, "spec": {}}));
    }

    /// Plans and applies, every time the plan asks for it, for so long.
    pub(crate) fn pass(&mut self, length: SignedDuration) {
        let end = self.now + length;
        loop {
            let plan = self.plan();
            let next = plan.recheck_at;
            let is_idle = !plan.actions.iter().any(does_something);
            self.apply(plan);
            if is_idle || next.is_some_and(|at| at > self.now) {
                match next.filter(|at| *at <= end) {
                    Some(at) => self.now = at.max(self.now),
                    None => break,
                }
            }
        }
        self.now = end;
    }

    /// The most that went within any minute.
    pub(crate) fn fastest(&self) -> usize {
        let within = |from: &Timestamp| {
            let to = *from + SignedDuration::from_mins(1);
            self.gone.iter().filter(|at| **at >= *from && **at < to).count()
        };
        self.gone.iter().map(within).max().unwrap_or_default()
    }

    pub(crate) fn stalled(&self) -> String {
        self.condition("Stalled")
            .map(|one| format!("{} {}", one["status"], one["reason"]))
            .unwrap_or_default()
    }

    /// What the add-on says in the message of its `Ready`.
    pub(crate) fn says(&self) -> String {
        let ready = self.condition("Ready").unwrap_or_default();
        ready["message"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<Value> {
        let plan = self.plan();
        let status = plan.actions.iter().find_map(|action| match action {
            Action::Status { object, patch, .. } if object.kind == Kind::AddOn => Some(patch.value()),
            Action::Create { .. }
            | Action::Replace { .. }
            | Action::Status { .. }
            | Action::Delete { .. }
            | Action::Certify { .. } => None,
        })?;
        let conditions = status["status"]["conditions"].as_array()?.clone();
        conditions.into_iter().find(|one| one["type"] == kind)
    }

    /// How many removals the plan reports as blocked.
    pub(crate) fn held(&self) -> usize {
        let waits = self.plan().waits;
        waits.iter().filter(|wait| wait.on.is_held_removal()).count()
    }

    /// A second placement, with what it has counted and the clusters that its decision names; no decision without them.
    pub(crate) fn second(&mut self, counted: Option<usize>, named: Option<usize>) {
        let status = counted.map_or_else(
            || json!({}),
            |counted| json!({"numberOfSelectedClusters": counted}),
        );
        let placement = json!({"metadata": {"name": "new", "namespace": "default"}, "status": status});
        self.put(Kind::Placement, &placement);
        if let Some(named) = named {
            let decisions: Vec<Value> = (0..named)
                .map(|cluster| json!({"clusterName": format!("c{cluster}"), "reason": ""}))
                .collect();
            let labels = json!({"cluster.open-cluster-management.io/placement": "new"});
            let metadata = json!({"name": "new-1", "namespace": "default", "labels": labels});
            let status = json!({"decisions": decisions});
            self.put(Kind::Decision, &json!({"metadata": metadata, "status": status}));
        }
    }

    pub(crate) fn follow(&mut self, placements: &[&str]) {
        let each: Vec<Value> = placements
            .iter()
            .map(|name| json!({"name": name, "namespace": "default"}))
            .collect();
        self.spec = json!({"type": "Placements", "placements": each});
        self.addon();
    }
}

/// Only what becomes of instances is played here.
fn does_something(action: &Action) -> bool {
    match action {
        Action::Delete { object, .. } | Action::Replace { object, .. } => object.kind == Kind::Instance,
        Action::Create { .. } | Action::Status { .. } | Action::Certify { .. } => false,
    }
}
