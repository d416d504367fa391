//! The status of our objects according to kstatus, as delivery tools (Flux, `kpt`, `cli-utils`) compute it, over a whole
//! rollout: in progress from the first moment to the last cluster, and never failed because an object does not exist yet.
//!
//! The rules are a function here, with a table of their own (sigs.k8s.io/cli-utils, `pkg/kstatus/status`:
//! deletion, then generations, then `Reconciling` and `Stalled`, then `Ready`).

use jiff::SignedDuration;
use plan::Action;
use serde_json::{Value, json};
use store::{Kind, ObjectKey, Settings};

use crate::kit::world::World;

/// What a tool takes an object for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// Done.
    Current,
    /// On the way.
    InProgress,
    /// Given up: the tool waits no longer.
    Failed,
    /// Being deleted.
    Terminating,
}

/// Returns the kstatus of an object of a kind without rules of its own.
pub(crate) fn kstatus(object: &Value) -> Health {
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return Health::Terminating;
    }
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let generations = number("/metadata/generation").zip(number("/status/observedGeneration"));
    if generations.is_some_and(|(written, observed)| written != observed) {
        return Health::InProgress;
    }
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    for condition in conditions.iter().filter(|one| one["status"] == "True") {
        match condition["type"].as_str() {
            Some("Reconciling") => return Health::InProgress,
            Some("Stalled") => return Health::Failed,
            Some(_) | None => {}
        }
    }
    let ready = conditions.iter().find(|one| one["type"] == "Ready");
    match ready.and_then(|ready| ready["status"].as_str()) {
        Some("False" | "Unknown") => Health::InProgress,
        Some(_) | None => Health::Current,
    }
}

#[test]
fn the_rules_are_those_of_kstatus() {
    let object =
        |generation: i64, status: Value| json!({"metadata": {"generation": generation}, "status": status});
    let conditions = |each: &[(&str, &str)]| -> Value {
        let each = each
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status}));
        json!({"conditions": each.collect::<Vec<_>>()})
    };
    let rows = [
        (json!({"metadata": {"generation": 1}}), Health::Current),
        (
            json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}),
            Health::Terminating,
        ),
        (object(1, json!({"observedGeneration": -1})), Health::InProgress),
        (
            object(
                2,
                json!({"observedGeneration": 1, "conditions": [{"type": "Stalled", "status": "True"}]}),
            ),
            Health::InProgress,
        ),
        (object(2, json!({"observedGeneration": 2})), Health::Current),
        (
            object(
                1,
                conditions(&[("Ready", "True"), ("Reconciling", "False"), ("Stalled", "False")]),
            ),
            Health::Current,
        ),
        (
            object(1, conditions(&[("Ready", "True"), ("Reconciling", "True")])),
            Health::InProgress,
        ),
        (
            object(1, conditions(&[("Ready", "False"), ("Stalled", "True")])),
            Health::Failed,
        ),
        (object(1, conditions(&[("Ready", "False")])), Health::InProgress),
        (object(1, conditions(&[("Ready", "Unknown")])), Health::InProgress),
        (
            object(1, conditions(&[("Available", "False"), ("Progressing", "True")])),
            Health::Current,
        ),
    ];
    for (object, expected) in rows {
        assert_eq!(kstatus(&object), expected, "{object}");
    }
}

/// Three clusters, an add-on made from a template, and a tool that looks at it after everything that happens.
struct Watched {
    world: World,
    clusters: Vec<String>,
}

impl Watched {
    fn new() -> Self {
        let mut world = World::new(Settings::default());
        let clusters: Vec<String> = (1..=3).map(|n| format!("c{n}")).collect();
        for cluster in &clusters {
            world.add_cluster(cluster);
        }
        Self { world, clusters }
    }

    fn template(&mut self, name: &str) {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default"}});
        self.world.put(
            Kind::Template,
            json!({"metadata": {"name": name},
                "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}}}),
        );
    }

    fn addon(&mut self, template: &str, description: &str) {
        let rollout =
            json!({"type": "Progressive", "progressive": {"maxConcurrency": 1, "minSuccessTime": "1m"}});
        self.world.put(
            Kind::AddOn,
            json!({"metadata": {"name": "hello"}, "spec": {
                "addOnMeta": {"description": description},
                "supportedConfigs": [{"group": "addon.open-cluster-management.io", "resource": "addontemplates",
                    "defaultConfig": {"name": template}}],
                "installStrategy": {"type": "Placements", "placements": [
                    {"namespace": "default", "name": "all", "rolloutStrategy": rollout}]}}}),
        );
    }

    fn object(&self) -> &Value {
        &self.world.objects[&ObjectKey::new(Kind::AddOn, "", "hello")]
    }

    /// Whether every cluster has confirmed what the add-on says now.
    fn is_done(&self) -> bool {
        let template = self
            .object()
            .pointer("/spec/supportedConfigs/0/defaultConfig/name");
        self.clusters.iter().all(|cluster| {
            let key = ObjectKey::new(Kind::Instance, cluster.as_str(), "hello");
            let instance = self.world.objects.get(&key);
            let reference = instance.and_then(|found| found.pointer("/status/configReferences/0"));
            reference.is_some_and(|reference| {
                reference.pointer("/desiredConfig/name") == template
                    && reference.pointer("/desiredConfig") == reference.pointer("/lastAppliedConfig")
            })
        })
    }

    /// Looks at everything, and returns what the add-on is taken for.
    fn look(&self) -> Health {
        let health = kstatus(self.object());
        assert!(
            health != Health::Current || self.is_done(),
            "done too early: {:#}",
            self.object()
        );
        for (key, object) in &self.world.objects {
            if matches!(key.kind, Kind::AddOn | Kind::Instance) {
                assert_ne!(kstatus(object), Health::Failed, "given up too early: {object:#}");
            }
        }
        health
    }

    /// Carries out what is planned, write by write, and looks after each.
    fn settle(&mut self) -> Health {
        loop {
            let plan = self.world.plan("hello");
            if plan.actions.is_empty() {
                return self.look();
            }
            for action in plan.actions.clone() {
                self.world.apply(&plan::Plan {
                    actions: vec![fresh(&self.world, action)],
                    ..plan::Plan::default()
                });
                self.look();
            }
        }
    }

    /// Lets agents report and time pass until nothing is left to wait for; returns after how many rounds
    /// the add-on had arrived.
    fn arrive(&mut self) -> usize {
        for moved in 0..40 {
            if self.settle() == Health::Current {
                return moved;
            }
            for cluster in self.clusters.clone() {
                self.world.report(&cluster, None, true);
                self.settle();
            }
            let again = self.world.plan("hello").recheck_at;
            self.world.now = again
                .unwrap_or(self.world.now + SignedDuration::from_secs(1))
                .max(self.world.now);
        }
        assert_eq!(
            self.settle(),
            Health::Current,
            "it never arrives: {:#}",
            self.object()
        );
        40
    }
}

/// A write of a plan that is carried out piece by piece knows what the pieces before have done to its object.
fn fresh(world: &World, mut action: Action) -> Action {
    let version = world
        .objects
        .get(action.object())
        .map(|object| object["metadata"]["resourceVersion"].clone());
    if let (Some(before), Some(version)) = (action.before_mut(), version) {
        before.version = version.as_str().expect("a version").into();
    }
    action
}

#[test]
fn a_rollout_is_in_progress_from_its_first_moment_to_its_last_cluster() {
    let mut watched = Watched::new();
    // In the order in which tools apply, with the controllers awake in between: the template comes last.
    watched.addon("hello-v1", "");
    assert_eq!(
        watched.look(),
        Health::InProgress,
        "no controller has observed it yet"
    );
    assert_eq!(
        watched.settle(),
        Health::InProgress,
        "its placement is not there yet"
    );
    watched.world.tick(SignedDuration::from_secs(5));
    let meta = json!({"name": "all", "namespace": "default"});
    watched
        .world
        .put(Kind::Placement, json!({"metadata": meta, "spec": {}}));
    assert_eq!(watched.settle(), Health::InProgress, "it is not decided");
    let clusters = watched.clusters.clone();
    watched.world.decide("all", &clusters);
    assert_eq!(
        watched.settle(),
        Health::InProgress,
        "the template is not there yet"
    );
    watched.world.tick(SignedDuration::from_secs(5));
    watched.template("hello-v1");
    assert!(watched.arrive() > 1);
    // An upgrade is seen before the controllers have begun.
    watched.template("hello-v2");
    watched.addon("hello-v2", "");
    assert_eq!(watched.look(), Health::InProgress);
    assert!(watched.arrive() > 1, "one after the other");
}

#[test]
fn a_generation_that_changes_nothing_else_is_one_write_and_then_none() {
    let mut watched = Watched::new();
    watched.template("hello-v1");
    watched.addon("hello-v1", "");
    let clusters = watched.clusters.clone();
    watched.world.decide("all", &clusters);
    watched.arrive();
    watched.addon("hello-v1", "in other words");
    assert_eq!(watched.look(), Health::InProgress);
    let plan = watched.world.plan("hello");
    assert_eq!(plan.actions.len(), 1, "{plan:#?}");
    watched.world.apply(&plan);
    assert_eq!(watched.look(), Health::Current);
    assert!(watched.world.plan("hello").actions.is_empty());
}

/// A missing object counts as in progress for ten seconds, which start again with each generation.
#[test]
fn what_never_comes_is_a_failure_when_its_grace_is_over() {
    let mut watched = Watched::new();
    watched.template("hello-v1");
    watched.addon("hello-v1", "");
    assert_eq!(watched.settle(), Health::InProgress);
    let until = watched.world.now + SignedDuration::from_secs(10);
    assert_eq!(watched.world.plan("hello").recheck_at, Some(until));
    watched.world.now = until - SignedDuration::from_secs(1);
    assert_eq!(watched.settle(), Health::InProgress);
    watched.world.now = until;
    watched.world.settle("hello");
    assert_eq!(kstatus(watched.object()), Health::Failed);
    assert_eq!(watched.world.plan("hello").recheck_at, None);
    watched.addon("hello-v1", "tried again");
    assert_eq!(watched.look(), Health::InProgress);
    assert_eq!(watched.settle(), Health::InProgress);
}
