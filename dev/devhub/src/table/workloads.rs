//! Columns and cells of the workload kinds.
//!
//! Decides what `kubectl get` shows of what is stored; no pod is run, so most of it stays at nought until a client writes it.

use serde_json::json;

use super::age::age;
use super::columns::{AGE, BuiltIn, column, wide};
use super::pod_cells;
use super::values::{number, size, text};
use super::{neighbours, workload_cells as cells};
use crate::Resource;
use kubernetes::labels::written;

const NAMES: BuiltIn = wide(column(
    "Containers",
    "string",
    "Names of the containers of the template, one after another",
    |object, _| json!(cells::containers(object, "name")),
));
const IMAGES: BuiltIn = wide(column(
    "Images",
    "string",
    "Images of the containers of the template, one after another",
    |object, _| json!(cells::containers(object, "image")),
));
const SELECTOR: BuiltIn = wide(column(
    "Selector",
    "string",
    "Labels of the pods that belong to the object",
    |object, _| json!(cells::or_none(&written(&object["spec"]["selector"]))),
));

static POD: &[BuiltIn] = &[
    column(
        "Ready",
        "string",
        "How many containers of the pod are ready, of all that it has",
        |pod, _| {
            json!(format!(
                "{}/{}",
                pod_cells::pod(pod).ready,
                size(pod, "/spec/containers")
            ))
        },
    ),
    column(
        "Status",
        "string",
        "What the containers of the pod are doing, taken together",
        |pod, _| json!(pod_cells::pod(pod).reason),
    ),
    column(
        "Restarts",
        "string",
        "How often containers of the pod were started again, and when last",
        |pod, now| json!(pod_cells::restarts(pod, now)),
    ),
    AGE,
    wide(column("IP", "string", "First address of the pod", |pod, _| {
        json!(cells::or_none(text(pod, "/status/podIPs/0/ip")))
    })),
    wide(column(
        "Node",
        "string",
        "Node on which the pod is to run",
        |pod, _| json!(cells::or_none(text(pod, "/spec/nodeName"))),
    )),
    wide(column(
        "Nominated Node",
        "string",
        "Node on which room is made for the pod",
        |pod, _| json!(cells::or_none(text(pod, "/status/nominatedNodeName"))),
    )),
    wide(column(
        "Readiness Gates",
        "string",
        "How many further conditions hold",
        |pod, _| json!(pod_cells::gates(pod)),
    )),
];
static DEPLOYMENT: &[BuiltIn] = &[
    column(
        "Ready",
        "string",
        "Number of the pod with ready state",
        |object, _| {
            json!(format!(
                "{}/{}",
                number(object, "/status/readyReplicas"),
                number(object, "/spec/replicas")
            ))
        },
    ),
    column(
        "Up-to-date",
        "string",
        "How many pods have the newest template",
        |object, _| json!(number(object, "/status/updatedReplicas")),
    ),
    column(
        "Available",
        "string",
        "How many pods have been ready for long enough",
        |object, _| json!(number(object, "/status/availableReplicas")),
    ),
    AGE,
    NAMES,
    IMAGES,
    SELECTOR,
];
static REPLICA_SET: &[BuiltIn] = &[
    column(
        "Desired",
        "integer",
        "How many pods there should be",
        |object, _| json!(number(object, "/spec/replicas")),
    ),
    column("Current", "integer", "How many pods there are", |object, _| {
        json!(number(object, "/status/replicas"))
    }),
    column("Ready", "integer", "How many pods are ready", |object, _| {
        json!(number(object, "/status/readyReplicas"))
    }),
    AGE,
    NAMES,
    IMAGES,
    SELECTOR,
];
static STATEFUL_SET: &[BuiltIn] = &[
    column(
        "Ready",
        "string",
        "Number of the pod with ready state",
        |object, _| {
            json!(format!(
                "{}/{}",
                number(object, "/status/readyReplicas"),
                number(object, "/spec/replicas")
            ))
        },
    ),
    AGE,
    NAMES,
    IMAGES,
];
static DAEMON_SET: &[BuiltIn] = &[
    column(
        "Desired",
        "integer",
        "On how many nodes there should be a pod",
        |object, _| json!(number(object, "/status/desiredNumberScheduled")),
    ),
    column(
        "Current",
        "integer",
        "On how many nodes there is a pod as there should be",
        |object, _| json!(number(object, "/status/currentNumberScheduled")),
    ),
    column(
        "Ready",
        "integer",
        "On how many nodes the pod is ready",
        |object, _| json!(number(object, "/status/numberReady")),
    ),
    column(
        "Up-to-date",
        "integer",
        "On how many nodes the pod has the newest template",
        |object, _| json!(number(object, "/status/updatedNumberScheduled")),
    ),
    column(
        "Available",
        "integer",
        "On how many nodes the pod has been ready for long enough",
        |object, _| json!(number(object, "/status/numberAvailable")),
    ),
    column(
        "Node Selector",
        "string",
        "Labels that a node must have to get a pod",
        |object, _| {
            json!(cells::or_none(&written(
                &object["spec"]["template"]["spec"]["nodeSelector"]
            )))
        },
    ),
    AGE,
    NAMES,
    IMAGES,
    SELECTOR,
];
static JOB: &[BuiltIn] = &[
    column("Status", "string", "What became of the job", |job, _| {
        json!(cells::job_status(job))
    }),
    column(
        "Completions",
        "string",
        "How many pods ended well, of all that must",
        |job, _| json!(cells::completions(job)),
    ),
    column(
        "Duration",
        "string",
        "Time required to complete the job.",
        |job, now| json!(cells::duration(job, now)),
    ),
    AGE,
    NAMES,
    IMAGES,
    SELECTOR,
];
static CRON_JOB: &[BuiltIn] = &[
    column("Schedule", "string", "When jobs are made", |object, _| {
        json!(text(object, "/spec/schedule"))
    }),
    column(
        "Timezone",
        "string",
        "Where the clock of the schedule stands",
        |object, _| json!(cells::or_none(text(object, "/spec/timeZone"))),
    ),
    column(
        "Suspend",
        "boolean",
        "Whether no further jobs are made",
        |object, _| {
            json!(if object["spec"]["suspend"] == true {
                "True"
            } else {
                "False"
            })
        },
    ),
    column("Active", "integer", "How many jobs are running", |object, _| {
        json!(size(object, "/status/active"))
    }),
    column(
        "Last Schedule",
        "string",
        "When a job was made last",
        |object, now| {
            let last = age(text(object, "/status/lastScheduleTime"), now);
            json!(last.unwrap_or_else(|| "<none>".to_owned()))
        },
    ),
    AGE,
    wide(column(
        "Containers",
        "string",
        "Names of the containers of the template",
        |object, _| json!(cells::containers(&object["spec"]["jobTemplate"], "name")),
    )),
    wide(column(
        "Images",
        "string",
        "Images of the containers of the template",
        |object, _| json!(cells::containers(&object["spec"]["jobTemplate"], "image")),
    )),
    wide(column(
        "Selector",
        "string",
        "Labels of the pods of a job",
        |object, _| {
            json!(cells::or_none(&written(
                &object["spec"]["jobTemplate"]["spec"]["selector"]
            )))
        },
    )),
];

/// Returns the columns of a workload kind, without the name.
pub(super) fn columns(resource: &Resource) -> Option<&'static [BuiltIn]> {
    Some(match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => POD,
        ("", "ReplicationController") | ("apps", "ReplicaSet") => REPLICA_SET,
        ("apps", "Deployment") => DEPLOYMENT,
        ("apps", "StatefulSet") => STATEFUL_SET,
        ("apps", "DaemonSet") => DAEMON_SET,
        ("batch", "Job") => JOB,
        ("batch", "CronJob") => CRON_JOB,
        _ => return neighbours::columns(resource),
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::Value;

    use super::*;

    fn cells_of(group: &str, kind: &str, object: &Value) -> Value {
        let resources = crate::builtin::resources();
        let mut found = resources
            .iter()
            .filter(|resource| resource.group == group && resource.kind == kind);
        let now: Timestamp = "2020-01-01T00:01:00Z".parse().expect("a time");
        let columns = columns(found.next().expect("a kind")).expect("columns");
        columns
            .iter()
            .filter(|column| column.priority == 0)
            .map(|column| (column.cell)(object, now))
            .collect()
    }

    #[test]
    fn workload_kinds_show_what_kubectl_expects() {
        let created = json!({"name": "x", "creationTimestamp": "2020-01-01T00:00:00Z"});
        for (group, kind, object, expected) in [
            (
                "apps",
                "Deployment",
                json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}}),
                json!(["2/3", 3, 1, "60s"]),
            ),
            (
                "",
                "Service",
                json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.1", "ports": [{"port": 80, "nodePort": 30_000, "protocol": "TCP"}]}}),
                json!(["LoadBalancer", "10.96.0.1", "<pending>", "80:30000/TCP", "60s"]),
            ),
            (
                "",
                "Pod",
                json!({"spec": {"containers": [{}, {}]}, "status": {"phase": "Running", "containerStatuses": [
                    {"ready": true, "restartCount": 2, "state": {"running": {}}},
                    {"ready": false, "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}),
                json!(["1/2", "CrashLoopBackOff", "3", "60s"]),
            ),
            (
                "batch",
                "Job",
                json!({"spec": {"completions": 2}, "status": {"succeeded": 1, "startTime": "2020-01-01T00:00:30Z"}}),
                json!(["Running", "1/2", "30s", "60s"]),
            ),
            (
                "",
                "PersistentVolumeClaim",
                json!({"spec": {"volumeName": "v", "storageClassName": "fast"}, "status": {"phase": "Bound",
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}}),
                json!(["Bound", "v", "1Gi", "RWO", "fast", "<unset>", "60s"]),
            ),
            (
                "",
                "Node",
                json!({"spec": {"unschedulable": true}, "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.36.2"}}}),
                json!(["Ready,SchedulingDisabled", "<none>", "60s", "v1.36.2"]),
            ),
            (
                "autoscaling",
                "HorizontalPodAutoscaler",
                json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3,
                    "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}]}, "status": {}}),
                json!(["Deployment/d", "cpu: <unknown>/80%", "1", 3, 0, "60s"]),
            ),
        ] {
            let mut object = object;
            object["metadata"] = created.clone();
            assert_eq!(cells_of(group, kind, &object), expected, "{kind}");
        }
    }
}
