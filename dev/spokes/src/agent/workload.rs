//! What the status of an object would be on a cluster where everything runs at once: Deployments have their replicas,
//! `DaemonSets` a pod on each node, Jobs are complete. An object that a fault holds down has none of that.

use serde_json::{Map, Value, json};

/// How far a job, or a pod that is meant to end, has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Course {
    /// It has not begun: it may not run.
    Waiting,
    /// It runs.
    Running,
    /// Its first pod has failed, and another one runs.
    Retrying,
    /// It has ended well, as everything does here unless a fault says otherwise.
    #[default]
    Ended,
    /// It has ended well, with its second pod.
    EndedAtLast,
    /// It has failed, and why.
    Failed(String),
    /// It has run for longer than it may.
    Overdue,
}

/// What a status depends on besides the object.
pub(super) struct Circumstances<'a> {
    /// Why its pods do not run.
    pub(super) unavailable: Option<&'a str>,
    /// How far it has come.
    pub(super) course: &'a Course,
    /// How many nodes the cluster has.
    pub(super) nodes: u32,
    /// The generation of the object.
    pub(super) generation: i64,
}

/// What a status depends on besides the object's kind.
struct Case<'a> {
    object: &'a Value,
    unavailable: Option<&'a str>,
    course: &'a Course,
    nodes: u32,
    generation: i64,
}

/// Returns the status of the object, if objects of its kind get one.
pub(super) fn status(object: &Value, circumstances: &Circumstances<'_>) -> Option<Value> {
    let case = Case {
        object,
        unavailable: circumstances.unavailable,
        course: circumstances.course,
        nodes: circumstances.nodes,
        generation: circumstances.generation,
    };
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match (text("/apiVersion"), text("/kind")) {
        ("apps/v1", "Deployment") => Some(case.deployment()),
        ("apps/v1", "StatefulSet" | "ReplicaSet") => Some(case.replicas()),
        ("apps/v1", "DaemonSet") => Some(case.daemon_set()),
        ("batch/v1", "Job") => Some(case.job()),
        ("v1", "Pod") => Some(case.pod()),
        ("v1", "Namespace") => Some(json!({"phase": "Active"})),
        ("v1", "PersistentVolumeClaim") => Some(json!({"phase": "Bound"})),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => Some(case.definition()),
        _ => None,
    }
}

impl Case<'_> {
    fn deployment(&self) -> Value {
        let mut status = self.replicas();
        let conditions = match self.unavailable {
            None => json!([
                condition(
                    "Available",
                    true,
                    "MinimumReplicasAvailable",
                    "Deployment has minimum availability."
                ),
                condition(
                    "Progressing",
                    true,
                    "NewReplicaSetAvailable",
                    "The new replica set is available."
                ),
            ]),
            Some(message) => json!([
                condition("Available", false, "MinimumReplicasUnavailable", message),
                condition("Progressing", true, "ReplicaSetUpdated", message),
            ]),
        };
        if let Some(fields) = status.as_object_mut() {
            if self.unavailable.is_some() && self.wanted() > 0 {
                fields.insert("unavailableReplicas".to_owned(), json!(self.wanted()));
            }
            fields.insert("conditions".to_owned(), conditions);
        }
        status
    }

    /// Counts of zero are left out, as Kubernetes leaves them out.
    fn replicas(&self) -> Value {
        let mut status = Map::from_iter([("observedGeneration".to_owned(), json!(self.generation))]);
        if self.wanted() > 0 {
            let running: &[&str] = if self.unavailable.is_none() {
                &["readyReplicas", "availableReplicas"]
            } else {
                &[]
            };
            let counts = ["replicas", "updatedReplicas"].iter().chain(running);
            status.extend(counts.map(|count| ((*count).to_owned(), json!(self.wanted()))));
        }
        Value::Object(status)
    }

    fn daemon_set(&self) -> Value {
        let running = if self.unavailable.is_none() { self.nodes } else { 0 };
        json!({
            "observedGeneration": self.generation,
            "currentNumberScheduled": self.nodes,
            "desiredNumberScheduled": self.nodes,
            "updatedNumberScheduled": self.nodes,
            "numberMisscheduled": 0,
            "numberReady": running,
            "numberAvailable": running,
        })
    }

    fn job(&self) -> Value {
        let failed = |reason: &str, message: &str| json!({"failed": 1, "conditions": [condition("Failed", true, reason, message)]});
        match (self.course, self.unavailable) {
            (Course::Waiting, _) => json!({}),
            (Course::Running, _) => json!({"active": 1, "ready": 1}),
            (Course::Retrying, _) => json!({"active": 1, "ready": 1, "failed": 1}),
            (Course::Failed(message), _) => failed("BackoffLimitExceeded", message),
            (Course::Overdue, _) => failed(
                "DeadlineExceeded",
                "Job was active longer than specified deadline",
            ),
            (Course::Ended | Course::EndedAtLast, Some(message)) => failed("BackoffLimitExceeded", message),
            (Course::Ended, None) => self.ended(0),
            (Course::EndedAtLast, None) => self.ended(1),
        }
    }

    /// Returns the status of a job that has ended well after this many failed pods.
    fn ended(&self, failed: i64) -> Value {
        let succeeded = self
            .object
            .pointer("/spec/completions")
            .and_then(Value::as_i64)
            .unwrap_or(1);
        let message = "Reached expected number of succeeded pods";
        let mut status = Map::from_iter([
            ("succeeded".to_owned(), json!(succeeded)),
            (
                "conditions".to_owned(),
                json!([condition("Complete", true, "CompletionsReached", message)]),
            ),
        ]);
        if failed > 0 {
            status.insert("failed".to_owned(), json!(failed));
        }
        Value::Object(status)
    }

    fn pod(&self) -> Value {
        match self.course {
            Course::Waiting => return json!({"phase": "Pending"}),
            Course::Running | Course::Retrying => {
                return json!({"phase": "Running", "conditions": [condition("Ready", true, "PodReady", "")]});
            }
            Course::Overdue => {
                return json!({"phase": "Failed", "reason": "DeadlineExceeded",
                    "conditions": [condition("Ready", false, "PodFailed", "")]});
            }
            Course::Failed(message) => {
                return json!({"phase": "Failed", "message": message,
                    "conditions": [condition("Ready", false, "PodFailed", message)]});
            }
            Course::Ended | Course::EndedAtLast => {}
        }
        let restarts = self
            .object
            .pointer("/spec/restartPolicy")
            .and_then(Value::as_str)
            .unwrap_or("Always");
        match (self.unavailable, restarts) {
            (Some(message), _) => {
                json!({"phase": "Pending", "conditions": [condition("Ready", false, "ContainersNotReady", message)]})
            }
            (None, "Always") => {
                json!({"phase": "Running", "conditions": [condition("Ready", true, "PodReady", "")]})
            }
            // A pod that is not restarted is meant to end, and here everything ends well.
            (None, _) => {
                json!({"phase": "Succeeded", "conditions": [condition("Ready", false, "PodCompleted", "")]})
            }
        }
    }

    fn definition(&self) -> Value {
        json!({
            "acceptedNames": self.object.pointer("/spec/names").cloned().unwrap_or_else(|| json!({})),
            "conditions": [
                condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
                condition("Established", self.unavailable.is_none(), "InitialNamesAccepted", self.unavailable.unwrap_or_default()),
            ],
        })
    }

    fn wanted(&self) -> i64 {
        self.object
            .pointer("/spec/replicas")
            .and_then(Value::as_i64)
            .unwrap_or(1)
    }
}

fn condition(kind: &str, holds: bool, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": if holds { "True" } else { "False" }, "reason": reason, "message": message})
}
