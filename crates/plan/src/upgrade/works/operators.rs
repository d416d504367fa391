//! The work that has a cluster's operators upgrade: a Job there approves install plans for a while.
//!
//! Decides the objects that it takes. What the proposal's example has is there as it stands, but for its script, whose lists match parts of
//! names; beside it stands the service account, without which the Job may approve nothing, and what tells its success from its failure.

use std::time::Duration;

use serde_json::{Value, json};

use model::upgrade::Operators;

use super::mark::WorkMark;
use store::upgrade::marks::Stage;

/// The script that approves; it reads `INCLUDELIST`, `EXCLUDELIST` and `WAITTIME`.
pub const APPROVER: &str = include_str!("approver.sh");

/// How much longer the Job may take than the script approves.
pub const GRACE: Duration = Duration::from_secs(90);

/// Name of everything that is made for it, and of its namespace.
const NAME: &str = "installplan-approver";

/// Returns the work that upgrades a cluster's operators.
pub fn operators(mark: &WorkMark<'_>, cluster: &str, wanted: &Operators, length: Duration) -> Value {
    let spec = json!({
        "deleteOption": {"propagationPolicy": "Foreground"},
        "manifestConfigs": [{
            "resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": NAME, "name": NAME},
            "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
                {"name": "succeeded", "path": ".status.succeeded"},
                {"name": "active", "path": ".status.active"},
                {"name": "failed", "path": ".status.failed"},
                {"name": "jobComplete", "path": ".status.conditions[?(@.type==\"Complete\")].status"},
                {"name": "jobFailed", "path": ".status.conditions[?(@.type==\"Failed\")].status"},
            ]}],
        }],
        "workload": {"manifests": [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}),
            role(),
            binding(),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": NAME}}),
            job(wanted, length),
        ]},
    });
    mark.work(Stage::Operators, cluster, &spec)
}

fn role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": [{
            "apiGroups": ["operators.coreos.com"],
            "resources": ["installplans", "subscriptions"],
            "verbs": ["get", "list", "patch"],
        }],
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAME}],
    })
}

fn job(wanted: &Operators, length: Duration) -> Value {
    let env = |name: &str, value: String| json!({"name": name, "value": value});
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": NAME, "namespace": NAME},
        "spec": {
            "activeDeadlineSeconds": length.saturating_add(GRACE).as_secs(),
            "manualSelector": true,
            "selector": {"matchLabels": {"job-name": NAME}},
            "template": {
                "metadata": {"creationTimestamp": null, "labels": {"job-name": NAME}},
                "spec": {
                    "serviceAccountName": NAME,
                    "containers": [{
                        "name": NAME,
                        "image": wanted.image(),
                        "imagePullPolicy": "IfNotPresent",
                        "command": ["/bin/bash", "-c", APPROVER],
                        "env": [
                            env("EXCLUDELIST", wanted.excluded()),
                            env("INCLUDELIST", wanted.included()),
                            env("WAITTIME", length.as_secs().to_string()),
                        ],
                        "resources": {},
                    }],
                    "dnsPolicy": "ClusterFirst",
                    "restartPolicy": "OnFailure",
                },
            },
        },
    })
}
