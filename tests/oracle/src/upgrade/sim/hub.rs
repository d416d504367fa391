//! A hub with simulated clusters: agents apply works in the order of time, OpenShift upgrades, Jobs end.
//!
//! Decides what agents report, with what they leave out left out. The works go through the readers that the controller will use.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use api::cluster::{ManagedClustersUpgradeSpec, ManagedClustersUpgradeStatus};
use api::{ApprovalDecision, RolloutApprovalSpec, RolloutCheckStatus};
use kubernetes::field::Path;
use model::upgrade::PlacementKey;
use model::{Check, CheckResult, Freeze, Name, ResolvedSettings, RolloutProfile, RolloutSettings};

use plan::Action;
use plan::upgrade::Write;
use plan::upgrade::{Finalizer, Plan, plan};
use store::upgrade::{Cluster, Refusal, Upgrade, View, Work};
use store::{ApprovalRecord, FreezeRecord, Meta};

/// How a Job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// Well, after so many seconds.
    Good(i64),
    /// Badly, after so many seconds.
    Bad(i64),
    /// Never.
    Stuck,
}

/// How a cluster behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// Seconds until its agent sees a work; never where absent.
    pub(crate) apply: Option<i64>,
    /// Seconds from there until the upgrade is complete; never where absent.
    pub(crate) upgrade: Option<i64>,
    pub(crate) pre: Job,
    pub(crate) operators: Job,
    pub(crate) post: Job,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            apply: Some(5),
            upgrade: Some(100),
            pre: Job::Good(20),
            operators: Job::Good(60),
            post: Job::Good(20),
        }
    }
}

/// A work on the hub.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) object: Value,
    /// When its manifests were written last.
    written: Timestamp,
    revision: u64,
}

/// Whether an upgrade stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Stays,
    /// It is being deleted.
    Goes,
    Gone,
}

/// A user's upgrade on the hub.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) generation: i64,
    pub(crate) retry: String,
    pub(crate) life: Life,
    pub(crate) held: bool,
    pub(crate) spec: ManagedClustersUpgradeSpec,
    pub(crate) status: ManagedClustersUpgradeStatus,
}

/// The hub.
#[derive(Debug, Clone)]
pub(crate) struct Hub {
    pub(crate) now: Timestamp,
    pub(crate) asked: Vec<Asked>,
    pub(crate) clusters: BTreeMap<Name, Cluster>,
    /// The clusters of the set `dev`, which is bound.
    pub(crate) set: BTreeSet<Name>,
    pub(crate) behaviour: BTreeMap<Name, Behaviour>,
    pub(crate) works: BTreeMap<Name, BTreeMap<String, Stored>>,
    /// What the clusters run, as OpenShift on them knows it.
    pub(crate) history: BTreeMap<Name, (String, String)>,
    /// Works that the hub refuses to create, by cluster.
    pub(crate) refused: BTreeMap<Name, Refusal>,
    /// The clusters of placements.
    pub(crate) placements: BTreeMap<PlacementKey, BTreeSet<Name>>,
    /// Placements without a valid record.
    pub(crate) unproven: BTreeSet<PlacementKey>,
    /// Whether a placement is not decided as a whole.
    pub(crate) undecided: bool,
    /// The freezes.
    pub(crate) freezes: Vec<FreezeRecord>,
    /// The profile that applies.
    pub(crate) profile: Option<RolloutProfile>,
    /// The approvals, by their names.
    pub(crate) approvals: BTreeMap<Name, ApprovalRecord>,
    /// The checks, by their names.
    pub(crate) checks: BTreeMap<Name, Check>,
    /// Whether every check passes whenever time passes.
    pub(crate) checks_pass: bool,
    /// Why clusters accept no other minor version.
    pub(crate) not_upgradeable: BTreeMap<Name, String>,
    /// How many seconds after the cluster its worker pools are updated.
    pub(crate) pools: i64,
    revision: u64,
}

impl Hub {
    /// The settings of the profile that applies.
    fn settings(&self) -> ResolvedSettings<'_> {
        <&RolloutSettings>::default().resolve(self.profile.as_ref(), None)
    }

    pub(crate) fn new(clusters: usize) -> Self {
        let mut hub = Self {
            now: "2026-01-05T00:00:00Z".parse().expect("a time"),
            asked: Vec::new(),
            clusters: BTreeMap::new(),
            set: BTreeSet::new(),
            behaviour: BTreeMap::new(),
            works: BTreeMap::new(),
            history: BTreeMap::new(),
            refused: BTreeMap::new(),
            placements: BTreeMap::new(),
            unproven: BTreeSet::new(),
            undecided: false,
            freezes: Vec::new(),
            profile: None,
            approvals: BTreeMap::new(),
            checks: BTreeMap::new(),
            checks_pass: false,
            not_upgradeable: BTreeMap::new(),
            pools: 0,
            revision: 0,
        };
        for at in 1..=clusters {
            hub.join(&format!("dev{at}"), Behaviour::default());
        }
        hub
    }

    pub(crate) fn join(&mut self, name: &str, behaviour: Behaviour) {
        let name = Name::from(name);
        let cluster = Cluster {
            id: format!("id-{name}"),
            version: "4.11.9".to_owned(),
            available: true,
            ..Cluster::default()
        };
        self.clusters.insert(name.clone(), cluster);
        self.set.insert(name.clone());
        self.behaviour.insert(name.clone(), behaviour);
        self.history
            .insert(name, ("4.11.9".to_owned(), "Completed".to_owned()));
    }

    pub(crate) fn behave(&mut self, name: &str, change: impl FnOnce(&mut Behaviour)) {
        change(self.behaviour.get_mut(name).expect("a cluster"));
    }

    /// Creates a freeze with this spec.
    pub(crate) fn freeze(&mut self, spec: Value) {
        let spec = serde_json::from_value(spec).expect("a spec");
        let freeze = Freeze::parse(&spec, &Path::root().key("spec"));
        self.freezes.push(FreezeRecord {
            meta: meta(),
            name: Name::from("holidays"),
            freeze: freeze.map_err(|wrong| wrong[0].to_string()),
            set_by: None,
        });
    }

    /// Reports a result of a check, which counts for an hour.
    pub(crate) fn report_check(&mut self, check: &str, result: &str) {
        let name = Name::from(check);
        let status = RolloutCheckStatus {
            result: result.to_owned(),
            reported_at: self.now.to_string(),
            expires_at: (self.now + SignedDuration::from_hours(1)).to_string(),
            message: "3 errors".to_owned(),
            ..RolloutCheckStatus::default()
        };
        let result = CheckResult::parse(&status);
        self.checks.insert(name.clone(), Check { name, result });
    }

    /// Takes a cluster off the hub, with everything in its namespace.
    pub(crate) fn remove(&mut self, name: &str) {
        self.clusters.remove(name);
        self.set.remove(name);
        self.works.remove(name);
    }

    pub(crate) fn ask(&mut self, name: &str, spec: Value) -> usize {
        self.asked.push(Asked {
            namespace: "default".to_owned(),
            name: name.to_owned(),
            generation: 1,
            retry: String::new(),
            life: Life::Stays,
            held: false,
            spec: serde_json::from_value(spec).expect("a spec"),
            status: ManagedClustersUpgradeStatus::default(),
        });
        self.asked.len() - 1
    }

    pub(crate) fn edit(&mut self, at: usize, change: impl FnOnce(&mut ManagedClustersUpgradeSpec)) {
        let asked = &mut self.asked[at];
        change(&mut asked.spec);
        asked.generation += 1;
    }

    /// What an upgrade is planned from.
    pub(crate) fn view<'a>(&'a self, asked: &'a Asked, uid: &'a str) -> View<'a> {
        let read = |works: &BTreeMap<String, Stored>| {
            let each = works.iter().map(|(name, stored)| {
                let object = serde_json::from_value(stored.object.clone()).expect("a work");
                (name.clone(), Work::of(&object))
            });
            each.collect()
        };
        View {
            upgrade: Upgrade {
                namespace: &asked.namespace,
                name: &asked.name,
                uid,
                generation: asked.generation,
                retry: &asked.retry,
                record: "",
                deleting: asked.life == Life::Goes,
                held: asked.held,
                spec: &asked.spec,
                status: &asked.status,
            },
            placements: self.placements.clone(),
            unproven: self.unproven.clone(),
            undecided: self.undecided,
            sets: BTreeMap::from([("dev".to_owned(), self.set.clone())]),
            clusters: Cow::Borrowed(&self.clusters),
            works: Cow::Owned(
                self.works
                    .iter()
                    .map(|(cluster, works)| (cluster.clone(), read(works)))
                    .collect(),
            ),
            freezes: self.freezes.iter().collect(),
            approvals: self.approvals.iter().collect(),
            checks: self.checks.clone(),
            shows_approvals: true,
            settings: self.settings(),
            settings_fault: None,
            refused: self.refused.clone(),
            unwritten: None,
        }
    }

    /// Plans one upgrade, checks the plan, and writes it. Returns the plan.
    pub(crate) fn plan(&mut self, at: usize) -> Plan {
        let uid = uid(at);
        let asked = self.asked[at].clone();
        if asked.life == Life::Gone {
            return Plan::default();
        }
        let view = self.view(&asked, &uid);
        let made = plan(&view, self.now);
        let faults = crate::upgrade::check(&view, &made, self.now);
        assert!(faults.is_empty(), "{}: {faults:#?}\n{made:#?}", self.now);
        self.write(at, &made, usize::MAX);
        made
    }

    /// Writes a plan, or only its first writes, as if the program had ended between two of them.
    pub(crate) fn write(&mut self, at: usize, made: &Plan, most: usize) {
        for write in made.writes.iter().take(most) {
            self.write_one(write);
        }
        if most < made.writes.len() {
            return;
        }
        for action in &made.approvals {
            self.write_approval(action);
        }
        let asked = &mut self.asked[at];
        match made.finalizer {
            Some(Finalizer::Add) => asked.held = true,
            Some(Finalizer::Remove) => asked.life = Life::Gone,
            None => {}
        }
        if let Some(status) = &made.status {
            // Through its wire form, as the hub keeps it.
            let wire = serde_json::to_value(status).expect("plain data");
            asked.status = serde_json::from_value(wire).expect("a status");
        }
    }

    fn write_approval(&mut self, action: &Action) {
        self.revision += 1;
        let name = &action.object().name;
        match action {
            Action::Create { body, .. } => {
                let spec: RolloutApprovalSpec =
                    serde_json::from_value(body.value()["spec"].clone()).expect("a spec");
                assert_eq!(**name, spec.object_name());
                let record = ApprovalRecord {
                    meta: meta(),
                    addon: Name::default(),
                    upgrade: spec.upgrade.as_str().into(),
                    placement: Name::default(),
                    group: spec.group.as_str().into(),
                    decision: None,
                    approved: Vec::new(),
                    status: Map::new(),
                    owners: Vec::new(),
                };
                assert!(
                    self.approvals.insert(name.clone(), record).is_none(),
                    "{name} is there"
                );
            }
            Action::Status { patch, .. } => {
                let record = self.approvals.get_mut(name).expect("it is there");
                for (field, value) in patch.value()["status"].as_object().expect("a status") {
                    record.status.insert(field.clone(), value.clone());
                }
                record.status.retain(|_, value| !value.is_null());
                let approved = record.status.get("approved").cloned().unwrap_or(json!([]));
                record.approved = serde_json::from_value(approved).expect("decisions");
            }
            Action::Delete { .. } => {
                self.approvals.remove(name).expect("it is there");
            }
            Action::Replace { .. } | Action::Certify { .. } => panic!("{action:?} is none of an approval"),
        }
    }

    /// A user decides about the content that waits.
    pub(crate) fn decide(&mut self, name: &str, result: &str, reason: &str) {
        let record = self.approvals.get_mut(name).expect("an approval");
        let content = record.status["content"].as_str().expect("a hash").to_owned();
        record.decision = Some(ApprovalDecision {
            result: result.to_owned(),
            content,
            reason: reason.to_owned(),
            by: "lead".to_owned(),
            at: self.now.to_string(),
        });
    }

    fn write_one(&mut self, write: &Write) {
        self.revision += 1;
        let (revision, now) = (self.revision, self.now);
        let (cluster, name) = write.place();
        if self.refused.get(cluster).is_some_and(|one| one.work == name) {
            return;
        }
        let works = self.works.entry(cluster.clone()).or_default();
        match write {
            Write::Create { body, .. } => {
                assert!(!works.contains_key(name), "{cluster}/{name} is there");
                let mut object = body.clone();
                let meta = &mut object["metadata"];
                meta["uid"] = format!("w{revision}").into();
                meta["resourceVersion"] = revision.to_string().into();
                meta["generation"] = 1.into();
                meta["creationTimestamp"] = now.to_string().into();
                let stored = Stored {
                    object,
                    written: now,
                    revision,
                };
                works.insert(name.to_owned(), stored);
            }
            Write::Update { patch, .. } => {
                let stored = works.get_mut(name).expect("it is there");
                for (field, value) in patch["spec"].as_object().expect("a spec") {
                    stored.object["spec"][field] = value.clone();
                }
                if patch["spec"]["workload"].is_object() {
                    stored.written = now;
                }
                let generation = stored.object["metadata"]["generation"]
                    .as_i64()
                    .unwrap_or_default();
                stored.object["metadata"]["generation"] = (generation + 1).into();
                stored.object["metadata"]["resourceVersion"] = revision.to_string().into();
                stored.revision = revision;
            }
            Write::Delete { .. } => {
                works.remove(name);
            }
        }
    }

    /// Lets time pass: every agent applies and reports.
    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now = self
            .now
            .checked_add(SignedDuration::from_secs(seconds))
            .expect("a time");
        if self.checks_pass {
            let names: Vec<Name> = self.checks.keys().cloned().collect();
            for name in names {
                self.report_check(&name, "Passed");
            }
        }
        let names: Vec<Name> = self.clusters.keys().cloned().collect();
        for cluster in names {
            let behaviour = self.behaviour[&cluster];
            let Some(delay) = behaviour.apply else {
                continue;
            };
            let mut works = self.works.remove(&cluster).unwrap_or_default();
            for stored in works.values_mut() {
                let age = self.now.duration_since(stored.written).as_secs() - delay;
                if age >= 0 {
                    self.report(&cluster, behaviour, stored, age);
                }
            }
            self.works.insert(cluster, works);
        }
    }

    fn report(&mut self, cluster: &Name, behaviour: Behaviour, stored: &mut Stored, age: i64) {
        let stage = stored.object["metadata"]["labels"][store::upgrade::marks::STAGE]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let manifests = match stage.as_str() {
            "platform" => vec![self.openshift(cluster, behaviour, stored, age)],
            "pre" => vec![of_job(behaviour.pre, age)],
            "operators" => vec![of_job(behaviour.operators, age)],
            "post" => vec![of_job(behaviour.post, age)],
            _ => Vec::new(),
        };
        let mut manifests = manifests;
        // The others have no rules and are simply there, but for worker pools.
        let all = stored.object["spec"]["workload"]["manifests"].as_array();
        let pools_end = behaviour.upgrade.map(|length| length + self.pools);
        let is_updated = pools_end.is_some_and(|end| age >= end);
        for other in all.into_iter().flatten().skip(manifests.len()) {
            let mut told = json!({"resourceMeta": {"ordinal": 1, "kind": "ConfigMap", "version": "v1"},
                "conditions": [condition("Applied", true), condition("Available", true)]});
            if other["kind"] == "MachineConfigPool" {
                let value = json!({"type": "String", "string": if is_updated { "True" } else { "False" }});
                told["statusFeedback"] = json!({"values": [{"name": "poolUpdated", "fieldValue": value}]});
            }
            manifests.push(told);
        }
        let mut applied = condition("Applied", true);
        applied["observedGeneration"] = stored.object["metadata"]["generation"].clone();
        stored.object["status"] = json!({"conditions": [applied, condition("Available", true)], "resourceStatus": {"manifests": manifests}});
    }

    /// OpenShift: the history begins with the old version, which is complete, and the new one comes a second later.
    fn openshift(&mut self, cluster: &Name, behaviour: Behaviour, stored: &Stored, age: i64) -> Value {
        let manifest = &stored.object["spec"]["workload"]["manifests"][0];
        let config = &stored.object["spec"]["manifestConfigs"][0];
        let wanted = manifest["spec"]["desiredUpdate"]["version"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let tells = config["updateStrategy"]["type"] == "ServerSideApply";
        let history = self.history.get_mut(cluster).expect("a cluster");
        let is_ours = history.0 == wanted;
        if tells && !is_ours && age > 1 {
            *history = (wanted.clone(), "Partial".to_owned());
        }
        if history.0 == wanted && behaviour.upgrade.is_some_and(|length| age >= length) {
            history.1 = "Completed".to_owned();
        }
        let value =
            |name: &str, text: &str| json!({"name": name, "fieldValue": {"type": "String", "string": text}});
        let why = self.not_upgradeable.get(cluster);
        let upgradeable = why.map(|why| [value("upgradeable", "False"), value("upgradeableMessage", why)]);
        let mut values = vec![
            value("version", &history.0),
            value("state", &history.1),
            value(
                "progressMessage",
                "Working towards it: 106 of 830 done (12% complete)",
            ),
        ];
        values.extend(upgradeable.into_iter().flatten());
        json!({
            "resourceMeta": {"ordinal": 0, "group": "config.openshift.io", "version": "v1", "kind": "ClusterVersion",
                "resource": "clusterversions", "name": "version"},
            "conditions": [condition("Applied", true), condition("Available", true)],
            "statusFeedback": {"values": values},
        })
    }

    /// The names of an upgrade's clusters that have a work of a stage.
    pub(crate) fn with(&self, at: usize, stage: &str) -> BTreeSet<String> {
        let uid = uid(at);
        let has = |works: &BTreeMap<String, Stored>| {
            works.values().any(|stored| {
                let labels = &stored.object["metadata"]["labels"];
                labels[store::upgrade::marks::UID] == uid.as_str()
                    && labels[store::upgrade::marks::STAGE] == stage
            })
        };
        let each = self.works.iter().filter(|(_, works)| has(works));
        each.map(|(cluster, _)| cluster.to_string()).collect()
    }

    /// The status of a cluster: state and phase.
    pub(crate) fn told(&self, at: usize, cluster: &str) -> String {
        let all = self.asked[at].status.clusters.iter();
        let mut found = all.filter(|told| told.name == cluster);
        found.next().map_or_else(String::new, |told| {
            format!("{}/{} {}", told.state, told.phase, told.reason)
                .trim()
                .to_owned()
        })
    }

    /// Plans until nothing more is written, and at every step of time until `until` says stop. Returns whether it did.
    pub(crate) fn run(&mut self, seconds: i64, steps: usize, until: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..steps {
            for at in 0..self.asked.len() {
                self.settle(at);
            }
            if until(self) {
                return true;
            }
            self.pass(seconds);
        }
        false
    }

    /// Plans one upgrade until its plan is empty.
    pub(crate) fn settle(&mut self, at: usize) {
        for _ in 0..10 {
            let made = self.plan(at);
            if made.writes.is_empty() && made.status.is_none() && made.finalizer.is_none() {
                return;
            }
        }
        panic!(
            "{}: the plan is never done: {:#?}",
            self.now, self.asked[at].status
        );
    }
}

fn meta() -> Meta {
    Meta {
        uid: Name::default(),
        version: Name::default(),
        generation: 1,
        deleting: false,
    }
}

pub(crate) fn uid(at: usize) -> String {
    format!("uid-{at}")
}

fn condition(kind: &str, holds: bool) -> Value {
    json!({"type": kind, "status": if holds { "True" } else { "False" }, "reason": "R", "message": "",
           "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn of_job(job: Job, age: i64) -> Value {
    let (ended, failed) = match job {
        Job::Good(length) => (age >= length, false),
        Job::Bad(length) => (age >= length, age >= length),
        Job::Stuck => (false, false),
    };
    // A pod that fails is tried again, and says nothing of the Job; and the agent's own "Complete" is said of both ends.
    let failed_pods = json!({"name": "failed", "fieldValue": {"type": "Integer", "integer": 1}});
    let text = |name: &str| json!({"name": name, "fieldValue": {"type": "String", "string": "True"}});
    let mut values = vec![failed_pods];
    if ended {
        values.push(text(if failed { "jobFailed" } else { "jobComplete" }));
    }
    json!({
        "resourceMeta": {"ordinal": 0, "group": "batch", "version": "v1", "kind": "Job", "resource": "jobs", "name": "j"},
        "conditions": [condition("Applied", true), condition("Available", true), condition("Complete", ended),
            condition("Degraded", failed), condition("Progressing", !ended)],
        "statusFeedback": {"values": values},
    })
}
