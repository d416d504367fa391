//! A hub in memory for plan tests: objects with revisions, and enough of an API server to apply plans to it. Every precondition of a write
//! is checked.

use super::status_table;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use plan::{self, Action, CertificateDecision, Memo, Plan, Revision};
use serde_json::{Value, json};
use store::{Event, Kind, ObjectKey, Settings, Store};

/// A decision group: name and index, unless it carries no labels, and its clusters.
pub(crate) type Group<'a> = (Option<(&'a str, u32)>, Vec<String>);

/// A hub in memory.
pub(crate) struct World {
    pub(crate) objects: BTreeMap<ObjectKey, Value>,
    pub(crate) store: Store,
    pub(crate) now: Timestamp,
    /// Objects that the hub refuses to have written.
    pub(crate) refused: BTreeSet<ObjectKey>,
    revision: u64,
    /// What the last plan of each add-on found out.
    pub(crate) memos: RefCell<BTreeMap<String, Memo>>,
}

impl World {
    pub(crate) fn new(settings: Settings) -> Self {
        let now = "2030-01-01T00:00:00Z".parse().expect("a literal time");
        Self {
            objects: BTreeMap::new(),
            store: Store::new(settings),
            now,
            refused: BTreeSet::new(),
            revision: 0,
            memos: RefCell::default(),
        }
    }

    pub(crate) fn tick(&mut self, by: SignedDuration) {
        self.now += by;
    }

    pub(crate) fn key(kind: Kind, object: &Value) -> ObjectKey {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        ObjectKey::new(kind, text("/metadata/namespace"), text("/metadata/name"))
    }

    /// Sets a field of the AddOnRollout of an add-on, for all placements or for one; `null` removes it.
    pub(crate) fn set_rollout(&mut self, addon: &str, place: Option<&str>, field: &str, value: &Value) {
        let key = ObjectKey::new(Kind::Rollout, "", addon);
        let known = self.objects.get(&key).cloned();
        let mut object =
            known.unwrap_or_else(|| json!({"metadata": {"name": addon}, "spec": {"addon": addon}}));
        super::settings::set_level(&mut object["spec"], place, field, value);
        self.put(Kind::Rollout, object);
    }

    /// Creates an object or replaces everything but its status.
    pub(crate) fn put(&mut self, kind: Kind, mut object: Value) -> ObjectKey {
        let key = Self::key(kind, &object);
        default_fields(kind, &mut object);
        let old = self.objects.get(&key).cloned();
        let generation = match &old {
            None => 1,
            Some(old) => {
                let before = old["metadata"]["generation"].as_i64().unwrap_or(1);
                if old.get("spec") == object.get("spec") {
                    before
                } else {
                    before + 1
                }
            }
        };
        self.revision += 1;
        let uid = old.as_ref().map_or_else(
            || json!(format!("uid-{}", self.revision)),
            |old| old["metadata"]["uid"].clone(),
        );
        object["metadata"]["uid"] = uid;
        object["metadata"]["generation"] = json!(generation);
        object["metadata"]["creationTimestamp"] = old.as_ref().map_or_else(
            || json!(self.now.to_string()),
            |old| old["metadata"]["creationTimestamp"].clone(),
        );
        if let Some(status) = old.and_then(|old| old.get("status").cloned()) {
            object["status"] = status;
        }
        self.save(&key, object);
        self.collect(&key);
        key
    }

    /// Removes an object that waited for its last finalizer.
    fn collect(&mut self, key: &ObjectKey) {
        let metadata = &self.objects[key]["metadata"];
        if metadata["deletionTimestamp"].is_string() && metadata["finalizers"] == json!([]) {
            self.remove(key);
        }
    }

    /// Merges a patch into the status.
    pub(crate) fn put_status(&mut self, key: &ObjectKey, patch: &Value) {
        let mut object = self.objects[key].clone();
        json_patch::merge(&mut object, &json!({"status": patch}));
        self.save(key, object);
    }

    /// Deletes an object and everything that it owns, as far as no finalizer holds it.
    pub(crate) fn delete(&mut self, key: &ObjectKey) {
        let finalizers = self
            .objects
            .get(key)
            .and_then(|object| object["metadata"]["finalizers"].as_array());
        if finalizers.is_some_and(|finalizers| !finalizers.is_empty()) {
            self.mark_deleting(key);
        } else {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        let Some(object) = self.objects.remove(key) else {
            return;
        };
        let uid = object["metadata"]["uid"].clone();
        self.store.apply(Event::Deleted {
            kind: key.kind,
            object,
        });
        let owns = |object: &Value| {
            let owners = object
                .pointer("/metadata/ownerReferences")
                .and_then(Value::as_array);
            owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
        };
        let owned: Vec<ObjectKey> = self
            .objects
            .iter()
            .filter(|(_, object)| owns(object))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &owned {
            self.delete(key);
        }
    }

    /// Marks an object as being deleted, as a finalizer would keep it.
    pub(crate) fn mark_deleting(&mut self, key: &ObjectKey) {
        let mut object = self.objects[key].clone();
        if object["metadata"]["deletionTimestamp"].is_string() {
            return;
        }
        object["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
        self.save(key, object);
    }

    fn save(&mut self, key: &ObjectKey, mut object: Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.objects.insert(key.clone(), object.clone());
        self.store.apply(Event::Applied {
            kind: key.kind,
            object,
        });
    }

    /// Plans an add-on; the plan must keep all invariants, and a memo of the last plan must not change it.
    pub(crate) fn plan(&self, addon: &str) -> Plan {
        let Some(view) = self.store.view(addon) else {
            return Plan::default();
        };
        let plan = plan::addon(&view, self.now);
        assert_eq!(
            oracle::check(&view, &plan, self.now),
            Vec::<String>::new(),
            "a plan breaks an invariant"
        );
        let mut memos = self.memos.borrow_mut();
        let memo = memos.entry(addon.to_owned()).or_default();
        let with_memo = plan::addon_with(&view, self.now, memo);
        assert_eq!(with_memo, plan, "a plan with a memo differs from one without");
        plan
    }

    /// Applies a plan as an API server would, preconditions included.
    pub(crate) fn apply(&mut self, plan: &Plan) {
        let mut written: BTreeMap<ObjectKey, Value> = BTreeMap::new();
        for action in &plan.actions {
            if self.refused.contains(action.object()) {
                continue;
            }
            let mut action = action.clone();
            let object = action.object().clone();
            // What the plan itself has written to the object before is no other revision.
            if let (Some(version), Some(before)) = (written.get(&object), action.before_mut()) {
                before.version = version.as_str().expect("a version").into();
            }
            match &action {
                Action::Create { object, body, .. } => {
                    assert!(!self.objects.contains_key(object), "{object} exists");
                    assert_eq!(&self.put(object.kind, body.value()), object);
                }
                Action::Replace {
                    object,
                    before,
                    patch,
                    ..
                } => {
                    // A status write of the same plan has moved the revision of an instance; works are written once.
                    self.check(object, before);
                    let mut merged = self.objects[object].clone();
                    json_patch::merge(&mut merged, &patch.value());
                    self.put(object.kind, merged);
                }
                Action::Status {
                    object,
                    before,
                    patch,
                    ..
                } => {
                    self.check(object, before);
                    let old = self.objects[object].clone();
                    self.put_status(object, &patch.value()["status"]);
                    let status = |object: &Value| object.get("status").cloned();
                    assert_ne!(
                        status(&old),
                        status(&self.objects[object]),
                        "an unchanged status was written: {object}"
                    );
                    self.contradicts_nothing(object);
                }
                Action::Delete { object, before, .. } => {
                    self.check(object, before);
                    self.delete(object);
                }
                Action::Certify {
                    object,
                    before,
                    answer,
                } => self.certify(object, before, answer),
            }
            if let Some(stored) = self.objects.get(&object) {
                written.insert(object, stored["metadata"]["resourceVersion"].clone());
            }
        }
    }

    /// A status that was written is one of those that there are.
    fn contradicts_nothing(&self, object: &ObjectKey) {
        let written = &self.objects[object]["status"];
        let wrong = match object.kind {
            Kind::Instance => status_table::instance(written),
            Kind::AddOn => status_table::addon(written),
            _ => None,
        };
        assert_eq!(wrong, None, "{object}");
        let view = self.store.view(&object.name);
        if view.is_some_and(|view| view.settings().is_ocm()) {
            names_no_generation(object, written);
        }
    }

    fn certify(&mut self, object: &ObjectKey, before: &Revision, answer: &CertificateDecision) {
        self.check(object, before);
        let status = match answer {
            CertificateDecision::Approve(patch, _) => patch["status"].clone(),
            CertificateDecision::Sign(_) => json!({"certificate": "c2lnbmVk"}),
        };
        self.put_status(object, &status);
    }

    fn check(&self, object: &ObjectKey, before: &Revision) {
        assert!(self.store.faults().is_empty(), "{:?}", self.store.faults());
        assert!(self.objects.contains_key(object), "{object} does not exist");
        let stored = &self.objects[object];
        assert_eq!(stored["metadata"]["uid"], json!(&*before.uid), "{object}");
        assert_eq!(
            stored["metadata"]["resourceVersion"],
            json!(&*before.version),
            "{object}"
        );
    }

    /// Plans and applies until nothing is left; panics when that does not come to an end.
    pub(crate) fn settle(&mut self, addon: &str) -> usize {
        let mut round = 0;
        loop {
            let mut plan = self.plan(addon);
            plan.actions
                .retain(|action| !self.refused.contains(action.object()));
            if plan.actions.is_empty() {
                return round;
            }
            assert!(round < 6, "plans do not come to an end: {plan:#?}");
            self.apply(&plan);
            round += 1;
        }
    }

    /// Settles, and lets the time come at which the plan wants to be made again, until it wants nothing any more; panics when
    /// that never happens.
    pub(crate) fn come_to_rest(&mut self, addon: &str) {
        let mut idle = 0;
        loop {
            let written = self.settle(addon);
            idle = if written > 0 { 0 } else { idle + 1 };
            let Some(again) = self.plan(addon).recheck_at else {
                return;
            };
            assert!(idle < 24, "the plan is made again and again, and writes nothing");
            self.now = self.now.max(again);
        }
    }

    pub(crate) fn add_cluster(&mut self, name: &str) {
        let condition = json!({"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "Up", "message": "",
            "lastTransitionTime": self.now.to_string()});
        let key = self.put(
            Kind::Cluster,
            json!({"metadata": {"name": name}, "spec": {"hubAcceptsClient": true}}),
        );
        self.put_status(&key, &json!({"conditions": [condition]}));
    }

    /// Creates a placement in namespace `default` and decides it for `clusters`, in one group.
    pub(crate) fn decide(&mut self, placement: &str, clusters: &[String]) {
        self.decide_in(placement, &[(Some(("", 0)), clusters.to_vec())]);
    }

    /// The same in several groups, each with its name and index; a group without them carries no labels.
    pub(crate) fn decide_in(&mut self, placement: &str, groups: &[Group<'_>]) {
        let key = ObjectKey::new(Kind::Placement, "default", placement);
        if !self.objects.contains_key(&key) {
            let meta = json!({"name": placement, "namespace": "default"});
            self.put(Kind::Placement, json!({"metadata": meta, "spec": {}}));
        }
        let selected: usize = groups.iter().map(|(_, clusters)| clusters.len()).sum();
        self.put_status(&key, &json!({"numberOfSelectedClusters": selected}));
        let name = |number: usize| format!("{placement}-decision-{number}");
        for (number, (group, clusters)) in (1..).zip(groups) {
            let mut labels = json!({"cluster.open-cluster-management.io/placement": placement});
            if let Some((group, index)) = group {
                labels["cluster.open-cluster-management.io/decision-group-index"] = json!(index.to_string());
                if !group.is_empty() {
                    labels["cluster.open-cluster-management.io/decision-group-name"] = json!(group);
                }
            }
            let meta = json!({"name": name(number), "namespace": "default", "labels": labels});
            let key = self.put(Kind::Decision, json!({"metadata": meta}));
            let decisions: Vec<Value> = clusters
                .iter()
                .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
                .collect();
            self.put_status(&key, &json!({"decisions": decisions}));
        }
        for number in groups.len().saturating_add(1).. {
            let key = ObjectKey::new(Kind::Decision, "default", name(number));
            if !self.objects.contains_key(&key) {
                break;
            }
            self.delete(&key);
        }
    }

    /// Returns the works of a cluster.
    pub(crate) fn works(&self, cluster: &str) -> Vec<ObjectKey> {
        let here = |key: &&ObjectKey| key.kind == Kind::Work && &*key.namespace == cluster;
        self.objects.keys().filter(here).cloned().collect()
    }

    /// Lets the agent of a cluster report on its works; `failure` is its message when it could not apply them.
    pub(crate) fn report(&mut self, cluster: &str, failure: Option<&str>, available: bool) {
        self.works(cluster)
            .iter()
            .for_each(|key| self.report_on(key, failure, available));
    }

    /// Lets the agent report on one work.
    pub(crate) fn report_on(&mut self, key: &ObjectKey, failure: Option<&str>, available: bool) {
        let work = self.objects[key].clone();
        let condition = |kind: &str, status: bool, message: &str| {
            json!({"type": kind, "status": if status { "True" } else { "False" }, "reason": "Reported",
                    "message": message, "observedGeneration": work["metadata"]["generation"],
                    "lastTransitionTime": self.now.to_string()})
        };
        let manifests = work
            .pointer("/spec/workload/manifests")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let reports: Vec<Value> = manifests
            .iter()
            .enumerate()
            .map(|(index, manifest)| manifest_report(index, manifest, available))
            .collect();
        let status = json!({
            "conditions": [
                condition("Applied", failure.is_none(), failure.unwrap_or("applied")),
                condition("Available", failure.is_none() && available, if available { "there" } else { "not there" }),
            ],
            "resourceStatus": {"manifests": reports},
        });
        self.put_status(key, &status);
    }
}

fn manifest_report(index: usize, manifest: &Value, available: bool) -> Value {
    let is_deployment = manifest["kind"] == "Deployment";
    let ready = i64::from(available);
    let feedback =
        |name: &str, number: i64| json!({"name": name, "fieldValue": {"type": "Integer", "integer": number}});
    let mut report = json!({
        "resourceMeta": {"ordinal": index, "group": if is_deployment { "apps" } else { "" }, "version": "v1",
            "kind": manifest["kind"], "resource": if is_deployment { "deployments" } else { "things" },
            "name": manifest["metadata"]["name"], "namespace": manifest["metadata"]["namespace"]},
        "conditions": [],
    });
    if is_deployment {
        report["statusFeedback"] =
            json!({"values": [feedback("Replicas", 1), feedback("ReadyReplicas", ready)]});
    }
    report
}

/// What the CRDs default.
fn default_fields(kind: Kind, object: &mut Value) {
    if kind == Kind::AddOn && object.get("status").is_none() {
        object["status"] = json!({"observedGeneration": -1});
    }
    let field = match kind {
        Kind::Instance => "installNamespace",
        Kind::DeploymentConfig => "agentInstallNamespace",
        _ => return,
    };
    if object["spec"].get(field).is_none() {
        object["spec"][field] = json!("open-cluster-management-agent-addon");
    }
}

/// In OCM's words only the conditions that are this program's own name a generation.
fn names_no_generation(object: &ObjectKey, status: &Value) {
    let conditions = |of: &Value| of["conditions"].as_array().cloned().unwrap_or_default();
    let of_placements = status["installProgressions"].as_array().into_iter().flatten();
    let mut bare: Vec<Value> = of_placements.flat_map(conditions).collect();
    if object.kind == Kind::Instance {
        let ours = [
            "Ready",
            "Reconciling",
            "Stalled",
            "Assigned",
            "Adopted",
            "ConfigurationsMerged",
        ]
        .map(Value::from);
        let own = |condition: &Value| ours.contains(&condition["type"]);
        bare.extend(conditions(status).into_iter().filter(|condition| !own(condition)));
        let mut named = conditions(status).into_iter().filter(own);
        assert!(
            named.all(|condition| condition["observedGeneration"].is_number()),
            "{object}: {status}"
        );
    }
    let is_bare = |condition: &Value| condition.get("observedGeneration").is_none();
    assert!(bare.iter().all(is_bare), "{object}: {bare:?}");
}
