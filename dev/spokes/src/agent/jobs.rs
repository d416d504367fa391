//! Jobs, and pods that end, that are no hooks: how long they run on a cluster that plays OpenShift, how they end, and whether the one that
//! approves upgrades of operators has the rights that it needs.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{ObjectKey, hooks, rights, store::VirtualCluster, workload::Course};
use crate::{
    fault::{Effects, JobFault, Jobs},
    openshift::{ApproverTime, Times},
    wire::{ManifestWork, Meta, label},
};

/// A job at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) course: Course,
    /// When it will look different.
    pub(super) next: Option<Timestamp>,
}

/// A job of a work.
pub(super) struct Job<'a> {
    pub(super) manifest: &'a Value,
    pub(super) key: &'a ObjectKey,
    pub(super) work: &'a Meta,
    pub(super) effects: &'a Effects,
}

/// Returns whether this is a job, or a pod that is not always restarted.
pub(super) fn is_meant_to_end(manifest: &Value) -> bool {
    let text = |pointer: &str| {
        manifest
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match (text("/apiVersion"), text("/kind")) {
        ("batch/v1", "Job") => true,
        ("v1", "Pod") => matches!(text("/spec/restartPolicy"), "Never" | "OnFailure"),
        _ => false,
    }
}

/// Returns what the jobs of a work are for, hooks apart.
pub(crate) fn purposes(work: &ManifestWork) -> Vec<Jobs> {
    let manifests = work.spec.workload.manifests.iter();
    let jobs = manifests.filter(|manifest| is_meant_to_end(manifest) && !hooks::is_hook(manifest));
    let name = |manifest: &Value| {
        manifest
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    jobs.map(|manifest| does(&work.meta, &name(manifest).unwrap_or_default()))
        .collect()
}

/// Returns what a job is for, as its work and its name tell.
fn does(work: &Meta, job: &str) -> Jobs {
    let label = |key: &str| work.labels.get(key).map(String::as_str).unwrap_or_default();
    let from = label(label::REPLICA_SET);
    let marked = |mark: &str| work.name.contains(mark) || from.contains(mark);
    match label(label::UPGRADE_STAGE) {
        "pre" => Jobs::Pre,
        "post" => Jobs::Post,
        "operators" => Jobs::Operators,
        _ if job == "installplan-approver" || marked("-operators-upgrade") => Jobs::Operators,
        _ if marked("-pre-upgrade") => Jobs::Pre,
        _ if marked("-post-upgrade") => Jobs::Post,
        _ => Jobs::All,
    }
}

/// What becomes of a job, and when.
struct Plan {
    /// When it ends by itself.
    length: Option<Duration>,
    /// When it is ended.
    deadline: Option<Duration>,
    running: Course,
    end: Course,
}

impl Job<'_> {
    /// Returns how far the job has come.
    pub(super) fn progress(&self, cluster: &mut VirtualCluster, now: Timestamp) -> Progress {
        let does = does(self.work, &self.key.name);
        let fault = self.effects.job_fault(&self.key.name, does);
        let times = cluster.times().copied();
        if times.is_none() && fault.is_none() {
            return Progress::default();
        }
        let Some(began) = cluster.began(self.key, now) else {
            return Progress::default();
        };
        let plan = self.plan(does, fault, times.as_ref(), cluster);
        let gone = Duration::try_from(now.duration_since(began)).unwrap_or_default();
        let at = |length: Duration| began.saturating_add(SignedDuration::try_from(length).ok()?).ok();
        plan.at(gone, fault == Some(&JobFault::Retry), &at)
    }

    fn plan(
        &self,
        does: Jobs,
        fault: Option<&JobFault>,
        times: Option<&Times>,
        cluster: &VirtualCluster,
    ) -> Plan {
        let (mut length, deadline) = self.times(does, times);
        let (mut running, mut end) = (Course::Running, Course::Ended);
        match fault {
            Some(JobFault::Fail { message }) => end = Course::Failed(message.clone()),
            Some(JobFault::Slow(slow)) => length = *slow,
            Some(JobFault::Retry) => end = Course::EndedAtLast,
            Some(JobFault::Hang) | None => {}
        }
        let mut length = Some(length).filter(|_| fault != Some(&JobFault::Hang));
        if does == Jobs::Operators && times.is_some() {
            match self.rights(cluster) {
                Rights::Enough => {}
                Rights::NoAccount => (length, running) = (None, Course::Waiting),
                Rights::Forbidden { account } => end = Course::Failed(forbidden(&account)),
            }
        }
        Plan {
            length,
            deadline,
            running,
            end,
        }
    }

    /// Returns how long the job runs, and how long it may.
    fn times(&self, does: Jobs, times: Option<&Times>) -> (Duration, Option<Duration>) {
        let seconds = |pointer: &str| self.manifest.pointer(pointer).and_then(Value::as_u64);
        let deadline = seconds("/spec/activeDeadlineSeconds").map(Duration::from_secs);
        let Some(times) = times else {
            return (Duration::ZERO, deadline);
        };
        let waits = if does == Jobs::Operators {
            self.wait_time()
        } else {
            None
        };
        match (waits, times.approver) {
            (None, _) => (times.jobs, deadline),
            (Some(waits), ApproverTime::Scaled(scale)) => (
                waits / scale.max(1),
                deadline.map(|deadline| deadline / scale.max(1)),
            ),
            // What is left of the job's own times is their relation.
            (Some(waits), ApproverTime::Fixed(length)) => {
                let share = |deadline: Duration| deadline.as_secs_f64() / waits.as_secs_f64().max(1.0);
                (
                    length,
                    deadline.map(|deadline| length.mul_f64(share(deadline).min(1e6))),
                )
            }
        }
    }

    /// Returns how long the script of the approver waits.
    fn wait_time(&self) -> Option<Duration> {
        let containers = self.pod("containers").and_then(Value::as_array)?;
        let variables = containers
            .iter()
            .filter_map(|container| container.get("env")?.as_array());
        let wait = variables
            .flatten()
            .find(|variable| variable.get("name").is_some_and(|name| name == "WAITTIME"))?;
        let seconds = wait.get("value")?.as_str()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    fn pod(&self, field: &str) -> Option<&Value> {
        self.manifest.pointer("/spec/template/spec")?.get(field)
    }

    /// Returns whether the pod of the job may approve upgrades.
    fn rights(&self, cluster: &VirtualCluster) -> Rights {
        let namespace = self.key.namespace.as_str();
        let named = self
            .pod("serviceAccountName")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let name = if named.is_empty() { "default" } else { named };
        let account = ObjectKey {
            group: String::new(),
            resource: "serviceaccounts".to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        // Every namespace has its default account.
        if name != "default" && !cluster.contains(&account) {
            return Rights::NoAccount;
        }
        if rights::may(cluster, (namespace, name), ("installplans", "patch")) {
            Rights::Enough
        } else {
            Rights::Forbidden {
                account: format!("system:serviceaccount:{namespace}:{name}"),
            }
        }
    }
}

enum Rights {
    Enough,
    /// The account of the pod does not exist: no pod is made.
    NoAccount,
    Forbidden {
        account: String,
    },
}

impl Plan {
    fn at(self, gone: Duration, retries: bool, at: &dyn Fn(Duration) -> Option<Timestamp>) -> Progress {
        let overdue = self
            .deadline
            .filter(|deadline| self.length.is_none_or(|length| *deadline < length));
        let end = overdue.or(self.length);
        if let Some(end) = end.filter(|end| gone < *end) {
            let second = end / 2;
            return match retries {
                true if gone >= second => Progress {
                    course: Course::Retrying,
                    next: at(end),
                },
                true => Progress {
                    course: self.running,
                    next: at(second),
                },
                false => Progress {
                    course: self.running,
                    next: at(end),
                },
            };
        }
        let course = match (overdue, end) {
            (Some(_), _) => Course::Overdue,
            (None, Some(_)) => self.end,
            (None, None) => self.running,
        };
        Progress { course, next: None }
    }
}

fn forbidden(account: &str) -> String {
    format!(
        "subscriptions.operators.coreos.com is forbidden: User \"{account}\" cannot list resource \"subscriptions\" in API \
         group \"operators.coreos.com\" at the cluster scope"
    )
}
