//! The rows of the workload kinds.
//!
//! Decides names, scopes, short names and subresources; never behaviour.

use crate::Scope::{Cluster, Namespaced};
use crate::builtin::kinds::{Row, row};

/// The workload kinds that are served.
pub(in crate::builtin) const ROWS: &[Row] = &[
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
        .scale()
        .status(),
    row("", "ResourceQuota", "resourcequotas", Namespaced)
        .short(&["quota"])
        .status(),
    row("", "Service", "services", Namespaced)
        .short(&["svc"])
        .common()
        .status(),
    row("apps", "ControllerRevision", "controllerrevisions", Namespaced),
    row("apps", "DaemonSet", "daemonsets", Namespaced)
        .short(&["ds"])
        .common()
        .status(),
    row("apps", "Deployment", "deployments", Namespaced)
        .short(&["deploy"])
        .common()
        .scale()
        .status(),
    row("apps", "ReplicaSet", "replicasets", Namespaced)
        .short(&["rs"])
        .common()
        .scale()
        .status(),
    row("apps", "StatefulSet", "statefulsets", Namespaced)
        .short(&["sts"])
        .common()
        .scale()
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
