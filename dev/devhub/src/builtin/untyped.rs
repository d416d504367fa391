//! Kinds that are stored as they come: workloads, services, volumes and their neighbours.
//!
//! They have metadata, a generation and, where upstream has one, a status behind a subresource of its own. Everything else in them is
//! free-form: nothing is filled in and nothing is refused.

use serde_json::{Value, json};

use super::kinds::{Row, row};
use super::schema::{OBJECT_META, REFERENCE};
use crate::Resource;
use crate::Scope::{Cluster, Namespaced};

pub(super) const ROWS: &[Row] = &[
    row("", "Endpoints", "endpoints", Namespaced).short(&["ep"]),
    row("", "LimitRange", "limitranges", Namespaced).short(&["limits"]),
    row("", "Node", "nodes", Cluster).short(&["no"]).status(),
    row("", "PersistentVolume", "persistentvolumes", Cluster)
        .short(&["pv"])
        .status(),
    row("", "PersistentVolumeClaim", "persistentvolumeclaims", Namespaced)
        .short(&["pvc"])
        .status(),
    row("", "Pod", "pods", Namespaced)
        .short(&["po"])
        .common()
        .status(),
    row("", "ReplicationController", "replicationcontrollers", Namespaced)
        .short(&["rc"])
        .common()
        .status(),
    row("", "ResourceQuota", "resourcequotas", Namespaced)
        .short(&["quota"])
        .status(),
    row("", "Service", "services", Namespaced)
        .short(&["svc"])
        .common()
        .status(),
    row("apps", "DaemonSet", "daemonsets", Namespaced)
        .short(&["ds"])
        .common()
        .status(),
    row("apps", "Deployment", "deployments", Namespaced)
        .short(&["deploy"])
        .common()
        .status(),
    row("apps", "ReplicaSet", "replicasets", Namespaced)
        .short(&["rs"])
        .common()
        .status(),
    row("apps", "StatefulSet", "statefulsets", Namespaced)
        .short(&["sts"])
        .common()
        .status(),
    row(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        Namespaced,
    )
    .short(&["hpa"])
    .common()
    .version("v2")
    .status(),
    row("batch", "CronJob", "cronjobs", Namespaced)
        .short(&["cj"])
        .common()
        .status(),
    row("batch", "Job", "jobs", Namespaced).common().status(),
    row("discovery.k8s.io", "EndpointSlice", "endpointslices", Namespaced),
    row("networking.k8s.io", "Ingress", "ingresses", Namespaced)
        .short(&["ing"])
        .status(),
    row("networking.k8s.io", "IngressClass", "ingressclasses", Cluster),
    row(
        "networking.k8s.io",
        "NetworkPolicy",
        "networkpolicies",
        Namespaced,
    )
    .short(&["netpol"]),
    row(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        Namespaced,
    )
    .short(&["pdb"])
    .status(),
];

/// Returns whether a resource is a built-in kind that is stored as it comes.
pub fn is_untyped(resource: &Resource) -> bool {
    !resource.custom && ROWS.iter().any(|row| row.is(resource))
}

/// Returns the schema of such a kind.
pub(super) fn schema(kind: &str) -> Value {
    json!({
        "description": format!("A {kind}. This hub stores it as it is written."),
        "type": "object",
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "$ref": format!("{REFERENCE}{OBJECT_META}") },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    })
}
